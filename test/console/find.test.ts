import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import { dayBefore, expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the search', () => {
  const console = useConsole();
  let account: Awaited<ReturnType<typeof newAccount>>;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    account = await newAccount(console);
    await newAccount(console, { firstName: 'Wanja', lastName: 'Njoroge' });
    for (let left = 22; left > 0; left -= 1)
      await newAccount(console, { firstName: 'Many', lastName: `Of${left}` });
  });

  it('opens a customer with the keyboard alone, and has the text in the URL', async () => {
    const page = await console.open('/find', { viewport: PHONE });
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('wanj');
    await page.getByText('2 results').waitFor();
    await expectAccessible(page);
    await page.waitForURL(`${console.origin}/find?q=wanj`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const chosen = await page.locator('[role=option][aria-selected=true] .find-title').textContent();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: chosen ?? '' }).waitFor();
  });

  it('shows the same results after Back and after a reload, and an empty field after a click on Find', async () => {
    const page = await console.open('/find?q=wanj');
    const field = page.locator('#page-find');
    await page.getByText('2 results').waitFor();
    expect(await field.inputValue()).toBe('wanj');
    await field.pressSequentially('iru');
    await page.waitForURL('**/find?q=wanjiru');
    await page.getByText('1 result', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/customers/${account.customerId}`);
    await page.goBack();
    await page.getByText('1 result', { exact: true }).waitFor();
    expect(await field.inputValue()).toBe('wanjiru');
    await page.reload();
    await page.getByText('1 result', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Find', exact: true }).click();
    await page.waitForURL('**/find');
    await eventually(() => field.inputValue()).toBe('');
    await page.goBack();
    await eventually(() => field.inputValue()).toBe('wanjiru');
    await field.fill('');
    await page.waitForURL('**/find');
  });

  it('shows of each customer and account the number, the product and the days past due', async () => {
    const names = { firstName: 'Zuhura', lastName: 'Mwangi' };
    const late = await newAccount(console, { ...names, activationDate: dayBefore(40) });
    await console.call('POST', '/accounts', { customerId: late.customerId, productId: 1, payplanId: 2 });
    const page = await console.open('/find?q=zuhura', { viewport: PHONE });
    const row = page.locator('.find-result');
    await row.getByText(`${late.accountNumber} · Home system 40 W · 1 more account`).waitFor();
    await row.locator('.badge', { hasText: /^\d+ days past due$/ }).waitFor();
    await expectAccessible(page);
    await page.goto(`${console.origin}/find?q=${late.accountNumber}`);
    await row.getByText(/^Home system 40 W/).waitFor();
    const swahili = await console.open('/find?q=zuhura', { viewport: PHONE, locale: 'sw-KE' });
    await swahili.locator('.badge', { hasText: /^Imechelewa siku \d+$/ }).waitFor();
    await swahili.getByText('Akaunti 1 zaidi').waitFor();
    await expectAccessible(swahili);
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
    const page = await console.open('/find');
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('many of');
    await page.getByText('20 of 22 results. Type more to see the others.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'All customers that match' }).click();
    await page.waitForURL('**/customers?search=many+of');
    await page.getByText('22 in all').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'All accounts that match' }).click();
    await page.getByText('22 in all').waitFor();
  });

  it('over a page has links to all rows, which the keyboard reaches, and closes when the focus leaves it', async () => {
    const page = await console.open('/customers');
    await page.getByRole('heading', { name: 'Customers' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('many of');
    await page.getByText('20 of 22 results').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('All customers that match');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.getByText('20 of 22 results').waitFor({ state: 'hidden' });
    await page.keyboard.press('/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/customers?search=many+of');
    await page.getByText('22 in all').waitFor();
    await page.getByText('20 of 22 results').waitFor({ state: 'hidden' });
    expect(await page.getByLabel('Name, phone, e-mail or national id').inputValue()).toBe('many of');
  });

  it('over a page opens all rows by mouse, also in a browser that gives links no focus', async () => {
    const page = await console.open('/customers');
    await page.getByRole('heading', { name: 'Customers' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('many of');
    const link = page.getByRole('link', { name: 'All customers that match' });
    await link.hover();
    await page.mouse.down();
    expect(await page.evaluate('document.activeElement.id')).toBe('top-find');
    await page.mouse.up();
    await page.waitForURL('**/customers?search=many+of');
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
