import { describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the page of a payment or an invoice', () => {
  const console = useConsole();

  it('reverses a payment that was found by its reference', async () => {
    const { id } = await newAccount(console);
    const transactionRef = 'FOUND';
    await console.call('POST', '/payments', {
      accountId: id,
      amount: 400,
      paymentMethodId: 2,
      transactionRef,
    });
    const page = await console.open('/find', { viewport: PHONE });
    await page.locator('#page-find').fill(transactionRef);
    await page.getByText('1 result', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Reverse payment' }).click();
    await page.locator('textarea:focus').fill('Typed twice');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Reverse payment' }).click();
    await page.locator('.page-sub').getByText('Typed twice').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: 'Reverse payment' }).count()).toBe(0);
    expect((await console.call('GET', `/accounts/${id}`)).balance).toBe(22_800);
  });

  it('offers an agent no reversal', async () => {
    const { id } = await newAccount(console);
    const payment = await console.call('POST', '/payments', {
      accountId: id,
      amount: 400,
      paymentMethodId: 2,
    });
    const page = await console.open(`/payments/${payment.id}`, { email: await console.createUser('agent') });
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    expect(await page.getByRole('button', { name: 'Reverse payment' }).count()).toBe(0);
  });

  it('shows an invoice with its items', async () => {
    const { id } = await newAccount(console);
    const items = [
      { description: '<script>alert(1)</script>', quantity: 2, unitPrice: 50 },
      { description: 'Cable', quantity: 1, unitPrice: 10 },
    ];
    const invoice = await console.call('POST', '/invoices', { accountId: id, items });
    const page = await console.open(`/invoices/${invoice.id}`, { viewport: PHONE });
    await page.getByText('<script>alert(1)</script>').waitFor();
    await expectAccessible(page);
    await page.locator('.facts').getByText('110.00').waitFor();
  });
});
