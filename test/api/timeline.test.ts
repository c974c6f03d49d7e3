import { describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { newAccount, newCustomer, pay, reverse, useService } from '../support/harness.ts';
import { runStatement } from '../support/statements.ts';

const service = useService();

interface Entry {
  kind: string;
  id: number;
  recordedAt: string;
  [field: string]: unknown;
}

async function timelineOf(path: string, query = '', token = service.adminToken) {
  const answer = await service.call('GET', `${path}/timeline${query}`, undefined, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as { kinds: string[]; entries: Entry[]; nextCursor: string | null };
}

/** An account with an entry of almost every kind. */
async function busyAccount() {
  const account = await newAccount(service);
  const customerId: number = account.customerId;
  const call = async (method: string, path: string, body: object) => {
    const answer = await service.call(method, path, body);
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  await pay(service, account.id, 500, { transactionRef: `T${account.id}` });
  const wrong = await pay(service, account.id, 40);
  await reverse(service, wrong.id);
  await call('PUT', `/customers/${customerId}`, { phone: '0722 000 111' });
  await call('PUT', `/customers/${customerId}/kyc`, {
    verificationType: 'passport',
    verificationStatus: 'verified',
    documents: [{ type: 'passport', number: 'P1' }],
  });
  await call('POST', `/customers/${customerId}/notes`, { text: 'About the customer' });
  await call('POST', `/customers/${customerId}/notes`, { text: 'About the account', accountId: account.id });
  await call('PUT', `/accounts/${account.id}`, { status: 'suspended', reason: 'Stolen' });
  await call('PUT', `/accounts/${account.id}`, { metadata: { branch: 'Meru' } });
  const invoice = await call('POST', '/invoices', {
    accountId: account.id,
    items: [{ description: 'Lamp', quantity: 1, unitPrice: 5 }],
  });
  await call('POST', `/invoices/${invoice.id}/void`, { reason: 'Typing error' });
  return { account, customerId, payment: wrong, invoice };
}

const kindsOf = (entries: Entry[]) => [...new Set(entries.map(({ kind }) => kind))].sort();

describe('the timeline', () => {
  it('of an account has what happened with the account and its customer, newest first', async () => {
    const { account, customerId, payment, invoice } = await busyAccount();
    const { entries } = await timelineOf(`/accounts/${account.id}`, '?limit=100');
    expect(kindsOf(entries)).toEqual([
      'account_change',
      'customer_change',
      'identity_check',
      'invoice',
      'invoice_void',
      'note',
      'payment',
      'reversal',
      'status',
    ]);
    const times = entries.map(({ recordedAt }) => recordedAt);
    expect(times).toEqual(times.toSorted().toReversed());
    const one = (kind: string) => entries.find((entry) => entry.kind === kind);
    expect(one('customer_change')).toMatchObject({
      actor: 'admin@example.com',
      resource: 'customer',
      resourceId: customerId,
      changes: [{ field: 'phone', after: '+254722000111' }],
    });
    expect(one('reversal')).toMatchObject({
      id: payment.id,
      actor: 'admin@example.com',
      amount: 40,
      valueDate: payment.paymentDate,
      accountNumber: account.accountNumber,
    });
    expect(one('status')).toMatchObject({ previousStatus: 'active', status: 'suspended', reason: 'Stolen' });
    expect(one('note')).toMatchObject({ note: { text: 'About the account', pinned: false } });
    expect(one('invoice_void')).toMatchObject({ reference: invoice.number, reason: 'Typing error' });
    expect(one('account_change')).toMatchObject({
      changes: [{ field: 'metadata', before: '{}', after: '{"branch":"Meru"}' }],
    });
    expect(one('identity_check')).toMatchObject({ method: 'passport', status: 'verified', accountId: null });
  });

  it('of a customer also has the entries of all accounts of the customer, and of no other customer', async () => {
    const { account, customerId } = await busyAccount();
    const second = await newAccount(service, { customerId });
    await pay(service, second.id, 60);
    const other = await busyAccount();
    const { entries } = await timelineOf(`/customers/${customerId}`, '?limit=100');
    const ids = new Set(entries.map(({ accountId }) => accountId));
    expect(ids).toEqual(new Set([account.id, second.id, null]));
    const ofAccount = await timelineOf(`/accounts/${account.id}`, '?limit=100');
    expect(ofAccount.entries.every(({ accountId }) => accountId !== second.id)).toBe(true);
    expect(JSON.stringify(ofAccount)).not.toContain(other.account.accountNumber);
  });

  it('is read page by page without gaps and repetitions, also among entries of one moment', async () => {
    const account = await newAccount(service);
    const statement = `
      insert into payments (account_id, amount_minor, payment_method_id, payment_date, status, source, created_at)
      select ${account.id}, g, (select min(id) from payment_methods), '2026-11-02', 'matched', 'manual', '2026-11-02 08:00:00.123Z'
      from generate_series(1, 25) g;
      insert into notes (customer_id, text, created_at)
      select ${account.customerId}, 'Note ' || g, '2026-11-02 08:00:00.123Z' from generate_series(1, 25) g`;
    await runStatement(service.connection, statement);
    const whole = await timelineOf(`/accounts/${account.id}`, '?limit=100');
    const pages: Entry[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof timelineOf>> = await timelineOf(
        `/accounts/${account.id}`,
        `?limit=7&after=${cursor}`,
      );
      pages.push(...page.entries);
      cursor = page.nextCursor;
    }
    expect(pages).toEqual(whole.entries);
    expect(new Set(pages.map(({ kind, id }) => `${kind} ${id}`)).size).toBe(pages.length);
    expect(pages.filter(({ kind }) => kind === 'payment')).toHaveLength(25);
    expect(pages.filter(({ kind }) => kind === 'note')).toHaveLength(25);
  });

  it('can be limited to kinds', async () => {
    const { account } = await busyAccount();
    const { entries } = await timelineOf(`/accounts/${account.id}`, '?kind=note,reversal');
    expect(kindsOf(entries)).toEqual(['note', 'reversal']);
  });

  it.each<[string, string[]]>([
    ['manager', []],
    ['finance', ['account_change', 'customer_change']],
    ['viewer', ['account_change', 'customer_change']],
    ['agent', ['account_change', 'approval_end', 'approval_request', 'call', 'customer_change']],
    ['collector', ['account_change', 'approval_end', 'approval_request', 'customer_change']],
  ])('shows the role %s only the kinds that it may read', async (role, hidden) => {
    const { account } = await busyAccount();
    const token = await service.tokenOf(role);
    const all = await timelineOf(`/accounts/${account.id}`, '?limit=100');
    const { kinds, entries } = await timelineOf(`/accounts/${account.id}`, '?limit=100', token);
    expect(all.kinds.filter((kind) => !kinds.includes(kind)).sort()).toEqual(hidden);
    expect(entries).toEqual(all.entries.filter(({ kind }) => !hidden.includes(kind)));
    const asked = await timelineOf(`/accounts/${account.id}`, '?kind=customer_change', token);
    expect(asked.entries).toHaveLength(role === 'manager' ? 1 : 0);
  });

  it('shows the text of a hidden note only to users who may hide notes', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await service.call('POST', `/customers/${customerId}/notes`, { text: 'About a neighbour' });
    await service.call('POST', `/customers/${customerId}/notes/${note.body.data.id}/hide`, {
      reason: 'Wrong',
    });
    const viewer = await service.tokenOf('viewer');
    const { entries } = await timelineOf(`/customers/${customerId}`, '', viewer);
    expect(entries).toMatchObject([{ note: { text: null, isHidden: true }, reason: 'Wrong' }]);
    expect(JSON.stringify(await timelineOf(`/customers/${customerId}`))).toContain('About a neighbour');
  });

  it('refuses a cursor of another list and an unknown kind', async () => {
    const { id } = await newAccount(service);
    const list = await service.call('GET', '/accounts?limit=1&after=');
    const foreign = list.body.pagination.nextCursor ?? 'WyJhIiwxXQ';
    for (const [query, field] of [
      [`?after=${foreign}`, 'after'],
      ['?after=x', 'after'],
      ['?kind=secrets', 'kind'],
    ]) {
      const answer = await service.call('GET', `/accounts/${id}/timeline${query}`);
      expect(answer.status).toBe(400);
      expect(answer.body.error.details.fields[0].path).toBe(field);
    }
  });
});

describe('a call in the timeline', () => {
  it('has its result, its note and its promise, for those who may read calls', async () => {
    const account = await newAccount(service, { activationDate: '2026-06-01' });
    const promise = { amount: 400, date: addDays(today(service.context), 3) };
    const body = { accountId: account.id, result: 'promise', note: 'After the market day', promise };
    const saved = await service.call('POST', '/calls', body);
    expect(saved.status, saved.text).toBe(201);
    const { entries } = await timelineOf(`/accounts/${account.id}`, '?kind=call');
    expect(entries).toMatchObject([
      {
        kind: 'call',
        resource: 'call',
        status: 'promise',
        method: 'call',
        reason: 'After the market day',
        amount: 400,
        dueDate: promise.date,
      },
    ]);
    const agent = await service.tokenOf('agent');
    const seen = await timelineOf(`/accounts/${account.id}`, '', agent);
    expect(seen.kinds).not.toContain('call');
    expect(kindsOf(seen.entries)).not.toContain('call');
  });
});
