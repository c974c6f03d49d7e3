import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, newAccount, SIZES, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the search', () => {
  const console = useConsole();
  let account: Awaited<ReturnType<typeof newAccount>>;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    account = await newAccount(console);
    await newAccount(console, { firstName: 'Wanja', lastName: 'Njoroge' });
  });

  it.each(SIZES)(
    'opens a customer with the keyboard alone, and keeps the name out of the URL (%s)',
    async (_name, viewport) => {
      const page = await console.open('/find', { viewport });
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
    },
  );

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
});
