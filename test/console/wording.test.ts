import { describe, expect, it } from 'vitest';
import { notification } from '../support/http.ts';
import { dayBefore, expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the console', () => {
  const console = useConsole();

  it('shows the reasons of suggestions in the language of the user, with formatted dates', async () => {
    const { id: accountId } = await newAccount(console);
    const send = (TransID: string, MSISDN: string) =>
      console.call(
        'POST',
        '/webhooks/payments/mobilemoney',
        notification({ TransID, MSISDN, BillRefNumber: 'duka la juma', TransAmount: '400.00' }),
      );
    await send('REASON1', '254733000001');
    const [first] = await console.call('GET', '/payments/unmatched');
    await console.call('POST', `/payments/${first.id}/assign`, { accountId });
    await send('REASON2', '254733000002');
    for (const [locale, viewport, reason] of [
      ['en-KE', undefined, 'The same reference from another payer was assigned to this account on '],
      ['sw-KE', PHONE, 'Kumbukumbu hii ya mlipaji mwingine iliwekwa kwenye akaunti hii tarehe '],
    ] as const) {
      const page = await console.open('/unmatched', { locale, ...(viewport && { viewport }) });
      const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
      await page.getByText(reason + date.format(new Date(dayBefore(0))), { exact: true }).waitFor();
      expect(await page.locator('.choices').textContent()).not.toMatch(/\d{4}-\d{2}-\d{2}/);
      expect(await page.locator('main').textContent()).not.toMatch(/(unmatched|queue|confidence)\./);
      await expectAccessible(page);
      await page.context().close();
    }
  });

  it('shows metadata and categories in words', async () => {
    const fields = {
      name: 'Fridge',
      sku: 'FRIDGE',
      category: 'cold_storage',
      price: 100,
      description: '',
    };
    const metadata = { shelfCount: '3', made_in: 'Nairobi' };
    const { id } = await console.call('POST', '/products', { ...fields, metadata });
    const page = await console.open(`/products/${id}`, { viewport: PHONE });
    await page.locator('.page-sub').getByText('Cold storage', { exact: true }).waitFor();
    expect(await page.locator('.facts dt').allTextContents()).toEqual(
      expect.arrayContaining(['Shelf count', 'Made in']),
    );
    await page.goto(`${console.origin}/products`);
    await page.getByText('Cold storage', { exact: true }).first().waitFor();
  });

  it('speaks Swahili where the service or the browser speaks English', async () => {
    const { id: accountId } = await newAccount(console);
    const payment = { accountId, paymentMethodId: 2, transactionRef: 'RISITI-1' };
    await console.call('POST', '/payments', { ...payment, amount: 400 });
    const page = await console.open(`/accounts/${accountId}`, { locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Ingiza malipo' }).click();
    const [amount, reference] = ['input[name=amount]', 'input[name=transactionRef]'] as const;
    await page.locator('select[name=paymentMethodId]').selectOption('2');
    await page.locator(amount).fill('1.001');
    await page.keyboard.press('Enter');
    await page.locator('.field-error').getByText('Desimali ni nyingi mno').waitFor();
    await page.locator(amount).fill('400');
    await page.locator(reference).fill('RISITI-1');
    await page.keyboard.press('Enter');
    await page.locator('.field-error').getByText('Tayari inatumika').waitFor();
    expect(await page.locator('dialog').textContent()).not.toMatch(/already|transactionRef/);
    console.complaints.splice(0); // The browser complains about the answer 409.
    await console.call('POST', '/payments', { accountId, paymentMethodId: 2, amount: 22_400 });
    await page.goto(`${console.origin}/accounts/${accountId}`);
    await page.locator('.history').getByText('Imelipwa yote').waitFor();
  });

  it('shows codes of the audit log in words', async () => {
    const { id } = await console.call('POST', '/commissions/rules', {
      category: 'cold_storage',
      rateBasisPoints: 325,
    });
    const page = await console.open(`/audit?resource=commission_rule&resourceId=${id}`);
    await page.locator('tbody a').first().click();
    const dialog = page.locator('dialog');
    await dialog.getByText('Cold storage', { exact: true }).waitFor();
    await dialog.getByText('3.25%', { exact: true }).waitFor();
  });
});
