import { describe, expect, it } from 'vitest';
import { DESKTOP, expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

const CASH = 2;

describe.skipIf(!HAS_BROWSER)('a payment with a wrong amount', () => {
  const console = useConsole();

  it.each([
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ])(
    'is corrected from the page of its account with three clicks and keys on %s',
    async (_what, viewport) => {
      const { id } = await newAccount(console);
      await console.call('POST', '/payments', { accountId: id, amount: 400, paymentMethodId: CASH });
      const page = await console.open(`/accounts/${id}`, { viewport });
      await page.getByRole('button', { name: 'Correct amount' }).click();
      await page.locator('dialog [name=amount]:focus').fill('450');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Typed 400');
      await expectAccessible(page);
      await page.keyboard.press('Enter');
      await page.getByText('Amount corrected').waitFor();
      expect((await console.call('GET', `/accounts/${id}`)).paid).toBe(450);
    },
  );

  it('shows who recorded, corrected and reversed it, and leads to the right payment', async () => {
    const { id } = await newAccount(console);
    const payment = await console.call('POST', '/payments', {
      accountId: id,
      amount: 400,
      paymentMethodId: CASH,
    });
    const page = await console.open(`/payments/${payment.id}`, { viewport: PHONE });
    await page.getByRole('button', { name: 'Correct amount' }).click();
    await page.locator('dialog [name=amount]:focus').fill('400');
    await page.locator('dialog [name=reason]').fill('The same');
    await page.keyboard.press('Enter');
    await page.getByText('must differ from the present amount').waitFor();
    await page.locator('dialog [name=amount]').fill('450');
    await page.keyboard.press('Enter');
    await page.getByText('Amount corrected').waitFor();
    await page.locator('.facts').getByText('Reversed by').waitFor();
    await page.locator('.facts').getByText('Recorded by', { exact: true }).waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: 'Correct amount' }).count()).toBe(0);
    await page.locator('.facts a[href^="/payments/"]').click();
    await page.getByRole('heading', { name: 'KES 450.00' }).waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('cannot be corrected by an agent, who prints its receipt', async () => {
    const { id } = await newAccount(console);
    const payment = await console.call('POST', '/payments', {
      accountId: id,
      amount: 400,
      paymentMethodId: CASH,
    });
    const page = await console.open(`/payments/${payment.id}`, {
      viewport: PHONE,
      email: await console.createUser('agent'),
    });
    await page.getByRole('heading', { name: `Receipt ${payment.receiptNumber}` }).waitFor();
    expect(await page.getByRole('button', { name: 'Correct amount' }).count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Print (80 mm)' }).click();
    expect((await download).suggestedFilename()).toBe(`${payment.receiptNumber}.pdf`);
    await expectAccessible(page);
    await page.goto(new URL('/find', page.url()).href);
    await page.locator('#page-find').fill(payment.receiptNumber);
    await page.getByText('1 result', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'KES 400.00' }).waitFor();
  });
});

describe.skipIf(!HAS_BROWSER)('the form for a payment', () => {
  const console = useConsole();

  it('offers an agent only cash of the last days, and remembers the last method', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`, { email: await console.createUser('agent') });
    await page.getByRole('button', { name: 'Record payment' }).click();
    const method = page.locator('dialog [name=paymentMethodId]');
    await method.locator('option', { hasText: 'Cash' }).waitFor({ state: 'attached' });
    expect((await method.locator('option').allTextContents()).filter(Boolean)).toEqual(['Cash']);
    const date = page.locator('dialog [name=paymentDate]');
    const [min, max] = [await date.getAttribute('min'), await date.getAttribute('max')];
    expect((Date.parse(max ?? '') - Date.parse(min ?? '')) / 86_400_000).toBe(7);
    expect(await method.inputValue()).toBe('');
    await page.locator('dialog [name=amount]').fill('400');
    await method.selectOption('Cash');
    await page.locator('dialog').getByRole('button', { name: 'Record payment' }).click();
    await page.getByText('KES 400.00 recorded').waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Print receipt' }).click();
    expect((await download).suggestedFilename()).toMatch(/^R\d+\.pdf$/);
    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('dialog [name=amount]').fill('10');
    expect(await method.inputValue()).toBe(String(CASH));
  });
});
