import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { notification } from '../support/http.ts';
import {
  clickTwice,
  expectAccessible,
  HAS_BROWSER,
  loseFirstAnswer,
  newAccount,
  newMistypedPayment,
  PHONE,
  refuseFirst,
  useConsole,
  watchFocus,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('unmatched payments', () => {
  const console = useConsole();

  async function notify(fields: Record<string, unknown>): Promise<number | null> {
    const answer = await console.call('POST', '/webhooks/payments/mobilemoney', notification(fields));
    return answer.paymentId;
  }

  const paymentNow = (id: number) => console.call('GET', `/payments/${id}`);

  /** Reverses the unmatched payments of earlier tests, so that each test has its own list. */
  async function emptyList() {
    for (const { id } of await console.call('GET', '/payments/unmatched?limit=100')) {
      await console.call('POST', `/payments/${id}/reverse`, { reason: 'The end of a test' });
    }
  }

  async function openList(options: Parameters<typeof console.open>[1] = {}): Promise<Page> {
    const page = await console.open('/unmatched', options);
    await page.locator('.queue-work:focus').waitFor();
    return page;
  }

  /** Changes the suggestions for a payment in later answers, and causes the page to read the list again. */
  async function changeSuggestions(
    page: Page,
    paymentId: number,
    change: (suggestions: object[]) => object[],
  ) {
    await page.route(/payments\/unmatched\?/, async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as { data: { id: number; suggestions: object[] }[] };
      for (const payment of answer.data)
        if (payment.id === paymentId) payment.suggestions = change(payment.suggestions);
      await route.fulfill({ response, json: answer });
    });
    await newMistypedPayment(console, '500');
  }

  /** Sends a notification whose amount is not a number. The service refuses it. */
  async function sendRejected(fields: object) {
    const refused = await fetch(`${console.origin}/api/webhooks/payments/mobilemoney`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...notification({}), ...fields }),
    });
    expect(refused.status).toBe(400);
  }

  const reference = (page: Page) => page.locator('.queue-facts dd').first();

  /** The digit of an account. Accounts of other tests can come before it, because their numbers are similar. */
  async function digitOf(page: Page, { accountNumber }: { accountNumber: string }): Promise<string> {
    const row = page.locator('.choice-row', { hasText: accountNumber });
    return (await row.locator('kbd').textContent()) ?? '';
  }

  it('are assigned with two keys, not by Enter alone, and undone with one', async () => {
    await emptyList();
    const first = await newMistypedPayment(console);
    const second = await newMistypedPayment(console, '150.50');
    const page = await openList();
    await reference(page).getByText(first.reference).waitFor();
    await page.getByText('the reference is the account number with one typing error').first().waitFor();
    await page.getByRole('button', { name: 'Assign' }).click();
    await page.getByText('Choose one first').waitFor();
    expect(await paymentNow(first.paymentId)).toMatchObject({ status: 'unmatched' });
    await expectAccessible(page);
    await page.keyboard.press(await digitOf(page, first));
    const isNext = `document.querySelector('.queue-facts dd').textContent === '${second.reference}'`;
    const hadFocus = await watchFocus(page, isNext, '.queue-work');
    await page.keyboard.press('Enter');
    expect(await hadFocus()).toBe(true);
    await page.getByText('KES 400.00 assigned to Wanjiru Kamau.').waitFor();
    await reference(page).getByText(second.reference).waitFor();
    expect(await page.locator('.queue-item').count()).toBe(1);
    expect(await paymentNow(first.paymentId)).toMatchObject({ accountId: first.accountId });
    await expectAccessible(page);
    await page.locator('.queue-work:focus').waitFor();
    await page.keyboard.press('u');
    await page.getByText('The payment is in the list again.').waitFor();
    await reference(page).getByText(first.reference).waitFor();
    expect(await paymentNow(first.paymentId)).toMatchObject({ accountId: null, status: 'unmatched' });
    expect(await page.locator('.choices :checked').count()).toBe(0);
  });

  it('are in a list that a phone opens with a button', async () => {
    await emptyList();
    const first = await newMistypedPayment(console);
    const second = await newMistypedPayment(console, '500');
    const page = await openList({ viewport: PHONE });
    await reference(page).getByText(first.reference).waitFor();
    const item = page.locator('.queue-item', { hasText: second.reference });
    expect(await item.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Show the list' }).click();
    await expectAccessible(page);
    await item.click();
    await reference(page).getByText(second.reference).waitFor();
    await page.locator('.queue-work:focus').waitFor();
    expect(await item.isVisible()).toBe(false);
  });

  it('can be taken back from their accounts for ten seconds, the last assignment first', async () => {
    await emptyList();
    const payments = [
      await newMistypedPayment(console),
      await newMistypedPayment(console, '500'),
      await newMistypedPayment(console),
    ];
    const page = await openList();
    await page.clock.install();
    for (const payment of payments) {
      await reference(page).getByText(payment.reference).waitFor();
      await page.locator('.queue-work:focus').waitFor();
      await page.keyboard.press(await digitOf(page, payment));
      await page.keyboard.press('Enter');
    }
    await page.getByText('Every payment has its account.').waitFor();
    for (const { paymentId, accountId } of payments)
      expect(await paymentNow(paymentId)).toMatchObject({ accountId, matchMethod: 'assigned' });
    for (const { reference: typed } of [...payments].reverse().slice(0, 2)) {
      await page.locator('.queue-work:focus').waitFor();
      await page.keyboard.press('u');
      await reference(page).getByText(typed).waitFor();
    }
    await page.clock.fastForward(11_000);
    await page.getByRole('button', { name: 'Undo (U)' }).waitFor({ state: 'detached' });
    await page.keyboard.press('u');
    expect(await paymentNow(payments[0]?.paymentId ?? 0)).toMatchObject({ status: 'matched' });
    expect(await paymentNow(payments[1]?.paymentId ?? 0)).toMatchObject({ status: 'unmatched' });
    await page.context().close(); // Its clock is another one.
  });

  it('can be assigned to an account that is searched by a name', async () => {
    await emptyList();
    const { id } = await newAccount(console, { firstName: 'Zawadi', lastName: 'Mwangi' });
    const paymentId = await notify({ BillRefNumber: 'PUMP', MSISDN: '254710001234' });
    const page = await openList({ viewport: PHONE });
    await page.getByText('No account fits.').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('0');
    await page.keyboard.type('zawadi');
    await page.getByText('Accounts found:').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.locator('.choices :checked:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('KES 400.00 assigned to Zawadi Mwangi.').waitFor();
    expect(await paymentNow(Number(paymentId))).toMatchObject({ accountId: id });
    await page.getByText('Every payment has its account.').waitFor();
    await expectAccessible(page);
  });

  it('are never assigned to an account of an earlier search, if Enter comes before the results', async () => {
    await emptyList();
    await newAccount(console, { firstName: 'Chebet', lastName: 'Koech' });
    const { id } = await newAccount(console, { firstName: 'Zuhura', lastName: 'Njoroge' });
    const paymentId = await notify({ BillRefNumber: 'LATE RESULTS', MSISDN: '254710009999' });
    const page = await openList();
    await page.getByText('No account fits.').waitFor();
    await page.keyboard.press('0');
    await page.keyboard.type('chebet');
    await page.locator('.choice-row', { hasText: 'Chebet Koech' }).waitFor();
    await page.route('**/api/search?*', async (route) => {
      await delay(1_000);
      await route.continue();
    });
    await page.locator('input[type=search]:focus').selectText();
    await page.keyboard.type('zuhura');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.locator('.choice-row', { hasText: 'Zuhura Njoroge' }).locator(':checked:focus').waitFor();
    expect(await paymentNow(Number(paymentId))).toMatchObject({ status: 'unmatched' });
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.keyboard.press('Enter');
    await page.getByText('KES 400.00 assigned to Zuhura Njoroge.').waitFor();
    expect(await paymentNow(Number(paymentId))).toMatchObject({ accountId: id });
  });

  it('are assigned once by two clicks, and after a lost answer with the same key', async () => {
    await emptyList();
    const payment = await newMistypedPayment(console);
    const page = await openList();
    const keys = await loseFirstAnswer(page, '**/assign');
    await page.keyboard.press(await digitOf(page, payment));
    await clickTwice(page.getByRole('button', { name: 'Assign' }));
    await page.getByText('Not confirmed yet').waitFor();
    await expectAccessible(page);
    await page.getByText('KES 400.00 assigned to Wanjiru Kamau.').waitFor();
    expect(keys.length).toBe(2);
    expect(keys[1]).toBe(keys[0]);
    const audit = await console.call(
      'GET',
      `/audit?filter[resource]=payment&filter[resourceId]=${payment.paymentId}`,
    );
    expect(audit.filter(({ action }: { action: string }) => action === 'payment.assign').length).toBe(1);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost answer.
  });

  it('keep the digit and the place of each suggested account when the list is read again', async () => {
    await emptyList();
    const { paymentId } = await newMistypedPayment(console);
    const page = await openList();
    const choice = page.locator('.choice-row').first();
    await choice.locator('.choice-side').getByText('Balance').waitFor();
    const first = await choice.locator('input').inputValue();
    const other = await newAccount(console);
    await changeSuggestions(page, paymentId, (suggestions) => [
      { ...suggestions[0], accountId: other.id, accountNumber: other.accountNumber },
      // The number of the new account may look like the typed one, too.
      ...suggestions.filter((one) => !('accountId' in one && one.accountId === other.id)),
    ]);
    const added = page.locator('.choice-row', { hasText: other.accountNumber });
    await added.waitFor();
    expect(await added.locator('kbd').textContent()).not.toBe('1');
    await page.keyboard.press('1');
    expect(await page.locator('.choices :checked:focus').inputValue()).toBe(first);
    await changeSuggestions(page, paymentId, () => []);
    await choice.getByText('No longer suggested', { exact: true }).waitFor();
    expect(await choice.locator('.choice-side').textContent()).toBe('No longer suggested');
  });

  it('can be assigned with Enter again after a refusal, and then wait for a busy service', async () => {
    await emptyList();
    const payment = await newMistypedPayment(console);
    const page = await openList();
    await refuseFirst(page, '**/assign', 1);
    const refusal = { success: false, error: { code: 'CONFLICT', message: 'Not now.' } };
    await page.route('**/assign', (route) => route.fulfill({ status: 409, json: refusal }), { times: 1 });
    await page.keyboard.press(await digitOf(page, payment));
    await page.keyboard.press('Enter');
    await page.getByText('Not now.').waitFor();
    await page.keyboard.press('Enter');
    const notice = page.locator('.notice', { hasText: 'The service is busy. Trying again…' });
    await notice.getByText('Not confirmed yet').waitFor();
    await page.getByText('KES 400.00 assigned to Wanjiru Kamau.').waitFor();
    expect(await paymentNow(payment.paymentId)).toMatchObject({ status: 'matched' });
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answers 409 and 503.
  });

  /** Opens a list after its stream of events, so that the page hears of what somebody else does. */
  async function openFollowing(path: string, options: Parameters<typeof console.open>[1] = {}) {
    const page = await console.open('/find', options);
    const stream = page.waitForResponse('**/api/events?*');
    await page.goto(`${console.origin}${path}`);
    await stream;
    await page.locator('.queue-work:focus').waitFor();
    return page;
  }

  it('stay on the page when somebody else assigns them, and the keys wait until the user goes on', async () => {
    await emptyList();
    const first = await newMistypedPayment(console);
    const second = await newMistypedPayment(console, '500');
    const email = await console.createUser('finance');
    const page = await openFollowing('/unmatched', { email, viewport: PHONE });
    await reference(page).getByText(first.reference).waitFor();
    const { accountId } = first;
    await console.call('POST', `/payments/${first.paymentId}/assign`, { accountId });
    await page.getByText('This payment of KES 400.00 has left the list').waitFor();
    await page.getByRole('link', { name: 'Wanjiru Kamau' }).waitFor();
    await page.locator('.queue-work:focus').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('1'); // Meant for the first payment.
    await page.keyboard.press('Enter');
    expect(await reference(page).count()).toBe(0);
    await page.locator('.queue-work .primary').click();
    await reference(page).getByText(second.reference).waitFor();
    expect(await page.locator('.choices :checked').count()).toBe(0);
    expect(await paymentNow(second.paymentId)).toMatchObject({ status: 'unmatched' });
    await page.keyboard.press(await digitOf(page, second));
    await page.keyboard.press('Enter');
    await page.getByText('KES 500.00 assigned to Wanjiru Kamau.').waitFor();
  });

  it('stay on the page when somebody else assigns them, also while a name is typed into the search', async () => {
    await emptyList();
    const first = await newMistypedPayment(console);
    await newMistypedPayment(console);
    const page = await openFollowing('/unmatched');
    await page.keyboard.press('0');
    await page.keyboard.type('wa');
    await console.call('POST', `/payments/${first.paymentId}/reverse`, { reason: 'The payer asked for it' });
    await page.getByText('It was reversed.').waitFor();
    await page.keyboard.type('njiru p');
    await page.getByText('It was reversed.').waitFor();
    expect(await reference(page).count()).toBe(0);
  });

  it('say that somebody else was faster, if the service refuses an assignment', async () => {
    await emptyList();
    const first = await newMistypedPayment(console);
    const second = await newMistypedPayment(console);
    const other = await newAccount(console, { firstName: 'Zawadi', lastName: 'Mwangi' });
    const page = await openFollowing('/unmatched');
    await page.route('**/assign', async (route) => {
      await console.call('POST', `/payments/${first.paymentId}/assign`, { accountId: other.id });
      await page.locator('.queue-item', { hasText: first.reference }).waitFor({ state: 'detached' });
      await route.continue();
    });
    await page.keyboard.press(await digitOf(page, first));
    await page.keyboard.press('Enter');
    await page.getByText('has left the list').waitFor();
    await page.getByRole('link', { name: 'Zawadi Mwangi' }).waitFor();
    await page.keyboard.press('n');
    await reference(page).getByText(second.reference).waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('come back to the list when somebody takes an assignment back, and accept keys also after a click on the title', async () => {
    await emptyList();
    const payment = await newMistypedPayment(console);
    const page = await openFollowing('/unmatched');
    await page.keyboard.press(await digitOf(page, payment));
    await page.keyboard.press('Enter');
    await page.getByText('Every payment has its account.').waitFor();
    await console.call('POST', `/payments/${payment.paymentId}/unassign`, { reason: 'Wrong account' });
    await reference(page).getByText(payment.reference).waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press(await digitOf(page, payment));
    await page.locator('.choices :checked').waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('Enter');
    await page.getByText('KES 400.00 assigned to Wanjiru Kamau.').waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('u');
    await reference(page).getByText(payment.reference).waitFor();
  });

  it('stay on the page when somebody else resolves their conflict', async () => {
    const { id: accountId, accountNumber } = await newAccount(console);
    for (const transactionRef of ['GONE1CONFLICT', 'GONE2CONFLICT']) {
      const body = { accountId, paymentMethodId: 1, transactionRef, amount: 40 };
      await console.call('POST', '/payments', body);
      await notify({ TransID: transactionRef, BillRefNumber: accountNumber, TransAmount: '400.00' });
    }
    const page = await openFollowing('/unmatched?view=conflicts');
    await page.locator('.choices').waitFor();
    const [first] = await console.call('GET', '/notifications?filter[transactionRef]=GONE1CONFLICT');
    const body = { paymentId: null, reason: 'Another transaction' };
    await console.call('POST', `/notifications/${first.id}/resolve`, body);
    await page.getByText('This conflict was resolved elsewhere').waitFor();
    await page.keyboard.press('2');
    await page.keyboard.press('Enter');
    await page.keyboard.press('n');
    await page.getByText('GONE2CONFLICT', { exact: true }).first().waitFor();
    await page.locator('.choices').waitFor();
    expect(await page.locator('.choices :checked').count()).toBe(0);
    await page.keyboard.press('2');
    await page.keyboard.press('Enter');
    await page.getByText('Conflict resolved.').waitFor();
  });

  it('have a tab of conflicts with manual payments, which staff resolve', async () => {
    const right = await newAccount(console);
    const wrong = await newAccount(console);
    const transactionRef = 'CONFLICT';
    const body = { paymentMethodId: 1, transactionRef };
    const manual = await console.call('POST', '/payments', { ...body, accountId: wrong.id, amount: 40 });
    await notify({ TransID: transactionRef, BillRefNumber: right.accountNumber, TransAmount: '400.00' });
    const page = await console.open('/unmatched?view=conflicts', { viewport: PHONE });
    await page.locator('.queue-work:focus').waitFor();
    await page.getByText('The provider reports another amount').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('2');
    await page.getByText('Other manual payments of this transaction will be reversed: 1.').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByText('Conflict resolved.').waitFor();
    await page.getByText('No notification contradicts a manual payment.').waitFor();
    expect(await paymentNow(manual.id)).toMatchObject({ status: 'reversed' });
    expect(await console.call('GET', `/accounts/${right.id}`)).toMatchObject({ paid: 400 });
  });

  it('have a choice for a manual payment whose reference only looks the same: both are real', async () => {
    const { id, accountNumber } = await newAccount(console);
    const body = { accountId: id, amount: 400, paymentMethodId: 1, transactionRef: 'SIMILARO' };
    const manual = await console.call('POST', '/payments', { ...body, paymentDate: '2026-11-01' });
    await notify({ TransID: 'SIMILAR0', BillRefNumber: accountNumber, TransAmount: '400.00' });
    const page = await console.open('/unmatched?view=conflicts');
    await page.locator('.queue-work:focus').waitFor();
    await page.getByText('SIMILARO', { exact: true }).waitFor();
    await page.keyboard.press('3');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByText('Conflict resolved.').waitFor();
    expect(await paymentNow(manual.id)).toMatchObject({ status: 'matched' });
    expect(await console.call('GET', `/accounts/${id}`)).toMatchObject({ paid: 800 });
  });

  it('have a tab of rejected notifications, with what the provider sent', async () => {
    await sendRejected({ TransAmount: 'much' });
    const page = await console.open('/unmatched');
    await page.getByRole('link', { name: 'Rejected' }).click();
    await page.locator('.raw').getByText('"TransAmount": "much"').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Show', { exact: true }).selectOption('Waiting to be tried again');
    await page.getByText('There are no notifications of this kind.').waitFor();
    expect(page.url()).toContain('view=rejected&kind=pending');
    await page.goBack();
    await page.locator('.raw').waitFor();
    await page.getByLabel('Until').fill('2020-01-31');
    await page.keyboard.press('Enter');
    await page.getByText('There are no notifications of this kind.').waitFor();
    expect(page.url()).toContain('view=rejected&until=2020-01-31');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.locator('.raw').waitFor();
    expect(page.url()).toMatch(/\?view=rejected$/);
  });

  it('have a tab of rejected notifications that ignores unknown kinds in the URL', async () => {
    const page = await console.open('/find');
    for (const kind of ['constructor', 'rejected', 'other']) {
      const asked = page.waitForRequest('**/api/notifications?*');
      await page.goto(`${console.origin}/unmatched?view=rejected&kind=${kind}`);
      expect(new URL((await asked).url()).searchParams.get('filter[status]'), kind).toBe('rejected');
      await page.locator('.list-filters').waitFor();
      expect(await page.getByLabel('Show', { exact: true }).inputValue(), kind).toBe('');
      expect(await page.getByRole('button', { name: 'Clear filters' }).count(), kind).toBe(0);
    }
  });

  it('have a tab of rejected notifications that shows a whole long body, with the focus on it', async () => {
    await sendRejected({ TransAmount: 'more', Note: 'x'.repeat(3_000) });
    const page = await console.open('/unmatched?view=rejected');
    await page.locator('.queue-work:focus').waitFor(); // After this, the page does not move the focus.
    await page.route(/\/api\/notifications\/\d+$/, (route) => route.fulfill({ status: 500 }), { times: 1 });
    await page.getByRole('button', { name: 'Show all' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Try again' }).click();
    console.complaints.splice(0); // The browser reports the answer 500.
    await page.locator('.raw pre:focus', { hasText: 'x'.repeat(3_000) }).waitFor();
  });

  it('stay on the page until the answer arrives, if the list is read again before', async () => {
    await emptyList();
    const payment = await newMistypedPayment(console);
    const page = await openList();
    let othersShown: boolean | undefined;
    let isKept: boolean | undefined;
    await page.route('**/assign', async (route) => {
      const response = await route.fetch();
      await page.locator('.queue-item').waitFor({ state: 'detached' });
      othersShown = await page.getByText('has left the list').isVisible();
      isKept = await reference(page).isVisible();
      await route.fulfill({ response });
    });
    await page.keyboard.press(await digitOf(page, payment));
    await page.keyboard.press('Enter');
    await page.getByText('KES 400.00 assigned to Wanjiru Kamau.').waitFor();
    expect({ othersShown, isKept }).toEqual({ othersShown: false, isKept: true });
    await page.getByText('Every payment has its account.').waitFor();
  });

  it('are replaced by the next payment when the service answers, and can be undone before the list is read again', async () => {
    await emptyList();
    const earlier = await newMistypedPayment(console);
    const later = await newMistypedPayment(console);
    const page = await openList();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/payments\/unmatched\?/, async (route) => {
      await released;
      await route.continue();
    });
    for (const { reference: typed } of [earlier, later]) {
      await reference(page).getByText(typed).waitFor();
      await page.locator('.queue-work:focus').waitFor();
      await page.keyboard.press('1');
      await page.keyboard.press('Enter');
    }
    await page.getByText('Every payment has its account.').waitFor();
    await page.getByRole('button', { name: 'Undo (U)' }).waitFor();
    release();
    await page.locator('.queue-work:focus').waitFor();
    await page.keyboard.press('u');
    await reference(page).getByText(later.reference).waitFor();
    expect(await paymentNow(earlier.paymentId)).toMatchObject({ status: 'matched' });
    expect(await paymentNow(later.paymentId)).toMatchObject({ status: 'unmatched' });
  });
});
