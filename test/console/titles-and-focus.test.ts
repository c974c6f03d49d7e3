import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import { HAS_BROWSER, newAccount, useConsole } from './console.ts';

/** The text of the element that has the focus. */
const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent');

describe.skipIf(!HAS_BROWSER)('the console', () => {
  const console = useConsole();

  it('titles the tab by the page and the record, without the name of a person', async () => {
    const { id, customerId, accountNumber } = await newAccount(console);
    const page = await console.open('/accounts');
    for (const [path, title] of [
      ['/accounts', 'Accounts'],
      [`/accounts/${id}`, `Account ${accountNumber}`],
      [`/customers/${customerId}`, `Customer ${customerId}`],
      ['/portfolio/late', 'Call list'],
      ['/accounts/999999', 'Accounts'],
      ['/nowhere', 'There is no such page'],
    ] as const) {
      await page.goto(`${console.origin}${path}`);
      await eventually(() => page.title()).toBe(`${title} – Sunrise Pumps Ltd`);
    }
    await page.goto(`${console.origin}/accounts`);
    await page.getByRole('link', { name: accountNumber }).click();
    await eventually(() => page.title()).toBe(`Account ${accountNumber} – Sunrise Pumps Ltd`);
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await eventually(() => page.title()).toBe('Payments – Sunrise Pumps Ltd');
    const inSwahili = await console.open(`/accounts/${id}`, { locale: 'sw-KE' });
    await eventually(() => inSwahili.title()).toBe(`Akaunti ${accountNumber} – Sunrise Pumps Ltd`);
    const signIn = await console.open('/', { email: '' });
    await eventually(() => signIn.title()).toBe('Sign in – Sunrise Pumps Ltd');
    console.complaints.splice(0); // The browser reports the answer 404.
  });

  it('moves the focus back to what opened a dialog', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('dialog input[name=amount]:focus').waitFor();
    await page.keyboard.press('Escape');
    await eventually(() => focused(page)).toBe('Record payment');

    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.locator('[aria-label="More actions"]:focus').waitFor();

    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('dialog input[name=amount]').fill('400');
    await page.locator('dialog select[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await page.locator('dialog').getByRole('button', { name: 'Record payment' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await eventually(() => focused(page)).toBe('Record payment');
  });

  it('moves the focus to the heading if the change has removed what opened the dialog', async () => {
    const { id: accountId } = await newAccount(console);
    const payment = await console.call('POST', '/payments', { accountId, amount: 400, paymentMethodId: 2 });
    const page = await console.open(`/payments/${payment.id}`);
    await page.getByRole('button', { name: 'Reverse payment' }).click();
    await page.locator('textarea:focus').fill('Typed twice');
    await page.locator('dialog').getByRole('button', { name: 'Reverse payment' }).click();
    await page.locator('h1:focus').waitFor();
    expect(await page.getByRole('button', { name: 'Reverse payment' }).count()).toBe(0);
  });

  it('moves the focus back to the row whose dialog was closed', async () => {
    await console.call('POST', '/employees', { name: 'Otieno Odera', phone: '0722000111' });
    const page = await console.open('/employees');
    await page.getByRole('link', { name: 'Otieno Odera' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog input:focus').waitFor();
    await page.keyboard.press('Escape');
    await eventually(() => focused(page)).toBe('Otieno Odera');
  });
});
