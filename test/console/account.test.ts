import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  clickTwice,
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  loseFirstAnswer,
  newAccount,
  PHONE,
  refuseFirst,
  SHARE_SHEET,
  statValue,
  textOf,
  useConsole,
} from './console.ts';

const console = useConsole();

describe.skipIf(!HAS_BROWSER)('an account', () => {
  async function openAccount(id: number, options: Parameters<typeof console.open>[1] = {}): Promise<Page> {
    const page = await console.open(`/accounts/${id}`, options);
    await page.getByRole('heading', { name: 'Instalments' }).waitFor();
    return page;
  }

  async function fillPayment(page: Page, amount: string, reference: string): Promise<void> {
    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('input[name=amount]:focus').fill(amount);
    await page.locator('select[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await page.locator('input[name=transactionRef]').fill(reference);
  }

  const paymentsOf = (id: number) => console.call('GET', `/accounts/${id}/payments`);

  it('shows and explains the balance, and makes a quote', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(30) });
    const paid = { accountId: id, amount: 2500, paymentMethodId: 2, paymentDate: dayBefore(30) };
    await console.call('POST', '/payments', paid);
    const page = await openAccount(id, { viewport: PHONE });
    await page.locator('.timeline .cell.partly_paid, .timeline .cell.overdue').first().waitFor();
    expect(await textOf(statValue(page, 'Balance'))).toBe('KES 20,300.00');
    expect(await textOf(statValue(page, 'Arrears'))).toBe('KES 1,100.00');
    expect(await page.locator('.timeline .cell').count()).toBe(53);
    expect(await page.locator('.timeline .cell.paid').count()).toBe(2);
    expect(await textOf(page.locator('.quote-answer strong'))).toBe('KES 1,100.00');
    await page.locator('.quote-question input').fill(dayBefore(-12));
    await page.locator('.quote-answer strong', { hasText: 'KES 1,900.00' }).waitFor();
    await page.getByRole('button', { name: 'Explain the balance' }).click();
    await page.getByText('Account opened').waitFor();
    await expectAccessible(page);
  });

  it('has a table of all instalments, in years that the user opens', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(30) });
    await console.call('POST', '/payments', { accountId: id, amount: 2500, paymentMethodId: 2 });
    const page = await openAccount(id, { viewport: PHONE });
    const years = page.locator('.schedule button');
    expect(await page.locator('.schedule .badge:visible').count()).toBe(0);
    const dates = (await console.call('GET', `/accounts/${id}/schedule`)).items.map(
      ({ dueDate }: { dueDate: string }) => dueDate,
    );
    expect(await years.count()).toBe(new Set(dates.map((date: string) => date.slice(0, 4))).size);
    for (const year of await years.all()) await year.press('Enter');
    const rows = page.locator('.schedule tbody:not(:has(button)) tr:visible');
    expect(await rows.count()).toBe(53);
    expect(await textOf(rows.nth(1))).toMatch(/^1.*400\.00Paid$/);
    expect(await textOf(rows.nth(2))).toMatch(/^2.*100\.00 of 400\.00 paidOverdue Next$/);
    await expectAccessible(page);
    await years.first().press('Enter');
    expect(await rows.count()).toBeLessThan(53);
  });

  it('says below the debt which instalments are paid, and what each payment covered', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(30) });
    const payOn = (days: number, amount: number, transactionRef: string) =>
      console.call('POST', '/payments', {
        ...{ accountId: id, amount, paymentMethodId: 2, paymentDate: dayBefore(days), transactionRef },
      });
    await payOn(30, 2_500, `WHY-${id}-1`);
    await payOn(20, 800, `WHY-${id}-2`);
    const wrong = await payOn(10, 700, `WHY-${id}-3`);
    await payOn(5, 50, `WHY-${id}-4`);
    await console.call('POST', `/payments/${wrong.id}/reverse`, { reason: 'A test' });
    const page = await openAccount(id, { viewport: PHONE });
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Why is this owed?' }) });
    const textsOf = async (selector: string) =>
      (await panel.locator(selector).allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));
    expect(await textsOf('dd')).toEqual([
      'KES 19,200.00 · Not due yet',
      'KES 150.00 of KES 400.00 paid · Overdue',
      'KES 1,200.00 · Paid',
      'KES 2,000.00 · Paid',
    ]);
    const name = (number: number, days: number) => `Instalment ${number} (${shown(days)})`;
    const shown = (days: number) =>
      new Intl.DateTimeFormat('en-KE', { dateStyle: 'medium', timeZone: 'UTC' }).format(
        new Date(dayBefore(days)),
      );
    const rows = [
      `${shown(5)}Cash · WHY-${id}-450.00${name(4, 2)}: 50.00`,
      `${shown(10)}Cash · WHY-${id}-3700.00Reversed on ${shown(0)}: does not count`,
      `${shown(20)}Cash · WHY-${id}-2800.00${name(2, 16)}: 300.00; ${name(3, 9)}; ${name(4, 2)}: 100.00`,
      `${shown(30)}Cash · WHY-${id}-12,500.00Deposit (${shown(30)}); ${name(1, 23)}; ${name(2, 16)}: 100.00`,
    ];
    expect(await textsOf('tbody tr')).toEqual(rows.slice(0, 3));
    await expectAccessible(page);
    await panel.getByRole('button', { name: 'Show all 4' }).click();
    await panel.getByText(`WHY-${id}-1`).waitFor();
    expect(await textsOf('tbody tr')).toEqual(rows);
    await panel.locator('.table-scroll:focus').waitFor();
    await expectAccessible(page);
  });

  it('records a payment, and shows the new balance', async () => {
    const { id } = await newAccount(console);
    const page = await openAccount(id, { viewport: PHONE });
    await fillPayment(page, '2400', 'RECEIPT-1');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Record payment' }).click();
    await page.getByText('KES 2,400.00 recorded').waitFor();
    await statValue(page, 'Balance').getByText('KES 20,400.00').waitFor();
    await page.getByRole('cell', { name: 'RECEIPT-1', exact: true }).waitFor();
    await page.getByRole('cell', { name: 'Cash · RECEIPT-1' }).waitFor();
    expect(await page.locator('dialog').count()).toBe(0);
    await console.call('POST', `/payments/${(await paymentsOf(id))[0].id}/reverse`, { reason: 'A test' });
  });

  it('records one payment for two clicks, and one if an answer is lost', async () => {
    const { id } = await newAccount(console);
    const page = await openAccount(id);
    const keys = await loseFirstAnswer(page, '**/api/payments');
    await fillPayment(page, '400', 'LOST-1');
    await clickTwice(page.locator('dialog').getByRole('button', { name: 'Record payment' }));
    await page.getByText('Not confirmed yet').waitFor();
    await expectAccessible(page);
    await page.getByText('KES 400.00 recorded').waitFor();
    expect(keys.length).toBe(2);
    expect(keys[1]).toBe(keys[0]);
    expect((await paymentsOf(id)).length).toBe(1);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost answer.
  });

  it('waits for a busy service, and says that the payment is not confirmed yet', async () => {
    const { id } = await newAccount(console);
    const page = await openAccount(id);
    await refuseFirst(page, '**/api/payments', 2);
    await fillPayment(page, '400', 'BUSY-1');
    await page.keyboard.press('Enter');
    const notice = page.locator('dialog .notice', { hasText: 'The service is busy. Trying again…' });
    await notice.getByText('Not confirmed yet').waitFor();
    await page.getByText('KES 400.00 recorded').waitFor();
    expect((await paymentsOf(id)).length).toBe(1);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 503.
  });

  it('asks before it records the same payment again from another tab, or an amount above the balance', async () => {
    const { id } = await newAccount(console);
    const [first, page] = [await openAccount(id), await openAccount(id)];
    for (const tab of [first, page]) await fillPayment(tab, '400', '');
    await first.keyboard.press('Enter');
    await first.getByText('KES 400.00 recorded').waitFor();
    await first.context().close();

    const notice = page.locator('dialog .notice', { hasText: 'Not recorded yet. Is this right?' });
    await page.keyboard.press('Enter');
    await notice.getByText('The account already has a payment of KES 400.00 on ').waitFor();
    await expectAccessible(page);
    const [recorded] = await paymentsOf(id);
    const link = notice.getByRole('link', { name: `Show payment ${recorded.id}` });
    expect(await link.getAttribute('href')).toBe(`/payments/${recorded.id}`);
    // The key Enter asks again, and confirms nothing.
    const asked = page.waitForResponse('**/api/payments');
    await page.locator('input[name=amount]').press('Enter');
    expect((await asked).status()).toBe(409);
    await notice.getByRole('button', { name: 'Record it nevertheless' }).click();
    await page.getByText('KES 400.00 recorded').waitFor();
    expect(await paymentsOf(id)).toHaveLength(2);

    await fillPayment(page, '105000', 'BIG');
    await page.keyboard.press('Enter');
    await notice.getByText('KES 105,000.00 is above the KES 22,000.00 left to pay.').waitFor();
    // The confirmation is for the amount that was shown, not for another one.
    await page.locator('input[name=amount]').fill('95000');
    await notice.getByRole('button', { name: 'Record it nevertheless' }).click();
    await notice.getByText('KES 95,000.00 is above the KES').waitFor();
    await page.locator('input[name=amount]').fill('9500');
    await page.keyboard.press('Enter');
    await page.getByText('KES 9,500.00 recorded').waitFor();
    expect(await paymentsOf(id)).toHaveLength(3);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answers 409.
  });

  it('asks in Swahili, on a phone', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`, { viewport: PHONE, locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Ingiza malipo' }).click();
    await page.locator('input[name=amount]:focus').fill('105000');
    await page.locator('select[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await page.keyboard.press('Enter');
    const notice = page.locator('dialog .notice', { hasText: 'Bado hayajaingizwa.' });
    await notice.getByText(/105,000\.00 ni zaidi ya deni lililobaki la /).waitFor();
    await expectAccessible(page);
    await notice.getByRole('button', { name: 'Ingiza hata hivyo' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await paymentsOf(id)).toHaveLength(1);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('shows a problem at the field that has it', async () => {
    const { id } = await newAccount(console);
    await console.call('POST', '/payments', {
      accountId: id,
      amount: 1,
      paymentMethodId: 2,
      transactionRef: 'TWICE',
    });
    const page = await openAccount(id);
    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Record payment' }).click();
    await page.locator('input[name=amount][aria-invalid=true]:focus').waitFor();
    await page.keyboard.press('Escape');
    await fillPayment(page, '400', 'TWICE');
    await page.keyboard.press('Enter');
    const reference = page.locator('input[name=transactionRef][aria-invalid=true]');
    await reference.waitFor();
    await expectAccessible(page);
    await reference.fill('ONCE');
    await page.keyboard.press('Enter');
    await page.getByText('KES 400.00 recorded').waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('shows a manager, an agent and a viewer the payment of another user', async () => {
    const { id } = await newAccount(console);
    const pages: Page[] = [];
    for (const role of ['manager', 'agent', 'viewer']) {
      const page = await console.open('/find', { email: await console.createUser(role) });
      const stream = page.waitForResponse('**/api/events?*');
      await page.goto(`${console.origin}/accounts/${id}`);
      await stream;
      await page.getByText('No payments yet.').waitFor();
      pages.push(page);
    }
    await console.call('POST', '/payments', { accountId: id, amount: 700, paymentMethodId: 2 });
    for (const page of pages) await statValue(page, 'Balance').getByText('KES 22,100.00').waitFor();
  });

  it('is suspended, reactivated and cancelled with reasons', async () => {
    const { id } = await newAccount(console);
    const page = await openAccount(id, { viewport: PHONE });
    const paidUntil = page.locator('.stat', { hasText: 'Paid until' });
    await paidUntil.getByText('Deposit not fully paid').waitFor();
    for (const [action, status] of [
      ['Suspend', 'Suspended'],
      ['Reactivate', 'Active'],
      ['Cancel sale', 'Cancelled'],
    ] as const) {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.locator('.menu').getByRole('button', { name: action }).click();
      await page.locator('textarea:focus').fill(`Because of ${action}`);
      if (action === 'Suspend') await expectAccessible(page);
      await page.locator('dialog').getByRole('button', { name: action }).click();
      await page.locator('.page-sub .badge', { hasText: status }).waitFor();
      await page.locator('.history').getByText(`Because of ${action}`).waitFor();
    }
    await paidUntil.getByText('Closed').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByRole('button', { name: 'Statement with every payment (PDF)' }).waitFor();
    expect(await page.getByRole('button', { name: 'Share account number' }).count()).toBe(0);
  });

  it('says at the top why the customer owes what is due, in the languages of the user and of the customer', async () => {
    const { id, customerId } = await newAccount(console);
    const { explanation } = await console.call('GET', `/accounts/${id}/quote`);
    const page = await openAccount(id);
    await page.getByText(explanation.sentence, { exact: true }).waitFor();
    await console.call('PUT', `/customers/${customerId}`, { language: 'sw' });
    await page.locator('p[lang=sw]', { hasText: 'umelipa' }).waitFor();
    await page.getByText(explanation.sentence, { exact: true }).waitFor();
  });

  it('shows what happened, newest first, and older entries on demand', async () => {
    const { id } = await newAccount(console);
    for (let change = 1; change <= 11; change += 1) {
      const status = change % 2 === 1 ? 'suspended' : 'active';
      await console.call('PUT', `/accounts/${id}`, { status, reason: `Change ${change}` });
    }
    const page = await openAccount(id);
    const changes = page.locator('.history li');
    await changes.first().getByText('Change 11').waitFor();
    expect(await changes.count()).toBe(10);
    await page.getByRole('button', { name: 'Older entries' }).click();
    await changes.getByText('Opened as Active').waitFor();
    await page.locator('.history li:nth-child(11):focus').waitFor();
    await page.getByRole('combobox', { name: 'Kind of entry' }).selectOption('Payment');
    await page.getByText('Nothing was recorded yet.').waitFor();
  });

  it('keeps the focus of the keyboard when it shows more payments or the explanation', async () => {
    const { id } = await newAccount(console);
    const payment = { accountId: id, paymentMethodId: 2, paymentDate: dayBefore(0) };
    for (let amount = 1; amount <= 12; amount += 1)
      await console.call('POST', '/payments', { ...payment, amount });
    const page = await openAccount(id, { viewport: PHONE });
    const payments = page.getByRole('region', { name: 'Payments', exact: true });
    await payments.locator('tbody tr').nth(9).waitFor();
    await payments.getByRole('button', { name: 'Show more' }).focus();
    await page.keyboard.press('Enter');
    await payments.locator('tbody tr:nth-child(11) .row-link:focus').waitFor();
    expect(await payments.locator('tbody tr').count()).toBe(12);
    expect(await payments.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Explain the balance' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Account opened').waitFor();
    await page.locator('.table-scroll:focus', { hasText: 'Account opened' }).waitFor();
  });

  it('shows no payments of the account that was open before', async () => {
    const accounts = [await newAccount(console), await newAccount(console)] as const;
    for (const [at, { id }] of accounts.entries())
      for (let count = 1; count <= 11; count += 1) {
        const transactionRef = `OF-${at}-${count}`;
        await console.call('POST', '/payments', {
          accountId: id,
          amount: 1,
          paymentMethodId: 2,
          transactionRef,
        });
      }
    const [first, second] = accounts;
    const page = await openAccount(first.id);
    const payments = page.getByRole('group', { name: 'Payments', exact: true });
    const ofAccount = (at: number) => payments.getByRole('cell', { name: `OF-${at}-` });
    await ofAccount(0).nth(9).waitFor();
    const more = page.getByRole('button', { name: 'Show more' });
    await page.locator('#top-find').fill(second.accountNumber);
    await page.locator('#top-find-results [role=option]', { hasText: second.accountNumber }).click();
    await ofAccount(1).nth(9).waitFor();
    await more.click();
    await ofAccount(1).nth(10).waitFor();
    // An answer that never comes, so that only what is already loaded can be shown.
    await page.route(`**/api/accounts/${first.id}/payments?*`, () => {});
    await page.goBack();
    await page.locator('.page-head', { hasText: first.accountNumber }).waitFor();
    expect(await page.getByRole('cell', { name: 'OF-1-' }).count()).toBe(0);
    expect(await ofAccount(0).count()).toBe(10);
  });

  it('is not activated by staff while it is pending', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(-30) });
    const page = await openAccount(id);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByRole('button', { name: 'Suspend' }).waitFor();
    expect(await page.getByRole('button', { name: 'Reactivate' }).count()).toBe(0);
  });

  it('shares how to pay, or copies it in a browser without a share sheet', async () => {
    const { id, accountNumber } = await newAccount(console);
    const page = await openAccount(id, { viewport: PHONE });
    const share = async () => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('button', { name: 'Share account number' }).click();
    };
    const text = `Sunrise Pumps Ltd\nAccount number: ${accountNumber}\nGive this account number as the reference with every payment.`;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await share();
    await page.getByText('Copied. You can paste it in a message.').waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
    await page.evaluate(SHARE_SHEET);
    await share();
    await eventually(() => page.evaluate('globalThis.shared')).toEqual({ text });
  });

  it('copies how to pay if the share sheet opens too late, and shows it if the browser refuses that, too', async () => {
    const { id, accountNumber } = await newAccount(console);
    const page = await openAccount(id, { viewport: PHONE });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`globalThis.calls = 0;
      globalThis.refuse = async () => { calls += 1; throw new DOMException('No tap', 'NotAllowedError'); };
      Object.defineProperty(navigator, 'share', { configurable: true, value: refuse })`);
    const share = page.getByRole('button', { name: 'Share account number' });
    await page.getByRole('button', { name: 'More actions' }).click();
    await clickTwice(share);
    await page.getByText('Copied. You can paste it in a message.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain(accountNumber);
    expect(await page.evaluate('calls')).toBe(1);
    await page.evaluate("Object.defineProperty(navigator.clipboard, 'writeText', { value: refuse })");
    await page.getByRole('button', { name: 'More actions' }).click();
    await share.click();
    const dialog = page.getByRole('dialog', { name: 'Share account number' });
    await dialog.getByText(`Account number: ${accountNumber}`).waitFor();
    await expectAccessible(page);
    await page.evaluate(SHARE_SHEET);
    await dialog.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('globalThis.shared.text')).toContain(accountNumber);
  });

  it('gives its statement and invoices as PDF', async () => {
    const { id } = await newAccount(console);
    const items = [{ description: 'Cable', quantity: 1, unitPrice: 50 }];
    await console.call('POST', '/invoices', { accountId: id, items });
    const page = await openAccount(id);
    for (const name of ['Statement (PDF)', 'PDF']) {
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name, exact: true }).click();
      const bytes = await readFile(await (await downloading).path());
      expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    }
  });

  it('shows a viewer no button for what the role may not do', async () => {
    const { id } = await newAccount(console);
    const page = await openAccount(id, { email: await console.createUser('viewer') });
    await page.getByText('Statement (PDF)').waitFor();
    expect(await page.getByRole('button', { name: 'Record payment' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'New invoice' }).count()).toBe(0);
    expect(await page.locator('main .menu-item').allTextContents()).toEqual([
      'Share account number',
      'Statement with every payment (PDF)',
      'Statement in Kiswahili (PDF)',
    ]);
  });
});

describe.skipIf(!HAS_BROWSER)('a customer', () => {
  it('has accounts and an identity check that a manager decides', async () => {
    const { customerId, accountNumber } = await newAccount(console);
    const documents = [
      { type: 'national_id', number: '23456789', url: 'https://files.example.com/1' },
      '<b>scan</b>',
    ];
    const submission = { verificationType: 'national_id', verificationStatus: 'pending', documents };
    await console.call('PUT', `/customers/${customerId}/kyc`, submission);
    const page = await console.open(`/customers/${customerId}`, { viewport: PHONE });
    await page.getByText('<b>scan</b>').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('Identity check: Verified').waitFor();
    await page.getByRole('link', { name: accountNumber }).first().click();
    await page.getByRole('heading', { name: 'Instalments' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Contact' }).waitFor();
  });
});
