import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  statValue,
  useConsole,
} from './console.ts';

/** Weeks since the activation of each account. Only the deposit is paid. The first instalment is due after a week. */
const WEEKS = [3, 3, 7, 12];
/** The API returns at most 100 rows at a time. */
const MORE_THAN_A_PAGE = 101;

describe.skipIf(!HAS_BROWSER)('the portfolio', () => {
  const console = useConsole();

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    for (const [index, weeks] of WEEKS.entries()) {
      const { id } = await newAccount(console, {
        firstName: index === 0 ? '=Formula' : `Late${index}`,
        activationDate: dayBefore(weeks * 7),
      });
      const paymentDate = dayBefore(weeks * 7);
      await console.call('POST', '/payments', {
        accountId: id,
        amount: 2000,
        paymentMethodId: 2,
        paymentDate,
      });
    }
  });

  const summary = () => console.call('GET', '/reports/accounts/summary');
  const accountsOf = (url: string) => console.call('GET', `${url.replace('/api', '')}&limit=100`);

  async function openPortfolio(options: Parameters<typeof console.open>[1] = {}): Promise<Page> {
    const page = await console.open('/portfolio', options);
    await page.locator('a.bucket').first().waitFor();
    return page;
  }

  it('shows the buckets and the rates of twelve months', async () => {
    const page = await openPortfolio({ viewport: PHONE });
    const { par30, daysPastDue } = await summary();
    expect(par30.ratio).toBeGreaterThan(0);
    expect(await statValue(page, 'PAR 30').textContent()).toBe(percent(par30.ratio));
    const { par60, par90, byOriginalTerms, withRestructured } = await summary();
    const atRisk = page.locator('section', { has: page.getByRole('heading', { name: 'Portfolio at risk' }) });
    expect(await atRisk.locator('td.number').allTextContents()).toEqual(
      [{ par30, par60, par90 }, byOriginalTerms, withRestructured].flatMap((row) =>
        [row.par30, row.par60, row.par90].map(({ ratio }) => percent(ratio)),
      ),
    );
    const counts = await page.locator('.bucket-count').allTextContents();
    expect(counts.map(Number.parseFloat)).toEqual(daysPastDue.map(({ count }: { count: number }) => count));
    await page.getByText('Show as a table').click();
    await page.locator('.trend tbody tr').nth(11).waitFor();
    expect(await page.locator('.trend tbody tr').count()).toBe(12);
    await expectAccessible(page);
  });

  it('counts the accounts of the products as its figures do', async () => {
    const { id: accountId } = await newAccount(console);
    await console.call('POST', '/payments', { accountId, amount: 22_800, paymentMethodId: 2 });
    const page = await openPortfolio({ viewport: PHONE });
    const { daysPastDue } = await summary();
    const accounts = daysPastDue.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
    await page.locator('.stat', { hasText: 'Outstanding' }).getByText(`${accounts} accounts`).waitFor();
    const products = page.locator('.panel', { hasText: 'Products' });
    const counts = await products.locator('td[data-label=Accounts]').allTextContents();
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(accounts);
    await products.getByText('Not counted:').waitFor();
    await expectAccessible(page);
  });

  it('shows the figures of each month to a user of the keyboard', async () => {
    const page = await openPortfolio();
    await page.getByText('Show as a table').click();
    await page.locator('.trend tbody tr').nth(11).waitFor();
    const slider = page.getByRole('slider', { name: 'Month' });
    await slider.focus();
    const shown = () => page.locator('.trend-month').textContent();
    const months = await page.locator('.trend tbody td.title').allTextContents();
    expect(await shown()).toBe(months[0]);
    await page.keyboard.press('ArrowLeft');
    expect(await shown()).toBe(months[1]);
    expect(await slider.getAttribute('aria-valuetext')).toContain(`${months[1]}: Collection rate`);
    await page.keyboard.press('Home');
    expect(await shown()).toBe(months[11]);
  });

  it('opens from each bar the accounts of its range', async () => {
    const page = await openPortfolio({ viewport: PHONE });
    const { daysPastDue } = await summary();
    const late = daysPastDue.filter(
      ({ from, count }: { from: number; count: number }) => from > 0 && count > 0,
    );
    expect(late.length).toBe(3);
    for (const [index, bucket] of late.entries()) {
      await page.locator('a.bucket').nth(index).click();
      const rows = page.locator('.table tbody tr');
      const accounts = await accountsOf(bucket.accountsUrl);
      await eventually(() => rows.count()).toBe(accounts.length);
      for (const account of accounts) {
        const row = rows.filter({ hasText: account.accountNumber });
        const text = (await row.textContent())?.replaceAll('\u00a0', ' ');
        expect(text).toContain(`KES ${account.arrears.toLocaleString('en')}.00`);
        expect(await row.locator('a[href^="tel:+254"]').count()).toBe(1);
      }
      if (index === 0) await expectAccessible(page);
      await page.goBack();
      await page.locator('a.bucket').first().waitFor();
    }
  });

  it('keeps range and sort of the call list in the URL, and opens an account', async () => {
    const page = await openPortfolio();
    await page.locator('a.bucket').first().click();
    await page.getByRole('button', { name: 'Days past due' }).click();
    await page.waitForURL(/from=1&to=30.*sort=daysPastDue/);
    const shared = await console.open(page.url().slice(console.origin.length));
    await shared.locator('.tabs [aria-current]', { hasText: '1–30 days' }).waitFor();
    await shared.getByRole('link', { name: 'All late' }).click();
    await shared.locator('.table tbody tr').nth(3).waitFor();
    await shared.locator('.row-link').first().click();
    await shared.getByRole('heading', { name: 'Instalments' }).waitFor();
  });

  it('is not offered to agents', async () => {
    const page = await console.open('/portfolio', { email: await console.createUser('agent') });
    await page.getByText('Your role may not open this page').waitFor();
    expect(await page.getByRole('link', { name: 'Portfolio' }).count()).toBe(0);
  });
});

