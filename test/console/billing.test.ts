import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  clickTwice,
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('billing', () => {
  const console = useConsole();

  it('lists invoices, and voids one with a reason', async () => {
    const { id } = await newAccount(console, { firstName: '<b>Faith</b>' });
    const items = [{ description: '<i>Cable</i>', quantity: 1, unitPrice: 50 }];
    const { number } = await console.call('POST', '/invoices', { accountId: id, items });
    const page = await console.open('/invoices?status=issued', { viewport: PHONE });
    await page.locator('tbody tr', { hasText: number }).getByText('<b>Faith</b>').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: number }).click();
    await page.getByText('<i>Cable</i>').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'PDF' }).click();
    const bytes = await readFile(await (await downloading).path());
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    await page.getByRole('button', { name: 'Void invoice' }).click();
    await page.locator('textarea:focus').waitFor();
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Void invoice' }).click();
    await page.locator('textarea[aria-invalid=true]:focus').fill('<u>Wrong price</u>');
    await page.locator('dialog').getByRole('button', { name: 'Void invoice' }).click();
    await page.getByText('<u>Wrong price</u>').first().waitFor();
    expect(await page.getByRole('button', { name: 'Void invoice' }).count()).toBe(0);
    await page.goBack();
    await page.locator('tbody tr', { hasText: number }).waitFor({ state: 'detached' });
  });

  it('issues an invoice with several items on the page of the account', async () => {
    const { id, accountNumber } = await newAccount(console, { firstName: 'Faith' });
    const page = await console.open(`/accounts/${id}`, {
      viewport: PHONE,
      email: await console.createUser('agent'),
    });
    await page.getByRole('button', { name: 'New invoice' }).click();
    const dialog = page.getByRole('dialog', { name: 'New invoice' });
    await dialog.getByText(`Faith Kamau · ${accountNumber}`).waitFor();
    const item = (number: number) => dialog.getByRole('group', { name: `Item ${number}` });
    await page.locator("[name='items[0].unitPrice']:focus").fill('2000');
    expect(await item(1).getByLabel('Description').inputValue()).toBe('Home system 40 W');
    await dialog.getByRole('button', { name: 'Add an item' }).click();
    await page.locator("[name='items[1].description']:focus").waitFor();
    await dialog.getByRole('button', { name: 'Issue invoice' }).click();
    await page.locator("[name='items[1].description'][aria-invalid=true]:focus").waitFor();
    await dialog.getByRole('button', { name: 'Add an item' }).click();
    await item(3).getByLabel('Description').fill('Cable, metres');
    await item(3).getByLabel('Quantity').fill('2.5');
    await dialog.getByRole('button', { name: 'Remove item 2' }).click();
    await page.locator("[name='items[1].description']:focus").waitFor();
    expect(await item(2).getByLabel('Description').inputValue()).toBe('Cable, metres');
    expect(await dialog.locator('[aria-invalid=true]').count()).toBe(0);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Issue invoice' }).click();
    await page.locator("[name='items[1].unitPrice'][aria-invalid=true]:focus").fill('80');
    await dialog.getByLabel('Due on').fill(dayBefore(-14));
    await clickTwice(dialog.getByRole('button', { name: 'Issue invoice' }));
    await dialog.waitFor({ state: 'detached' });
    const invoices = await console.call('GET', `/invoices?filter[accountId]=${id}`);
    expect(invoices).toMatchObject([{ total: 2200, dueDate: dayBefore(-14) }]);
    await page.getByText(`Invoice ${invoices[0].number} was issued`).waitFor();
    await page.getByRole('link', { name: invoices[0].number }).click();
    await page.getByText('Cable, metres').waitFor();
  });

  it('issues an invoice in Swahili, on a phone, and says which field the service refuses', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`, { locale: 'sw', viewport: PHONE });
    await page.getByRole('button', { name: 'Ankara mpya' }).click();
    await page.locator("[name='items[0].unitPrice']:focus").fill('999999999999');
    await page.locator("[name='items[0].quantity']").fill('2');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Toa ankara' }).click();
    await page.getByText(/^Vipengee: /).waitFor();
    await expectAccessible(page);
    console.complaints.splice(0); // The browser reports the answer 400.
    await page.locator("[name='items[0].unitPrice']").fill('10');
    await page.getByRole('button', { name: 'Toa ankara' }).click();
    await page.getByText(/^Ankara INV-.* imetolewa$/).waitFor();
  });

  it('names the characters that a PDF cannot print, in the language of the user', async () => {
    const { id } = await newAccount(console, { firstName: '漢字' });
    const items = [{ description: 'Pump', quantity: 1, unitPrice: 50 }];
    const invoice = await console.call('POST', '/invoices', { accountId: id, items });
    const page = await console.open(`/invoices/${invoice.id}`);
    await page.getByRole('button', { name: 'PDF' }).click();
    await page
      .getByText('This PDF cannot print 漢 (U+6F22), 字 (U+5B57) in the customer’s name. It shows � instead.')
      .waitFor();
    await expectAccessible(page);
    const swahili = await console.open(`/invoices/${invoice.id}`, { locale: 'sw' });
    await swahili.getByRole('button', { name: 'PDF' }).click();
    await swahili
      .getByText('PDF hii haiwezi kuchapisha 漢 (U+6F22), 字 (U+5B57) katika jina la mteja.')
      .waitFor();
  });

  it('sets a rule, and calculates, approves and pays a commission', async () => {
    const employee = await console.call('POST', '/employees', { name: '<b>Agent</b>' });
    const { customerId } = await newAccount(console);
    const sale = { customerId, productId: 1, payplanId: 2, employeeId: employee.id };
    await console.call('POST', '/accounts', sale);
    const { accountNumber } = await console.call('POST', '/accounts', {
      ...sale,
      activationDate: '2025-03-31',
    });
    const page = await console.open('/commissions/rules', { viewport: PHONE });
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.locator('dialog [name=category]:focus').fill('<i>phone</i>');
    await page.locator('dialog [name=rateBasisPoints]').fill('7.5');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.locator('tbody tr', { hasText: '<i>phone</i>' }).getByText('7.5%').waitFor();
    await expectAccessible(page);
    await page
      .getByRole('navigation', { name: 'Commissions' })
      .getByRole('link', { name: 'Commissions' })
      .click();
    const calculate = async () => {
      await page.getByRole('button', { name: 'Calculate commission' }).click();
      await page.locator('dialog [name=employeeId]:focus').selectOption({ label: '<b>Agent</b>' });
      const period = page.locator('dialog [name=period]');
      const today = dayBefore(0);
      expect(await period.inputValue()).toBe(dayBefore(Number(today.slice(8))).slice(0, 7));
      await period.fill(today.slice(0, 7));
      await period.focus();
    };
    await calculate();
    await page.keyboard.press('Enter');
    const row = page.locator('tbody tr', { hasText: '<b>Agent</b>' });
    await row.getByText('Calculated').waitFor();
    await expectAccessible(page);
    await row.getByRole('link').click();
    await page.getByText('1 sale up to the end of the month has no commission').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show sales without commission' }).click();
    await page.getByRole('link', { name: accountNumber }).waitFor();
    await expectAccessible(page);
    await page.goBack();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.keyboard.press('Escape');
    await calculate();
    await page.getByLabel(`${accountNumber}, activated on`).check();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await row.getByText('KES 912.00').waitFor();
    await row.getByRole('link').click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Mark as paid' }).click();
    await page.getByText('The month has not ended yet.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Mark as paid nevertheless' }).click();
    await page.locator('dialog .facts').getByText('Paid').first().waitFor();
    await page.keyboard.press('Escape');
    await row.getByText('Paid').waitFor();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('calculates, approves and pays a month for all employees, and downloads it', async () => {
    const names = ['<b>First</b>', 'Second'];
    for (const name of names) {
      const { id: employeeId } = await console.call('POST', '/employees', { name });
      const { customerId } = await newAccount(console);
      const sale = { customerId, productId: 1, payplanId: 2, employeeId, activationDate: '2026-02-15' };
      await console.call('POST', '/accounts', sale);
    }
    const page = await console.open('/commissions/month?period=2026-02', { viewport: PHONE });
    await page.getByText('2 employees sold in this month and have no commission yet.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Calculate all' }).click();
    await page.locator('tbody tr', { hasText: '<b>First</b>' }).getByText('KES 456.00').waitFor();
    await page.getByRole('button', { name: 'Approve all: KES 912.00' }).click();
    await page.getByRole('button', { name: 'Mark all as paid: KES 912.00' }).click();
    await page.locator('dialog [name=paymentReference]:focus').fill('BATCH-<i>7</i>');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.locator('tbody tr', { hasText: 'Second' }).getByText('BATCH-<i>7</i>').waitFor();
    await expectAccessible(page);
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const file = await readFile(await (await downloading).path(), 'utf8');
    expect(file.match(/BATCH-<i>7<\/i>/g)).toHaveLength(2);
  });

  it('shows a viewer no button for what the role may not do', async () => {
    const { id: employeeId } = await console.call('POST', '/employees', { name: 'Seller' });
    const salesData = [{ accountId: (await newAccount(console)).id }];
    const period = dayBefore(0).slice(0, 7);
    await console.call('POST', '/commissions/calculate', { employeeId, period, salesData });
    const page = await console.open('/commissions', { email: await console.createUser('viewer') });
    await page.locator('tbody tr').first().getByRole('link').click();
    await page.locator('dialog .facts').waitFor();
    expect(await page.getByRole('button', { name: /Calculate|Approve|Mark/ }).count()).toBe(0);
  });
});
