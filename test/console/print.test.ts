import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { DESKTOP, dayBefore, HAS_BROWSER, navigate, newAccount, useConsole } from './console.ts';

/** The width of A4 without its margins, in CSS pixels. */
const PAPER = { width: 703, height: 1000 };

const all = (selector: string) => `[...document.querySelectorAll(${JSON.stringify(selector)})]`;

const isVisible = (page: Page, selector: string) =>
  page.evaluate<boolean>(`${all(selector)}.some((one) => one.checkVisibility())`);

/** The texts of the elements whose right end is outside the paper. */
const cutOff = (page: Page, selector: string) =>
  page.evaluate<string[]>(`${all(selector)}.filter((one) =>
    one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1
  ).map(({ textContent }) => textContent)`);

const PAGES = [
  ...['/today', '/accounts', '/accounts/1', '/customers/1', '/payments', '/portfolio', '/portfolio/late'],
  ...['/commissions', '/unmatched', '/products', '/audit'],
];

describe.skipIf(!HAS_BROWSER)('a printed page', () => {
  const console = useConsole();

  it('has no menu and no button, is light, and has every column', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(40) });
    await console.call('POST', '/payments', { accountId: id, amount: 2_400, paymentMethodId: 2 });
    const page = await console.open('/find');
    await page.evaluate("localStorage.setItem('theme', 'dark')");
    await page.reload();
    await page.locator('h1').waitFor();
    for (const path of PAGES) {
      await page.emulateMedia({ media: null, colorScheme: 'dark' });
      await page.setViewportSize(DESKTOP);
      await navigate(page, path);
      await page.locator('h1').waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      const columns = await page.locator('thead th:visible').count();
      await page.setViewportSize(PAPER);
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      for (const control of ['.top', '.side', '.button', '.icon-button', '.menu', '.find-input', '.skip'])
        expect(await isVisible(page, control), `${control} of ${path}`).toBe(false);
      expect(await page.locator('thead th:visible').count(), path).toBe(columns);
      expect(await cutOff(page, 'th, td, svg, .stat, .panel, .bars li'), path).toEqual([]);
      expect(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'), path).toBe(
        'rgb(255, 255, 255)',
      );
      expect(await page.evaluate('getComputedStyle(document.body).color'), path).toBe('rgb(23, 29, 39)');
    }
  });

  it('marks paid and overdue instalments without colours', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(40) });
    await console.call('POST', '/payments', { accountId: id, amount: 2_500, paymentMethodId: 2 });
    const page = await console.open(`/accounts/${id}`);
    await page.locator('.timeline .cell.paid').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    const marks: string[] = [];
    for (const state of ['paid', 'overdue', 'upcoming'])
      marks.push(
        await page.evaluate<string>(`(() => {
          const cell = document.querySelector('.timeline .cell.${state}');
          const { content, borderBottomWidth } = getComputedStyle(cell, '::after');
          return content + borderBottomWidth;
        })()`),
      );
    expect(new Set(marks).size).toBe(marks.length);
  });

  it('has all instalments, also those of years that are closed on the screen', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    await page.locator('.schedule button').first().waitFor();
    const badges = page.locator('.schedule .badge:visible');
    expect(await badges.count()).toBe(0);
    await page.emulateMedia({ media: 'print' });
    expect(await badges.count()).toBe(53);
  });

  it('of an account has the changes of its plan, and no control', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(40) });
    for (const paymentDate of [9, 8, 7, 6].map(dayBefore))
      await console.call('POST', '/payments', {
        accountId: id,
        amount: 600,
        paymentMethodId: 2,
        paymentDate,
      });
    await console.call('POST', `/accounts/${id}/plan-changes`, {
      ...{
        kind: 'discount',
        amount: 500,
        reason: 'The lamp came late',
        confirm: { version: 0, paid: 2_400 },
      },
    });
    const page = await console.open(`/accounts/${id}`);
    await page.getByRole('button', { name: 'Show all 4' }).waitFor();
    await page.emulateMedia({ media: 'print' });
    const changes = page.getByRole('table', { name: 'Changes of the plan' });
    for (const text of ['Discount', 'The lamp came late', 'amina@example.com', '-500.00'])
      await changes.getByText(text).waitFor();
    // The years of the schedule are headings of the print.
    expect(await page.locator('button:visible:not(.schedule button)').count()).toBe(0);
  });

  it('shows the filters that are set', async () => {
    await newAccount(console);
    const page = await console.open('/accounts?status=active');
    await page.locator('tbody tr').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.list-filter:visible').count()).toBe(1);
  });
});
