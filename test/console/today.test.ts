import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { notification } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';
import {
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  statValue,
  textOf,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('the page Today', () => {
  const console = useConsole({ TEST_CLOCK: 'on' }); // With a test clock, the daily check does not run.
  let accountId: number;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    accountId = (await newAccount(console, { activationDate: dayBefore(60) })).id;
    await console.call('POST', '/payments', { accountId, amount: 2000, paymentMethodId: 2 });
    const plan = { name: 'Water works', deposit: 0, instalmentAmount: 2_000_000, instalmentCount: 52 };
    const { id: payplanId } = await console.call('POST', '/payplans', { ...plan, frequency: 'weekly' });
    const { customerId } = await newAccount(console);
    await console.call('POST', '/accounts', { customerId, productId: 1, payplanId });
  });

  it('shows the money and what needs attention, and leads to a late account', async () => {
    const page = await console.open('/', { viewport: PHONE });
    await page.getByRole('heading', { name: 'Today' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/today');
    const received = statValue(page, 'Received today');
    await received.filter({ hasText: 'KES' }).waitFor();
    expect(await textOf(received)).toBe('KES 2,000.00');
    expect(await textOf(page.locator('.bars li').last())).toMatch(/^2K/);
    const outstanding = statValue(page, 'Outstanding');
    expect(await textOf(outstanding)).toMatch(/^KES 104,\d{3},\d{3}\.00$/);
    await expectAccessible(page);
    expect(await textOf(page.locator('.rows li', { hasText: 'Unmatched payments' }))).toBe(
      'Unmatched payments0',
    );
    await page.getByRole('link', { name: 'Wanjiru Kamau' }).click();
    await page.waitForURL(`${console.origin}/accounts/${accountId}`);
  });

  it('names the days of the chart on a phone without overlaps, also in Swahili', async () => {
    const page = await console.open('/today', { viewport: PHONE, locale: 'sw-KE' });
    await page.locator('.bars').waitFor();
    const labels = page.locator('.bar-label');
    const edges = await labels.evaluateAll((all) =>
      all.map((label) => {
        const range = label.ownerDocument.createRange();
        range.selectNodeContents(label);
        const { left, right, top } = range.getBoundingClientRect();
        return { left, right, top };
      }),
    );
    expect(edges).toHaveLength(7);
    for (const [at, { left, top }] of edges.entries()) {
      expect(left).toBeGreaterThan(edges[at - 1]?.right ?? 0);
      expect(top).toBe(edges[0]?.top);
    }
    expect(await labels.allTextContents()).toContain('J’tatu');
  });

  it('lists late accounts of every status, like the call list', async () => {
    const firstName = 'Atieno';
    const { id } = await newAccount(console, { firstName, activationDate: dayBefore(700) });
    for (const status of ['suspended', 'defaulted', 'repossessed'])
      await console.call('PUT', `/accounts/${id}`, { status, reason: 'Never paid' });
    const page = await console.open('/today', { viewport: PHONE });
    const row = page.locator('tr', { hasText: firstName });
    await row.getByText('Repossessed').waitFor();
    await page.getByRole('link', { name: 'Call list of all late accounts' }).click();
    await row.getByText('Repossessed').waitFor();
    await expectAccessible(page);
  });

  it('compares the money of today and of the week with the week before, in words', async () => {
    const weekday = { weekday: 'short', timeZone: 'UTC' } as const;
    const day = new Intl.DateTimeFormat('en-KE', weekday).format(new Date(dayBefore(7)));
    const changes = async (page: Page) => {
      await page.locator('.stat-change').nth(1).waitFor();
      const [today, week] = await page.locator('.stat-change').all();
      return today && week && [await textOf(today), await textOf(week)];
    };
    // The service sums up the money once a minute at most, so the browser gets answers with other sums for the week before.
    const changesFrom = async (received: number) => {
      const page = await console.open('/find');
      await page.route('**/api/reports/today/money', async (route) => {
        const response = await route.fetch();
        const { data, ...rest } = await response.json();
        for (const { before } of [data.day, data.week]) before.received = received;
        await route.fulfill({ response, json: { ...rest, data } });
      });
      await page.goto(`${console.origin}/today`);
      const texts = await changes(page);
      await expectAccessible(page);
      await page.context().close();
      return texts;
    };
    expect(await changesFrom(0)).toEqual([
      `Nothing was received last ${day}`,
      `Nothing was received last week up to ${day}`,
    ]);
    expect(await changesFrom(1000)).toEqual([
      `100% more than last ${day}: KES 1,000.00`,
      `100% more than last week up to ${day}: KES 1,000.00`,
    ]);
    expect((await changesFrom(2000))?.[0]).toBe(`As much as last ${day}: KES 2,000.00`);
    expect((await changesFrom(4000))?.[0]).toBe(`50% less so far than last ${day}: KES 4,000.00`);
  });

  it.each([
    ['money', 'reports/today/money', 'Needs attention', 'Received today'],
    ['work', 'reports/today', 'Received today', 'Needs attention'],
  ])(
    'shows the rest and offers to try again, if the %s cannot be read',
    async (_name, path, shown, missing) => {
      const page = await console.open('/find');
      await page.route(`**/api/${path}`, (route) => route.fulfill({ status: 500, body: '' }));
      await page.goto(`${console.origin}/today`);
      const retry = page.getByRole('alert').getByRole('button', { name: 'Try again' });
      await retry.waitFor();
      await page.getByText(shown, { exact: true }).waitFor();
      expect(await page.getByText('This could not be loaded').count()).toBe(1);
      await expectAccessible(page);
      await page.unroute(`**/api/${path}`);
      await retry.click();
      await page.getByText(missing, { exact: true }).waitFor();
      await page.locator('.rows li, .stat').nth(6).waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      await page.context().close();
      console.complaints.splice(0); // The browser reports the answer 500.
    },
  );

  it('shows the result of a proof of the books as soon as it is known', async () => {
    const page = await console.open('/find');
    const stream = page.waitForResponse('**/api/events?*');
    await page.goto(`${console.origin}/today`);
    await stream;
    const row = page.locator('.rows li', { hasText: 'Proof of the books' });
    await row.getByText('not run yet').waitFor();
    await console.call('GET', '/reports/proof');
    await row.getByText('0 violations').waitFor();
  });

  it('counts the rejected notifications of some days, and links to exactly these', async () => {
    const setClock = (now: string | null) => console.call('PUT', '/test/clock', { now });
    const noonBefore = (days: number) => `${dayBefore(days)}T09:00:00Z`;
    const reject = async (TransAmount: string) => {
      const refused = await fetch(`${console.origin}/api/webhooks/payments/mobilemoney`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...notification({}), TransAmount }),
      });
      expect(refused.status).toBe(400);
    };
    onTestFinished(() => setClock(null));
    await setClock(noonBefore(7));
    await reject('before the seven days');
    await setClock(noonBefore(6));
    await reject('on the first of the seven days');
    await setClock(null);
    const countOn = (page: Page) => page.locator('.rows li', { hasText: 'Rejected notifications since ' });
    const page = await console.open('/today');
    await countOn(page).locator('.badge.bad', { hasText: /^1$/ }).waitFor();
    await countOn(page).getByRole('link').click();
    await page.locator('.raw').getByText('on the first of the seven days').waitFor();
    expect(await page.locator('main ol li').count()).toBe(1);
    await setClock(noonBefore(-1));
    const nextDay = await console.open('/today', { isNew: true }); // Others have cached the settings of today.
    await countOn(nextDay).locator('.badge.good', { hasText: /^0$/ }).waitFor();
  });

  it('shows the date of its figures, which changes at midnight', async () => {
    const page = await console.open('/find');
    await page.route('**/api/reports/today', async (route) => {
      const response = await route.fetch();
      const { data, ...rest } = await response.json();
      await route.fulfill({ response, json: { ...rest, data: { ...data, date: '2031-01-05' } } });
    });
    await page.goto(`${console.origin}/today`);
    await page.locator('.page-head .eyebrow').getByText('5 Jan 2031').waitFor();
  });

  it('begins the day of agents with their own late customers and their own commission, without figures of the company', async () => {
    const email = await console.createUser('agent');
    const { id: employeeId } = await console.call('POST', '/employees', { name: 'Atieno Odhiambo' });
    const { customerId, accountNumber: ofOther } = await newAccount(console, {
      firstName: 'Zawadi',
      activationDate: dayBefore(20),
    });
    const sale = { customerId, productId: 1, payplanId: 2, employeeId, activationDate: dayBefore(20) };
    const late = await console.call('POST', '/accounts', sale);
    const [user] = await console.call('GET', `/users?filter[email]=${email}`);
    const unlinked = await console.open('/', { viewport: PHONE, email });
    await unlinked.waitForURL(`${console.origin}/today`);
    await unlinked.getByText('Your user is not linked to an employee').waitFor();
    await expectAccessible(unlinked);
    await console.call('PUT', `/users/${user.id}`, { employeeId });
    await console.call('POST', '/commissions/rules', { category: null, rateBasisPoints: 500 });
    const period = dayBefore(20).slice(0, 7);
    await console.call('POST', '/commissions/calculate', { employeeId, period });
    await console.call('POST', '/accounts', { ...sale, activationDate: dayBefore(0) });

    const page = await console.open('/', { viewport: PHONE, email });
    await eventually(async () => {
      await page.reload(); // The service caches the employee of a session for some seconds.
      await page.locator('main .panel, main .notice').first().waitFor();
      return page.getByRole('heading', { name: 'My late customers' }).count();
    }).toBe(1);
    await expectAccessible(page);
    expect(await page.locator('tbody tr').count()).toBe(1);
    expect(await page.locator('.stat').count()).toBe(0);
    expect(await page.getByText('Unmatched payments').count()).toBe(0);
    const commission = page.locator('.panel', { hasText: 'My commission' });
    await commission.getByText('1 sale without commission. Expected: KES 1,140.00').waitFor();
    expect(await textOf(commission.locator('.row-end'))).toBe('KES 1,140.00Calculated');
    await page.getByRole('link', { name: 'All my late customers' }).click();
    await page.getByRole('link', { name: late.accountNumber }).waitFor();
    expect(await page.getByRole('link', { name: ofOther }).count()).toBe(0);
    await expectAccessible(page);
    await page.goBack();
    await page.getByRole('link', { name: 'New sale' }).click();
    await page.waitForURL(`${console.origin}/sales/new`);
    const swahili = await console.open('/', { viewport: PHONE, email, locale: 'sw' });
    await swahili.getByRole('heading', { name: 'Wateja wangu waliochelewa' }).waitFor();
    await swahili.locator('main').getByRole('link', { name: 'Mauzo mapya' }).waitFor();
    await expectAccessible(swahili);
  });

  it('shows a collector the calls that are due and the broken promises', async () => {
    const page = await console.open('/', { email: await console.createUser('collector') });
    await page.getByRole('link', { name: 'Calls due' }).waitFor();
    await page.getByRole('link', { name: /^Broken promises since / }).waitFor();
    await expectAccessible(page);
    expect(await page.locator('.stat').count()).toBe(0);
    await page.getByRole('link', { name: 'Call list of all late accounts' }).click();
    await page.waitForURL(`${console.origin}/call-list`);
  });
});

// On its own database, because the other tests know what was received today.
describe.skipIf(!HAS_BROWSER)('the page Today after a refund', () => {
  const console = useConsole();

  it('shows what was refunded below what was received', async () => {
    const { id } = await newAccount(console);
    await console.call('POST', '/payments', { accountId: id, amount: 300, paymentMethodId: 2 });
    await console.call('PUT', `/accounts/${id}`, { status: 'cancelled', reason: 'returned' });
    await console.call('POST', `/accounts/${id}/credit/refund`, { amount: 50.25, reason: 'returned' });
    const page = await console.open('/today');
    for (const label of ['Received today', 'Received this week'])
      await page.locator('.stat', { hasText: label }).getByText('KES 50.25 was refunded').waitFor();
    expect(await textOf(statValue(page, 'Received today'))).toBe('KES 300.00');
    await expectAccessible(page);
  });
});
