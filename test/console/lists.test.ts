import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  navigate,
  newAccount,
  openFilters,
  PHONE,
  textOf,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('a list of customers, accounts or payments', () => {
  const console = useConsole();
  let late: Awaited<ReturnType<typeof newAccount>>;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    late = await newAccount(console, { firstName: '<b>Late</b>', activationDate: dayBefore(40) });
    const other = await newAccount(console, { firstName: 'Punctual' });
    const payment = { accountId: other.id, amount: 2400, paymentMethodId: 2, transactionRef: '<i>REF</i>' };
    await console.call('POST', '/payments', { ...payment, metadata: { note: '<u>note</u>' } });
  });

  it('names in a sum what it leaves out', async () => {
    const items = [{ description: 'Cable', quantity: 1, unitPrice: 50 }];
    await console.call('POST', '/invoices', { accountId: late.id, items });
    const page = await console.open('/payments?status=matched');
    await page.getByRole('button', { name: 'Show sums' }).click();
    await page.getByText(/^Amount without reversed: KES/).waitFor();
    await page.goto(`${console.origin}/invoices?status=issued`);
    await page.getByRole('button', { name: 'Show sums' }).click();
    await page.getByText(/^Total without void: KES/).waitFor();
  });

  it('shows the sums of all rows on demand while a filter is set, also in Swahili on a narrow screen', async () => {
    const page = await console.open('/accounts');
    await page.getByText('2 in all').waitFor();
    expect(await page.locator('.pager-sums').textContent()).toBe('2 in all');
    const { balance, arrears } = await console.call('GET', `/accounts/${late.id}`);
    const sums = new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2 });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const askedForTotals = () => asked.filter((url) => url.includes('totals=true'));
    await page.goto(`${console.origin}/accounts?late=31-60`);
    await page.getByText(late.accountNumber).waitFor();
    expect(askedForTotals()).toEqual([]);
    await page.getByRole('button', { name: 'Show sums' }).click();
    await page.getByText(`Balance: KES ${sums.format(balance)}`).waitFor();
    await page.getByText(`Arrears: KES ${sums.format(arrears)}`).waitFor();
    await page.locator('button:focus', { hasText: 'Show sums' }).waitFor();
    await expectAccessible(page);
    const { length } = asked;
    await console.call('PUT', `/accounts/${late.id}`, { metadata: { town: 'Embu' } });
    await eventually(() => asked.slice(length).some((url) => url.includes('/api/accounts?'))).toBe(true);
    expect(askedForTotals()).toHaveLength(1);
    const phone = await console.open('/payments?status=matched', { viewport: PHONE, locale: 'sw-KE' });
    await phone.getByRole('button', { name: 'Onyesha jumla za pesa' }).click();
    const matched: { amount: number }[] = await console.call(
      'GET',
      '/payments?filter[status]=matched&limit=100',
    );
    const sum = matched.reduce((total, { amount }) => total + amount, 0);
    await phone.locator('[role=status].pager-sums', { hasText: sums.format(sum) }).waitFor();
    await expectAccessible(phone);
  });

  it('keeps filters, sort and page in the URL', async () => {
    const page = await console.open('/accounts');
    await page.getByText(late.accountNumber).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
    await openFilters(page);
    await page.getByLabel('Past due').selectOption({ label: '31-60 days' });
    await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?late=31-60');
    await page.reload();
    await page.getByText(late.accountNumber).waitFor();
    expect(await page.getByLabel('Past due').inputValue()).toBe('31-60');
    expect(await page.locator('tbody tr').count()).toBe(1);
    await expectAccessible(page);
    await page.getByRole('link', { name: late.accountNumber }).click();
    await page.getByRole('heading', { name: 'Instalments' }).waitFor();
    await page.goBack();
    expect(await page.getByLabel('Past due').inputValue()).toBe('31-60');
    await page.goBack();
    await page.locator('tbody tr').nth(1).waitFor();
    await openFilters(page);
    await page.getByLabel('Status').selectOption({ label: 'Cancelled' });
    await page.getByText('Nothing matches these filters').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.locator('tbody tr').nth(1).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('sorts names as they are shown: by the first name, then by the last name', async () => {
    for (const [firstName, lastName, phone] of [
      ['Aabel', 'Zuma', '+254733000001'],
      ['Aabel', 'Abdi', '+254733000002'],
      ['Aadan', 'Achieng', '+254733000003'],
    ] as const)
      await console.call('POST', '/customers', { firstName, lastName, phone });
    const page = await console.open('/customers');
    await page.getByRole('button', { name: 'Name' }).click();
    await page.locator('th[aria-sort=ascending]', { hasText: 'Name' }).waitFor();
    const names = async () =>
      (await page.locator('tbody td.title').allTextContents()).filter((name) => name.startsWith('Aa'));
    expect(await names()).toEqual(['Aabel Abdi', 'Aabel Zuma', 'Aadan Achieng']);
  });

  it('sorts by a column in both directions', async () => {
    const page = await console.open('/accounts');
    const firstRow = page.locator('tbody tr').first();
    await page.getByRole('button', { name: 'Balance' }).click();
    await firstRow.getByText('KES 20,400.00').waitFor();
    await page.getByRole('button', { name: 'Balance' }).click();
    await firstRow.getByText(late.accountNumber).waitFor();
    expect(new URL(page.url()).search).toBe('?sort=balance%3Adesc');
  });

  it.each(['en-KE', 'sw-KE'])(
    'shows the currency by the same code in amounts and fields (%s)',
    async (locale) => {
      const page = await console.open(`/accounts/${late.id}`, { locale });
      await page.locator('.page-head button.primary').click();
      expect(await page.locator('dialog .input-unit > span').textContent()).toBe('KES');
      expect(await textOf(page.locator('.stat-value').first())).toMatch(/^KES [\d,]+\.00$/);
      expect(await page.locator('main').textContent()).not.toMatch(/ksh/i);
    },
  );

  it('shows names as text, and opens a customer', async () => {
    const page = await console.open('/customers', { viewport: PHONE });
    await page.getByRole('link', { name: '<b>Late</b>' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: '<b>Late</b>' }).click();
    await page.getByRole('heading', { name: '<b>Late</b>' }).waitFor();
  });

  it('filters payments, and shows one with its metadata as text', async () => {
    const reference = '<i>phone</i>';
    const body = { accountId: late.id, amount: 10, paymentMethodId: 2, transactionRef: reference };
    await console.call('POST', '/payments', { ...body, metadata: { note: '<u>note</u>' } });
    const page = await console.open('/payments');
    const row = page.locator('tbody tr', { hasText: reference });
    await row.waitFor();
    await expectAccessible(page);
    await openFilters(page);
    await page.getByLabel('Until').fill('2020-01-31');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches these filters').waitFor();
    await page.goBack();
    await row.getByRole('link').click();
    await page.getByText('<u>note</u>').waitFor();
  });

  it('filters payments that an earlier version may have posted twice, and customers whose phone is wrong', async () => {
    const page = await console.open('/payments');
    const asked = page.waitForRequest('**/api/payments?*hasDuplicateReference*');
    await page.getByLabel('Reference', { exact: true }).selectOption('Possibly recorded twice');
    expect((await (await asked).response())?.status()).toBe(200);
    await page.getByRole('link', { name: 'Customers', exact: true }).click();
    const askedNext = page.waitForRequest('**/api/customers?*phoneProblem*');
    await page.getByLabel('Phone', { exact: true }).selectOption('Not a valid number');
    expect((await (await askedNext).response())?.status()).toBe(200);
  });

  it('keeps the focus of the keyboard on the button that shows another page or order', async () => {
    const paymentDate = dayBefore(10);
    const payment = { accountId: late.id, paymentMethodId: 2, paymentDate };
    for (let amount = 1; amount <= 27; amount += 1)
      await console.call('POST', '/payments', { ...payment, amount });
    const path = `/payments?from=${paymentDate}&until=${paymentDate}`;
    const page = await console.open(path);
    await page.getByRole('button', { name: 'Next page' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Page 2 of 2').waitFor();
    await page.locator('tbody tr').nth(24).waitFor({ state: 'detached' });
    await page.locator('.pager button[aria-label="Next page"]:focus').waitFor();
    await expectAccessible(page);
    expect((await page.locator('section.panel').boundingBox())?.y).toBeGreaterThan(0);
    await page.keyboard.press('Enter'); // There is no other page.
    expect(page.url()).toContain(`${path}&page=2`);
    await page.getByRole('button', { name: 'Amount' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('th[aria-sort=ascending] .sort:focus').waitFor();
    await page.locator('tbody tr').nth(24).waitFor();
    await page.locator('th[aria-sort=ascending] .sort:focus').waitFor();
  });

  it('is no longer marked as busy after a failure', async () => {
    const page = await console.open('/find');
    await page.route('**/api/payments?*', (route) => route.fulfill({ status: 500, body: 'Bad gateway' }));
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor();
    expect(await page.locator('.panel-body').getAttribute('aria-busy')).toBe('false');
    await page.unroute('**/api/payments?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('tbody tr').first().waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 500.
  });

  it('offers periods beside the days of a filter, and keeps the days in the URL', async () => {
    const today = dayBefore(0);
    const yesterday = dayBefore(1);
    const day = { accountId: late.id, amount: 10, paymentMethodId: 2 };
    for (const paymentDate of [today, yesterday])
      await console.call('POST', '/payments', {
        ...day,
        paymentDate,
        transactionRef: `phone-${paymentDate}`,
      });
    const page = await console.open('/payments');
    const row = (paymentDate: string) => page.getByText(`phone-${paymentDate}`);
    const period = page.getByLabel('Period');
    const daysShown = () =>
      Promise.all(['From', 'Until'].map((label) => page.getByLabel(label).inputValue()));
    await row(today).waitFor();
    await openFilters(page);
    await period.selectOption('Yesterday');
    await row(today).waitFor({ state: 'detached' });
    await row(yesterday).waitFor();
    expect(new URL(page.url()).search).toBe(`?from=${yesterday}&until=${yesterday}`);
    expect(await daysShown()).toEqual([yesterday, yesterday]);
    await expectAccessible(page);
    await page.reload();
    await row(yesterday).waitFor();
    await openFilters(page);
    expect(await period.inputValue()).toBe('yesterday');

    await period.selectOption('Today');
    await row(today).waitFor();
    expect(await row(yesterday).count()).toBe(0);
    await page.getByLabel('From').fill(yesterday);
    await page.keyboard.press('Enter');
    await row(yesterday).waitFor();
    expect(await period.locator(':checked').textContent()).toBe('Other days');
    await page.locator('input[type=date]:focus').first().waitFor();
    await page.goBack();
    await row(yesterday).waitFor({ state: 'detached' });
    await eventually(daysShown).toEqual([today, today]);
    await period.selectOption('Any time');
    await row(yesterday).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('offers periods on each page with days', async () => {
    const page = await console.open('/find');
    for (const path of [
      '/payments',
      '/invoices',
      '/audit',
      '/statements?view=payments',
      '/unmatched?view=rejected',
    ]) {
      await navigate(page, path);
      await page.getByLabel('Period').selectOption('This month');
      await page.waitForURL(`**${path}*from=${dayBefore(0).slice(0, 7)}-01&until=*`);
    }
  });

  it.each(['/payments', '/audit'])(
    'keeps the filters of %s behind a button that counts them on a phone',
    async (path) => {
      const page = await console.open(path, { viewport: PHONE });
      const button = page.locator('.list-filters-box > summary');
      const firstFilter = page.locator('.list-filters select').first();
      await page.locator('tbody tr').first().waitFor();
      expect(await button.textContent()).toBe('Filters');
      expect(await firstFilter.isVisible()).toBe(false);
      const row = await page.locator('tbody tr').first().boundingBox();
      expect(row && row.y + row.height).toBeLessThan(PHONE.height / 2);

      await button.focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.locator('.list-filters select:focus').waitFor();
      await expectAccessible(page);
      await openFilters(page); // They were closed while the window was as wide as on a desktop.
      await firstFilter.selectOption({ index: 1 });
      await page.getByText('Filters: 1 set').waitFor();
      const { search } = new URL(page.url());
      expect(search).not.toBe('');
      await page.locator('.list-filters input[type=date]').first().fill('2020-01-31');
      await page.keyboard.press('Enter');
      await page.getByText('Filters: 2 set').waitFor();
      await page.reload();
      await page.getByText('Filters: 2 set').waitFor();
      expect(await firstFilter.isVisible()).toBe(false);
      await page.goBack();
      await page.getByText('Filters: 1 set').waitFor();
      expect(new URL(page.url()).search).toBe(search);
      await page.setViewportSize({ width: 1280, height: 900 });
      await firstFilter.waitFor();
      expect(await button.count()).toBe(0);
    },
  );
});
