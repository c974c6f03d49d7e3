import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the search', () => {
  const console = useConsole();
  let account: Awaited<ReturnType<typeof newAccount>>;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    account = await newAccount(console);
    await newAccount(console, { firstName: 'Wanja', lastName: 'Njoroge' });
  });

  it('opens a customer with the keyboard alone, and keeps the name out of the URL', async () => {
    const page = await console.open('/find', { viewport: PHONE });
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('wanj');
    await page.getByText('2 results').waitFor();
    await expectAccessible(page);
    expect(page.url()).toBe(`${console.origin}/find`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const chosen = await page.locator('[role=option][aria-selected=true] .find-title').textContent();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: chosen ?? '' }).waitFor();
  });

  it('gets the focus with the key /, and opens an account by its number', async () => {
    const page = await console.open(`/customers/${account.customerId}`);
    await page.getByRole('heading', { name: 'Wanjiru Kamau' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(account.accountNumber);
    await page.getByText('1 result', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${console.origin}/accounts/${account.id}`);
  });

  it('says what to try if nothing is found', async () => {
    const page = await console.open('/find');
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('nobody has this name');
    await page.getByText('Nothing found.').waitFor();
  });

  it('says how many results there are if it does not show all', async () => {
    for (let left = 22; left > 0; left -= 1)
      await newAccount(console, { firstName: 'Many', lastName: `Of${left}` });
    const page = await console.open('/find');
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('many of');
    await page.getByText('20 of 22 results. Type more to see the others.').waitFor();
    await expectAccessible(page);
  });

  it('opens a result of the text in the field, also if Enter comes before the results', async () => {
    await newAccount(console, { firstName: 'Early', lastName: 'Results' });
    const { customerId } = await newAccount(console, { firstName: 'Late', lastName: 'Results' });
    const page = await console.open('/find');
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('early');
    await page.locator('.find-result', { hasText: 'Early Results' }).first().waitFor();
    await page.locator('input[type=search]:focus').selectText();
    await page.keyboard.type('late res');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/customers/${customerId}`);
  });
});
