import { describe, expect, it } from 'vitest';
import {
  clickTwice,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  textOf,
  useConsole,
} from './console.ts';

const TOTAL = 22_800; // of the weekly demo plan

describe.skipIf(!HAS_BROWSER)('a request for approval', () => {
  const console = useConsole({ APPROVAL_LIMIT: '1000' });

  /** An account with credit, which is open in a window of the admin. */
  async function openWithCredit(credit: number, viewport = PHONE) {
    const account = await newAccount(console);
    const body = { accountId: account.id, amount: TOTAL + credit, paymentMethodId: 2 };
    const payment = await console.call('POST', '/payments', body);
    const page = await console.open(`/accounts/${account.id}`, { viewport });
    await page.getByRole('heading', { name: 'Instalments' }).waitFor();
    return { account, payment, page };
  }

  async function chooseAction(page: Awaited<ReturnType<typeof console.open>>, name: string) {
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByRole('button', { name }).click();
  }

  const pendingOf = (accountId: number) =>
    console.call('GET', `/approvals?filter[accountId]=${accountId}&filter[status]=pending`);
  const creditOf = async (id: number) => (await console.call('GET', `/accounts/${id}`)).credit;

  it('is sent for a large refund, and approved by another user', async () => {
    const { account, page } = await openWithCredit(5_000);
    await chooseAction(page, 'Refund credit');
    const dialog = page.locator('dialog');
    await dialog.getByText('Above KES 1,000.00, another user has to approve this.').waitFor();
    await dialog.locator('input[name=amount]:focus').fill('6000');
    await dialog.locator('select[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await dialog.locator('textarea').fill('Paid too much');
    await dialog.getByRole('button', { name: 'Refund credit' }).click();
    await dialog.locator('input[name=amount][aria-invalid=true]:focus').waitFor();
    console.complaints.splice(0); // The browser reports the answer 400.
    await expectAccessible(page);
    await dialog.locator('input[name=amount]').fill('3000');
    await clickTwice(dialog.getByRole('button', { name: 'Refund credit' }));
    await page.getByText('Sent for approval. Another user has to approve it.').waitFor();
    expect(await dialog.count()).toBe(0);
    const [sent, ...others] = await pendingOf(account.id);
    expect(others).toEqual([]);
    expect(await creditOf(account.id)).toBe(5_000);
    await page.context().close();

    const other = await console.open('/today', {
      viewport: PHONE,
      email: await console.createUser('finance'),
    });
    await other.getByText('Requests for approval').waitFor();
    await other.getByRole('button', { name: 'Menu' }).click();
    await other.getByRole('link', { name: 'Approvals' }).filter({ visible: true }).click();
    await other.getByRole('heading', { name: 'Approvals' }).waitFor();
    await expectAccessible(other);
    await other.locator(`a[href$="open=${sent.id}"]`).click();
    const request = other.locator('dialog');
    await request.getByText('Paid too much').waitFor();
    await request.getByText('amina@example.com').waitFor();
    await expectAccessible(other);
    await request.getByRole('button', { name: 'Approve' }).click();
    await other.getByText('Approved and done').waitFor();
    expect(await request.count()).toBe(0);
    expect(await creditOf(account.id)).toBe(2_000);
  });

  it('is shown to its requester, who can only withdraw it', async () => {
    const { account, payment, page } = await openWithCredit(2_000);
    await page.goto(`${console.origin}/payments/${payment.id}`);
    await page.getByRole('button', { name: 'Reverse payment' }).click();
    await page.locator('textarea:focus').fill('Typed twice');
    await page.locator('dialog').getByRole('button', { name: 'Reverse payment' }).click();
    await page.getByText('Sent for approval.').waitFor();
    await page.getByText('Waits for approval').waitFor();
    expect(await page.getByRole('button', { name: 'Reverse payment' }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show the request' }).click();
    await page.getByText('You sent this request.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Withdraw request' }).click();
    await page.getByText('Request withdrawn').waitFor();
    expect(await pendingOf(account.id)).toEqual([]);
    expect((await console.call('GET', `/payments/${payment.id}`)).status).toBe('matched');
  });

  it('is shown on the page of its account, and a second request gets a sentence', async () => {
    const { account, page } = await openWithCredit(5_000);
    const body = { amount: 3_000, reason: 'Too much' };
    const { id } = await console.call('POST', `/accounts/${account.id}/credit/refund`, body);
    await page.getByText('Waits for approval').first().waitFor(); // Live: without a reload.
    await expectAccessible(page);
    await chooseAction(page, 'Refund credit');
    const dialog = page.locator('dialog');
    await dialog.locator('input[name=amount]').fill('4000');
    await dialog.locator('select[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await dialog.locator('textarea').fill('Paid too much');
    await dialog.getByRole('button', { name: 'Refund credit' }).click();
    await dialog.getByText('A request for this already waits for approval').waitFor();
    expect(await textOf(dialog.locator('.notice'))).not.toContain('id:');
    console.complaints.splice(0); // The browser reports the answer 409.
    await console.call('POST', `/approvals/${id}/withdraw`);
  });

  /** Another user opens a request to refund the credit of an account. */
  async function openRefund() {
    const { account, page } = await openWithCredit(5_000);
    const body = { amount: 3_000, reason: 'Paid too much' };
    const request = await console.call('POST', `/accounts/${account.id}/credit/refund`, body);
    await page.context().close();
    const email = await console.createUser('manager');
    const other = await console.open(`/approvals?open=${request.id}`, { viewport: PHONE, email });
    await other.getByText('The credit of the account decreases.').waitFor();
    return { account, request, other };
  }

  it('shows what has changed since it was sent', async () => {
    const { account, other } = await openRefund();
    await console.call('POST', '/payments', { accountId: account.id, amount: 10, paymentMethodId: 2 });
    // Live: the change appears while the dialog is open. A minute job may also end the request.
    await other.getByText('Changed since the request').waitFor();
    expect(await textOf(other.locator('dialog .notice'))).toContain('Credit: KES 5,000.00 → KES 5,010.00');
    await expectAccessible(other);
  });

  it('is rejected with a reason', async () => {
    const { request, other } = await openRefund();
    await other.getByRole('button', { name: 'Reject' }).click();
    await other.locator('textarea:focus').fill('The credit is another one');
    await other.locator('dialog').getByRole('button', { name: 'Reject' }).click();
    await other.getByText('Request rejected').waitFor();
    expect(await console.call('GET', `/approvals/${request.id}`)).toMatchObject({
      status: 'rejected',
      decisionReason: 'The credit is another one',
    });
    const requester = await console.open('/today');
    await requester.getByRole('link', { name: /^Your requests decided since / }).click();
    await requester.waitForURL('**/approvals?requestedBy=me*');
    await requester.getByText(/ · .*@example\.com · The credit is another one$/).waitFor();
    await expectAccessible(requester);
  });

  it('is not sent for a small transfer of credit to an account that the user finds', async () => {
    const receiver = await newAccount(console, {
      firstName: 'Akinyi',
      lastName: 'Receiver',
    });
    const { account, page } = await openWithCredit(500);
    await chooseAction(page, 'Transfer credit');
    const dialog = page.locator('dialog');
    await dialog.locator('input[name=find]:focus').fill('Receiver');
    await dialog.getByText('Choose the account below.').waitFor();
    await dialog.getByRole('button', { name: 'Transfer credit' }).click();
    await dialog.locator('select[name=toAccountId][aria-invalid=true]').waitFor();
    await dialog.locator('select[name=toAccountId]').selectOption(String(receiver.id));
    await dialog.locator('textarea').fill('Of the same family');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Transfer credit' }).click();
    await page.locator('.toast', { hasText: 'Credit transferred' }).waitFor();
    expect((await console.call('GET', `/accounts/${receiver.id}`)).paid).toBe(500);
    expect(await creditOf(account.id)).toBe(0);
  });

  it('is sent for a write-off after default and repossession', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`, { viewport: PHONE });
    for (const [action, status] of [
      ['Mark as defaulted', 'Defaulted'],
      ['Mark as repossessed', 'Repossessed'],
    ] as const) {
      await chooseAction(page, action);
      await page.locator('textarea:focus').fill(`Because of ${action}`);
      await page.locator('dialog').getByRole('button', { name: action }).click();
      await page.locator('.page-sub .badge', { hasText: status }).waitFor();
    }
    await chooseAction(page, 'Write off');
    await page.locator('dialog').getByRole('button', { name: 'Write off' }).click();
    await page.locator('textarea[aria-invalid=true]:focus').fill('Moved away');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Write off' }).click();
    await page.getByText('Sent for approval.').waitFor();
    expect(await pendingOf(id)).toMatchObject([{ action: 'write_off_account', amount: TOTAL }]);
  });

  it('is not sent for a document that an agent submits', async () => {
    const { id, customerId } = await newAccount(console);
    const email = await console.createUser('agent');
    const page = await console.open(`/customers/${customerId}`, { viewport: PHONE, email });
    await page.getByRole('button', { name: 'Submit document' }).click();
    await page.locator('select[name=verificationType]').selectOption('passport');
    await page.locator('input[name=documents]').fill('A1234567');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Submit document' }).click();
    await page.getByText('Document submitted').waitFor();
    await page.locator('.history').getByText('A1234567').waitFor();
    const [record] = await console.call('GET', `/customers/${customerId}/kyc`);
    expect(record).toMatchObject({ verificationType: 'passport', verificationStatus: 'pending' });
    expect(await pendingOf(id)).toEqual([]);
  });

  it('is hidden from an agent', async () => {
    const { account, page } = await openWithCredit(500);
    await page.context().close();
    const own = await console.open(`/accounts/${account.id}`, { email: await console.createUser('agent') });
    await own.getByRole('heading', { name: 'Instalments' }).waitFor();
    expect(await own.getByRole('link', { name: 'Approvals' }).count()).toBe(0);
    expect(await own.locator('main .menu-item').allTextContents()).toEqual([
      'Statement with every payment (PDF)',
      'Statement in Kiswahili (PDF)',
    ]);
  });
});
