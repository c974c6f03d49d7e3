import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { dayBefore, HAS_BROWSER, newAccount, statValue, useConsole } from './console.ts';

/** Requests that the application sends on every page: the session, the settings and the stream of events. */
const OF_EVERY_PAGE = /^\/api\/(auth\/|settings$|events$)/;

/** On other pages than Today, the counts of the navigation are read 30 seconds after an event. */
const SHORTER_THAN_COUNTS_MS = 20_000;

describe.skipIf(!HAS_BROWSER)('a page', () => {
  const console = useConsole();

  function recordRequests(page: Page): string[] {
    const requests: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/api/') && !OF_EVERY_PAGE.test(pathname))
        requests.push(`${request.method()} ${pathname}`);
    });
    return requests;
  }

  /** Opens the page in a new window. @returns the requests of the page, such as `GET /api/customers/1`, until it is complete. */
  async function requestsOf(path: string, shown: (page: Page) => Promise<void>): Promise<string[]> {
    const page = await console.open('/find');
    const requests = recordRequests(page);
    await page.goto(`${console.origin}${path}`);
    await shown(page);
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await page.context().close();
    return requests.sort();
  }

  it('Today needs two requests', async () => {
    await newAccount(console, { activationDate: dayBefore(60) });
    const requests = await requestsOf('/today', async (page) => {
      await page.getByRole('link', { name: 'Wanjiru Kamau' }).first().waitFor();
      await page.locator('.bars li').first().waitFor();
    });
    expect(requests).toEqual(['GET /api/reports/today', 'GET /api/reports/today/money']);
  });

  it('an account needs three requests', async () => {
    const { id } = await newAccount(console);
    await console.call('POST', '/payments', { accountId: id, amount: 400, paymentMethodId: 2 });
    const requests = await requestsOf(`/accounts/${id}`, async (page) => {
      await page.locator('.timeline li').first().waitFor();
      await page.locator('.history li').first().waitFor();
      await page.locator('tbody tr').first().waitFor();
      await page.locator('.quote-answer').waitFor();
    });
    expect(requests).toEqual([
      `GET /api/accounts/${id}/overview`,
      `GET /api/accounts/${id}/timeline`,
      'GET /api/payment-methods',
      'GET /api/reports/today', // The counts of the navigation. Only the first page of a window reads them.
    ]);
  });

  it('reads an account and the work of today once more for three payments that arrive together', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(60) });
    const account = await console.open('/find');
    const today = await console.open('/find');
    for (const [page, path] of [
      [account, `/accounts/${id}`],
      [today, '/today'],
    ] as const) {
      const stream = page.waitForResponse('**/api/events?*');
      await page.goto(`${console.origin}${path}`);
      await stream;
      await page.locator('.stat').first().waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    }
    const requests = [recordRequests(account), recordRequests(today)];
    const payments = [1, 2, 3].map((amount) => ({ accountId: id, amount, paymentMethodId: 2 }));
    const again = today.waitForResponse('**/api/reports/today');
    await console.call('POST', '/payments/bulk', { items: payments });
    await statValue(account, 'Balance').getByText('KES 22,794.00').waitFor();
    await again;
    const withoutMoney = requests.map((one) => one.filter((name) => name !== 'GET /api/reports/today/money'));
    const ofAccount = [`GET /api/accounts/${id}/overview`, `GET /api/accounts/${id}/timeline`];
    expect(withoutMoney.map((one) => one.sort())).toEqual([ofAccount, ['GET /api/reports/today']]);
  });

  it('Today does not wait for the time of an event that came on the page before', async () => {
    const page = await console.open('/find');
    const stream = page.waitForResponse('**/api/events?*');
    await page.goto(`${console.origin}/customers`);
    await stream;
    await page.locator('tbody tr').first().waitFor();
    await newAccount(console, { firstName: 'Event' });
    await page.getByText('Event Kamau').waitFor();
    const opened = page.waitForResponse('**/api/reports/today');
    await page.getByRole('link', { name: 'Today', exact: true }).click();
    await opened;
    const again = page.waitForResponse('**/api/reports/today', { timeout: SHORTER_THAN_COUNTS_MS });
    await newAccount(console);
    await again;
  });

  it('does not read the counts of the navigation again if it is not the first one', async () => {
    const page = await console.open('/find');
    const requests = recordRequests(page);
    const isCounts = (name: string) => name === 'GET /api/reports/today';
    await page.goto(`${console.origin}/customers`);
    for (const name of ['Accounts', 'Payments', 'Approvals', 'Find']) {
      await page.getByRole('link', { name: new RegExp(`^${name}`) }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    }
    expect(requests.filter(isCounts)).toHaveLength(1);
  });

  it('New sale does not read the catalogue again after a sale', async () => {
    const page = await console.open('/find');
    const requests = recordRequests(page);
    await page.goto(`${console.origin}/sales/new`);
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    const sell = async (lastName: string, phone: string) => {
      await page.getByLabel('Name or phone of the customer').fill(`Neema ${lastName}`);
      await page.getByText('0 customers found').waitFor();
      await page.keyboard.press('Enter');
      await page.locator('input[name=phone]').fill(phone);
      await page.keyboard.press('Enter');
      await page.locator('input[name=documentNumber]:focus').fill(phone);
      await page.keyboard.press('Enter');
      for (const title of ['Home system 40 W', 'Weekly, one year'])
        await page.locator('label.sale-option', { hasText: title }).click();
      await button('Next').click();
      await button(/^Deposit: /).click();
      await page.getByLabel('Payment method').selectOption({ label: 'Cash' });
      await button('Next').click();
      await button('Save sale').click();
      await page.getByText('Sale saved.').waitFor();
    };
    await sell('Mushi', '0711555001');
    await button('Next sale').click();
    await sell('Njoroge', '0711555002');
    const reads = requests.filter((name) => name.startsWith('GET '));
    expect(reads.filter((name) => name !== 'GET /api/search').sort()).toEqual([
      'GET /api/payment-methods',
      'GET /api/payplans',
      'GET /api/products',
      'GET /api/reports/today',
    ]);
    expect(requests.filter((name) => !name.startsWith('GET '))).toHaveLength(10);
  });
});
