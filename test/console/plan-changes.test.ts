import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
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

describe.skipIf(!HAS_BROWSER)('a change of a plan', () => {
  /** The balance of an account without payments is above the limit, so that its deferral needs approval. */
  const console = useConsole({ APPROVAL_LIMIT: '21000', PLAN_CHANGE_REASONS: 'illness,bad_harvest' });

  const pay = (accountId: number, amount: number) =>
    console.call('POST', '/payments', { accountId, amount, paymentMethodId: 2 });
  const today = async (): Promise<string> => (await console.call('GET', '/settings')).today;
  const changesOf = (accountId: number) => console.call('GET', `/accounts/${accountId}/plan-changes`);

  /** An account of the weekly plan, of which four instalments of 400 are due, and two are paid. */
  async function newLateAccount(): Promise<number> {
    const { id } = await newAccount(console, { activationDate: dayBefore(30) });
    await pay(id, 2800);
    return id;
  }

  async function openChange(page: Page, names = { more: 'More actions', change: 'Change plan' }) {
    await page.getByRole('button', { name: names.more }).click();
    await page.locator('.menu').getByRole('button', { name: names.change }).click();
    await page.locator('dialog select[name=kind]:focus').waitFor();
  }

  const field = (page: Page, name: string) => page.locator(`dialog [name="${name}"]`);
  const show = (page: Page) =>
    page.locator('dialog').getByRole('button', { name: 'Show the effect' }).click();
  const confirm = (page: Page, reason: string) =>
    field(page, 'reason')
      .fill(reason)
      .then(() => page.locator('dialog').getByRole('button', { name: 'Change the plan' }).click());

  /** The values of a row of the effect, before and after. */
  async function effectOf(page: Page, name: string): Promise<string[]> {
    const row = page.locator('.effect tbody tr', { has: page.getByRole('rowheader', { name, exact: true }) });
    const cells = await row.locator('td').all();
    return Promise.all(cells.map(textOf));
  }

  it('defers the instalments of a late customer after its effect was shown, and is in the history and the list', async () => {
    const id = await newLateAccount();
    const page = await console.open(`/accounts/${id}`, { email: await console.createUser('finance') });
    await statValue(page, 'Arrears').getByText('KES 800.00').waitFor();
    await openChange(page);
    expect(await field(page, 'from').inputValue()).toBe(dayBefore(-5));
    await field(page, 'periods').fill('2');
    await page.getByLabel('Also move what is overdue (KES 800.00) to the end').check();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Total')).toEqual(['22,800.00', '22,800.00']);
    expect(await effectOf(page, 'Arrears')).toEqual(['800.00', '0.00']);
    expect(await effectOf(page, 'Days past due')).toEqual(['9', '0']);
    const [now, afterwards] = await effectOf(page, 'Instalments');
    expect(now).toBe(`52 × 400.00${shownDate(dayBefore(23))} – ${shownDate(dayBefore(30 - 52 * 7))}`);
    expect(afterwards).toMatch(/^2 × 400\.00.*50 × 400\.00/);
    await page.getByText('The account then counts as restructured.').waitFor();
    await expectAccessible(page);
    expect(await changesOf(id)).toEqual([]);
    await field(page, 'reasonCode').selectOption({ label: 'Bad harvest' });
    await confirm(page, 'Lost the first harvest');
    await page.getByText('The plan was changed.').waitFor();
    await statValue(page, 'Arrears').getByText('KES 0.00').waitFor();
    await page.locator('.page-sub .badge', { hasText: 'Restructured' }).waitFor();
    await page.locator('.page-sub').getByText('Instalments deferred · ').waitFor();
    await page.locator('.facts').getByText('52 × KES 400.00, weekly').waitFor();
    const moved = `Instalments moved: 48, the first from ${shownDate(dayBefore(-5))} to ${shownDate(dayBefore(-19))}`;
    const entry = page.locator('.history li', { hasText: 'Lost the first harvest' });
    await entry.getByText('Plan changed').waitFor();
    await entry.getByText('Instalments deferred').waitFor();
    await entry.getByText(`${moved} · Overdue and moved: KES 800.00`).waitFor();
    await entry.getByText('finance').waitFor();
    await page.getByRole('button', { name: 'Explain the balance' }).click();
    await page.getByText('Plan changed · Lost the first harvest').waitFor();
    await expectAccessible(page);
    expect(await changesOf(id)).toMatchObject([
      { kind: 'deferral', reason: 'Lost the first harvest', reasonCode: 'bad_harvest', arrearsMoved: 800 },
    ]);

    await page.getByRole('link', { name: 'Changed plans' }).click();
    const row = page.locator('tbody tr', { hasText: 'Lost the first harvest' });
    await row.getByText('Instalments deferred').waitFor();
    await row.getByText(moved).waitFor();
    await row
      .getByText((await console.call('GET', `/accounts/${id}?expand=customer`)).customer.name)
      .waitFor();
    await expectAccessible(page);
    await page.getByLabel('Change', { exact: true }).selectOption({ label: 'Discount' });
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('Change', { exact: true }).selectOption({ index: 0 });
    await row.getByRole('link').click();
    await page.locator('.page-sub').getByText('Instalments deferred · ').waitFor();
    await page.goto(`${console.origin}/accounts`);
    const account = page.locator('tbody tr', { has: page.locator(`a[href$="/accounts/${id}"]`) });
    await account.locator('.badge', { hasText: 'Restructured' }).waitFor();
    await account.getByText(`deferred ${shownDate(await today())}`).waitFor();
    await expectAccessible(page);
  });

  it('gives a discount and undoes it, in Swahili on a phone, and keeps what was typed when the user goes back', async () => {
    const id = await newLateAccount();
    const page = await console.open(`/accounts/${id}`, { locale: 'sw-KE', viewport: PHONE });
    const names = { more: 'Vitendo zaidi', change: 'Badilisha mpango' };
    const dialog = page.locator('dialog');
    await openChange(page, names);
    await page.keyboard.press('ArrowDown'); // The next kind.
    await dialog.getByText('Awamu za mwisho zinapungua.', { exact: true }).waitFor();
    await page.keyboard.press('Tab');
    await page.locator('dialog [name=amount]:focus').waitFor();
    await page.keyboard.type('99999');
    await page.keyboard.press('Enter');
    await page.locator('dialog [name=amount][aria-invalid=true]:focus').waitFor();
    await dialog.getByText('Isizidi 20,000').waitFor();
    await expectAccessible(page);
    await field(page, 'amount').fill('600');
    await page.keyboard.press('Enter');
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Jumla')).toEqual(['22,800.00', '22,200.00']);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Rudi' }).press('Enter');
    await page.locator('dialog [name=kind]:focus').waitFor();
    expect(await field(page, 'amount').inputValue()).toBe('600');
    await field(page, 'amount').fill('500');
    await page.keyboard.press('Enter');
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Jumla')).toEqual(['22,800.00', '22,300.00']);
    await dialog.locator('.form-buttons .primary:visible').click();
    await page.locator('dialog [name=reason][aria-invalid=true]:focus').fill('Taa ilichelewa');
    await dialog.locator('.form-buttons .primary:visible').click();
    await page.getByText('Mpango umebadilishwa.').waitFor();
    await dialog.waitFor({ state: 'detached' });

    await openChange(page, names);
    await field(page, 'kind').selectOption('undo');
    await dialog.locator('.form-buttons .primary:visible').click();
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Jumla')).toEqual(['22,300.00', '22,800.00']);
    await field(page, 'reason').fill('Makosa');
    await dialog.locator('.form-buttons .primary:visible').click();
    await dialog.waitFor({ state: 'detached' });
    const undone = page.locator('.history li', { hasText: 'Badiliko limetenguliwa' });
    await undone.getByText(/^Punguzo, /).waitFor();
    await page.getByText(/^Malipo ya awali 2,000 \+ awamu 4 za 400/).waitFor();
    await page.goto(`${console.origin}/plan-changes`);
    await page.locator('tbody tr', { hasText: 'Taa ilichelewa' }).getByText('Limetenguliwa').waitFor();
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('shows what has changed and the new effect if another tab was faster, and changes nothing before it is confirmed again', async () => {
    const id = await newLateAccount();
    const [first, page] = [await console.open(`/accounts/${id}`), await console.open(`/accounts/${id}`)];
    for (const tab of [page, first]) {
      await openChange(tab);
      await field(tab, 'kind').selectOption('discount');
      await field(tab, 'amount').fill('500');
      await show(tab);
      await tab.locator('.effect-box:focus').waitFor();
    }
    await pay(id, 400);
    await confirm(first, 'Two tabs');
    const notice = page.locator('dialog .notice');
    const noticeOfFirst = first.locator('dialog .notice', { hasText: 'The account has changed meanwhile.' });
    await noticeOfFirst.getByText('Arrears: 800.00 → 400.00').waitFor();
    await expectAccessible(first);
    expect(await changesOf(id)).toEqual([]);
    await first.locator('dialog').getByRole('button', { name: 'Change the plan' }).click();
    await first.locator('dialog').waitFor({ state: 'detached' });

    await confirm(page, 'Two tabs');
    await notice.getByText('Total: 22,800.00 → 22,300.00').waitFor();
    expect(await effectOf(page, 'Total')).toEqual(['22,300.00', '21,800.00']);
    expect(await changesOf(id)).toHaveLength(1);
    await page.locator('dialog').getByRole('button', { name: 'Change the plan' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await changesOf(id)).toHaveLength(2);
    for (const tab of [first, page]) await tab.context().close();
    console.complaints.splice(0); // The browser reports the answers 409.
  });

  it('is sent for approval above the limit, and its approver sees the change and its present effect', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    await openChange(page);
    await field(page, 'step').selectOption({ label: 'By a number of days' });
    await field(page, 'days').fill('10');
    await show(page);
    await page.getByText('Another user has to approve this change.').waitFor();
    await expectAccessible(page);
    await field(page, 'reason').fill('Moved house');
    await page.locator('dialog').getByRole('button', { name: 'Send for approval' }).click();
    await page.getByText('Sent for approval. Another user has to approve it.').waitFor();
    await page.locator('.notice', { hasText: 'Waits for approval' }).getByText('Change plan').waitFor();
    expect(await changesOf(id)).toEqual([]);

    const [{ id: requestId }] = await console.call('GET', `/approvals?filter[accountId]=${id}`);
    const path = `/approvals?open=${requestId}`;
    for (const [locale, names] of [
      ['sw-KE', { kind: 'Ahirisha awamu', days: 'Idadi ya siku', last: 'Awamu ya mwisho' }],
      ['en-KE', { kind: 'Defer instalments', days: 'Number of days', last: 'Last instalment' }],
    ] as const) {
      const email = await console.createUser('manager');
      const other = await console.open(path, { locale, email, viewport: PHONE });
      const facts = other.locator('dialog .facts');
      await facts.getByText(names.kind).waitFor();
      expect(await textOf(facts.locator('div', { hasText: names.days }))).toBe(`${names.days}10`);
      await other.locator('.effect').waitFor();
      const [before, after] = await effectOf(other, names.last);
      expect(after).not.toBe(before);
      await expectAccessible(other);
      if (locale === 'sw-KE') continue;
      expect(
        await textOf(other.locator('tbody tr', { has: other.locator(`[href$="open=${requestId}"]`) })),
      ).toContain(names.kind);
      await other.locator('dialog').getByRole('button', { name: 'Approve' }).click();
      await other.getByText('Approved and done').waitFor();
      await page.goto(`${console.origin}${path}`);
      await page.locator('dialog').getByText('Instalments moved: 52').waitFor();
      const made = await effectOf(page, names.last);
      expect(made[1]).not.toBe(made[0]);
      expect(await effectOf(page, 'Total')).toEqual(['22,800.00', '22,800.00']);
      await expectAccessible(page);
    }
    expect(await changesOf(id)).toMatchObject([{ kind: 'deferral', approvalId: requestId }]);
  });

  it('revises the remaining instalments, raises the price with a consent, and corrects the sale', async () => {
    const id = await newLateAccount();
    const page = await console.open(`/accounts/${id}`);
    await openChange(page);
    await field(page, 'kind').selectOption('revision');
    await field(page, 'firstDueDate').fill(dayBefore(-30));
    await field(page, 'instalmentCount').fill('10');
    await field(page, 'frequency').selectOption('monthly');
    await page.getByLabel('Less often, or not in all months').check();
    await page.locator('dialog').getByLabel('May').check();
    await page.getByLabel('Also spread what is overdue (KES 800.00)').check();
    await expectAccessible(page);
    await show(page);
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Arrears')).toEqual(['800.00', '0.00']);
    expect((await effectOf(page, 'Instalments'))[1]).toContain('× 2,000.00');
    await confirm(page, 'Paid monthly from now on');
    await page.locator('dialog').waitFor({ state: 'detached' });

    await openChange(page);
    await field(page, 'kind').selectOption('price_rise');
    await field(page, 'amount').fill('1000');
    await field(page, 'consent').fill('Agreed by phone today');
    await page.getByRole('button', { name: 'Add a date' }).click();
    await field(page, 'dues[0].date').fill(dayBefore(-800));
    await field(page, 'dues[0].amount').fill('900');
    await show(page);
    await page.locator('dialog .field-error, dialog .notice').first().waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Remove instalment 1' }).click();
    await show(page);
    await page.locator('.effect-box:focus').waitFor();
    expect(await effectOf(page, 'Total')).toEqual(['22,800.00', '23,800.00']);
    await confirm(page, 'A second lamp');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await eventually(() => changesOf(id)).toMatchObject([
      { kind: 'price_rise', consent: 'Agreed by phone today' },
      { kind: 'revision' },
    ]);

    const { id: other } = await newAccount(console);
    await pay(other, 2000);
    await page.goto(`${console.origin}/accounts/${other}`);
    await openChange(page);
    await field(page, 'kind').selectOption('sale_correction');
    await field(page, 'payplanId').selectOption({ label: 'Daily, one year (KES 23,400.00)' });
    await show(page);
    await page.locator('.effect-box:focus').waitFor();
    await confirm(page, 'Wrong plan chosen');
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await changesOf(other)).toMatchObject([{ kind: 'sale_correction', priceChange: 600 }]);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('is offered only to users who may do it', async () => {
    const id = await newLateAccount();
    const page = await console.open(`/accounts/${id}`, { email: await console.createUser('agent') });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByText('Statement with every payment (PDF)').waitFor();
    expect(await page.locator('.menu').getByText('Change plan').count()).toBe(0);
  });
});

/** As the console shows a date in English. */
function shownDate(date: string): string {
  const parts = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat('en-KE', parts).format(new Date(date));
}