// On its own database, because the accounts would be late in the other tests too.
describe.skipIf(!HAS_BROWSER)('the call list', () => {
  const console = useConsole();

  it('is downloaded with all statuses that the page shows, if no status is chosen', async () => {
    const { id, accountNumber } = await newAccount(console, { activationDate: dayBefore(21) });
    const changes = [
      { status: 'defaulted', reason: 'Pays nothing' },
      { status: 'repossessed', reason: 'Taken back' },
    ];
    for (const change of changes) await console.call('PUT', `/accounts/${id}`, change);
    const page = await console.open('/portfolio/late');
    await page.locator('tbody tr', { hasText: accountNumber }).waitFor();
    expect(await fileOf(page, 'Download (CSV)')).toContain(`"${accountNumber}"`);
    await page.goto(`${console.origin}/portfolio/late?status=active`);
    await page.getByText('No account is this many days late.').waitFor();
    expect(await fileOf(page, 'Download (CSV)')).not.toContain(accountNumber);
  });

  it('is downloaded as a whole, and so are payments and refunds', async () => {
    const { customerId } = await newAccount(console, {
      firstName: '=Formula',
      activationDate: dayBefore(21),
    });
    const items = Array.from({ length: MORE_THAN_A_PAGE }, () => {
      return { customerId, productId: 1, payplanId: 2, activationDate: dayBefore(21) };
    });
    await console.call('POST', '/accounts/bulk', { items });
    const page = await console.open('/portfolio/late?status=active');
    await page.locator('.table tbody tr').first().waitFor();
    const list = await fileOf(page, 'Download (CSV)');
    expect(list.split('\r\n').length).toBe(1 + MORE_THAN_A_PAGE + 2); // Its head, and the end of the last line.
    expect(list.split('\r\n')[0]).toBe(`\ufeff${HEAD}`);
    expect(list).toContain("'=Formula Kamau");
    const { phone } = await console.call('GET', `/customers/${customerId}`);
    expect(list.split(`,"'${phone}",`)).toHaveLength(1 + MORE_THAN_A_PAGE + 1);
    await page.getByRole('link', { name: 'Portfolio' }).first().click();
    await page.locator('a.bucket').first().waitFor();
    expect(await fileOf(page, /^Payments of/)).toContain('id,paymentDate,accountId');
    expect(await fileOf(page, /^Refunds of/)).toContain('id,valueDate,accountId');
  });
});

/** The file has the names of the API, as the files of all lists. */
const HEAD =
  'id,accountNumber,customerId,productId,payplanId,employeeId,activationDate,status,reason,writtenOffDate,currency,deposit,instalmentAmount,instalmentCount,' +
  'frequency,hasEqualInstalments,rhythm.frequency,rhythm.every,graceDays,planVersion,restructured.kind,restructured.date,originalTerms.nextDueDate,originalTerms.daysPastDue,total,paid,balance,credit,arrears,paymentState,daysPastDue,paidUntil,nextDueDate,nextDueAmount,externalId,metadata,createdAt,updatedAt,' +
  'customer.id,customer.name,customer.phone,customer.secondPhone,assignee.userId,assignee.officer,lastCall.id,lastCall.result,lastCall.userId,lastCall.officer,lastCall.createdAt,' +
  'hiddenUntil,hasDispute,hasWrongNumber,promise.id,promise.amount,promise.date,lease.userId,lease.officer,lease.isOwn,lease.expiresAt';

async function fileOf(page: Page, name: string | RegExp): Promise<string> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name }).click(),
  ]);
  return readFile(await file.path(), 'utf8');
}

function percent(ratio: number): string {
  return new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 }).format(ratio);
}
