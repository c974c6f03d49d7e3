import { beforeEach, describe, expect, it } from 'vitest';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import {
  dataOf,
  move,
  newAccount,
  newCustomer,
  pay,
  runJobs,
  setToday,
  signUp,
  startInstanceForTest,
  useInstance,
  useService,
  wrongFields,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';

const service = useService();
const other = useInstance(service, {});
const TODAY = '2026-11-02' as PlainDate;
const OPENED = '2026-08-03'; // 13 weeks before: 2,000 + 13 × 400 are due

beforeEach(() => setToday(service, TODAY));

/** An account that is late since the deposit was due. */
function lateAccount(fields: Record<string, unknown> = {}) {
  return newAccount(service, { activationDate: OPENED, ...fields });
}

let officers = 0;
async function newOfficer(fields: Record<string, unknown> = {}) {
  officers += 1;
  const signedUp = await signUp(service, {
    role: 'collector',
    firstName: `Officer${officers}`,
    lastName: 'Mwangi',
    ...fields,
  });
  return { id: signedUp.user.id, name: `Officer${officers} Mwangi`, token: signedUp.accessToken };
}

function record(accountId: number, body: object, token = service.adminToken): Promise<Answer> {
  return service.call('POST', '/calls', { accountId, ...body }, { token });
}

function saved(accountId: number, body: object, token?: string) {
  return dataOf(record(accountId, body, token), 201);
}

async function isShown(accountId: number, query = ''): Promise<boolean> {
  const rows = await dataOf(service.call('GET', `/call-list?filter[id]=${accountId}${query}`));
  return rows.length === 1;
}

async function entryOf(accountId: number) {
  const [entry] = await dataOf(service.call('GET', `/call-list?shown=all&filter[id]=${accountId}`));
  return entry;
}

describe('the call list', () => {
  it('has late accounts that are active, suspended or defaulted, and others by filter', async () => {
    const [late, suspended, repossessed] = [await lateAccount(), await lateAccount(), await lateAccount()];
    await move(service, suspended.id, 'suspended');
    for (const status of ['suspended', 'repossessed']) await move(service, repossessed.id, status);
    const inGrace = await newAccount(service, { activationDate: '2026-10-30' });
    const paid = await lateAccount();
    await pay(service, paid.id, 7_200);
    expect(await isShown(late.id)).toBe(true);
    expect(await isShown(suspended.id)).toBe(true);
    expect(await isShown(repossessed.id)).toBe(false);
    expect(await isShown(repossessed.id, '&filter[status]=repossessed')).toBe(true);
    expect(await isShown(inGrace.id)).toBe(false);
    expect(await isShown(inGrace.id, '&lateness=past_due')).toBe(true);
    expect(await isShown(paid.id)).toBe(false);
  });

  it.each([
    ['filter[daysPastDue][gte]=91&filter[daysPastDue][lte]=91', true],
    ['filter[daysPastDue][gt]=91', false],
    ['filter[productId]=1', true],
    ['filter[productId]=2', false],
    ['filter[employeeId]=1', true],
    ['filter[employeeId]=2', false],
    ['filter[metadata][branch]=Meru', true],
    ['filter[metadata][branch]=Embu', false],
    ['filter[status]=active', true],
    ['filter[status]=suspended', false],
    ['filter[assigneeId][isnull]=true', true],
    ['filter[lastCalledAt][isnull]=false', false],
  ])('can be filtered: %s', async (filter, expected) => {
    const { id } = await lateAccount({ employeeId: 1, metadata: { branch: 'Meru' } });
    expect(await isShown(id, `&${filter}`)).toBe(expected);
  });

  it('sorts by days late, and by the last call among the accounts that were called', async () => {
    const customer = await newCustomer(service);
    const fields = { customerId: customer.id };
    const longer = await lateAccount({ ...fields, activationDate: '2026-06-01' });
    const shorter = await lateAccount({ ...fields, activationDate: '2026-09-07' });
    const never = await lateAccount(fields);
    await saved(longer.id, { result: 'no_answer' });
    setToday(service, '2026-11-03');
    await saved(shorter.id, { result: 'no_answer' });
    const idsBy = async (sort: string) => {
      const path = `/call-list?filter[customerId]=${customer.id}&after=&sort=${sort}`;
      return (await dataOf(service.call('GET', path))).map(({ id }: { id: number }) => id);
    };
    expect(await idsBy('nextDueDate:asc')).toEqual([longer.id, never.id, shorter.id]);
    expect(await idsBy('daysPastDue:desc')).toEqual([longer.id, never.id, shorter.id]);
    expect(await idsBy('lastCalledAt:desc')).toEqual([shorter.id, longer.id]);
    expect(await idsBy('lastCalledAt:asc')).toEqual([longer.id, shorter.id]);
    expect(await idsBy('lastCalledAt:asc&filter[lastCalledAt][isnull]=true')).toEqual([never.id]);
    expect(await idsBy('lastCalledAt:asc&filter[lastCalledAt][isnull]=false')).toEqual([
      longer.id,
      shorter.id,
    ]);
  });

  it('gives all accounts that were never called page by page, also in the order of the last call', async () => {
    const customer = await newCustomer(service);
    const accounts = [];
    for (let n = 0; n < 3; n++) accounts.push(await lateAccount({ customerId: customer.id }));
    const seen: number[] = [];
    let after: string | null = '';
    while (after !== null) {
      const query = `filter[customerId]=${customer.id}&filter[lastCalledAt][isnull]=true&sort=lastCalledAt:asc`;
      const answer: Answer = await service.call('GET', `/call-list?${query}&limit=1&after=${after}`);
      seen.push(...answer.body.data.map(({ id }: { id: number }) => id));
      after = answer.body.pagination.nextCursor;
    }
    expect(seen).toEqual(accounts.map(({ id }) => id));
  });

  it('has a form with all late accounts of the phone, and what can be promised', async () => {
    const phone = '+254799000001';
    const customer = await newCustomer(service, { secondPhone: phone });
    const sibling = await newCustomer(service, { phone });
    const account = await lateAccount({ customerId: customer.id });
    const second = await lateAccount({ customerId: sibling.id });
    const upToDate = await newAccount(service, { customerId: sibling.id });
    await pay(service, upToDate.id, 2_000);
    const form = await dataOf(service.call('GET', `/call-list/${account.id}/form`));
    expect(form.customer).toMatchObject({ id: customer.id, secondPhone: phone });
    expect(form.accounts.map(({ id }: { id: number }) => id)).toEqual([account.id, second.id]);
    expect(form.accounts[0].promiseLimits).toEqual({
      minimum: 400,
      maximum: 22_800,
      from: TODAY,
      until: '2026-12-02',
    });
  });
});

describe('an assignment', () => {
  it('is set in bulk by a manager, lasts until it is changed, and is recorded', async () => {
    const officer = await newOfficer();
    const accounts = [await lateAccount(), await lateAccount()];
    const accountIds = accounts.map(({ id }) => id);
    const assign = (userId: number | null, token = service.adminToken) =>
      service.call('PUT', '/call-list/assignments', { accountIds, userId }, { token });
    expect((await assign(officer.id, officer.token)).status).toBe(403);
    expect((await dataOf(assign(officer.id))).changed).toBe(2);
    expect((await dataOf(assign(officer.id))).changed).toBe(0);
    await saved(accountIds[0], { result: 'no_answer' });
    expect((await entryOf(accountIds[0])).assignee).toEqual({ userId: officer.id, officer: officer.name });
    expect(await isShown(accountIds[1], `&filter[assigneeId]=${officer.id}`)).toBe(true);
    const { id: agentId } = (await signUp(service, { role: 'agent' })).user;
    expect(wrongFields(await assign(agentId))).toEqual(['userId']);
    expect((await dataOf(assign(null))).changed).toBe(2);
    const audit = await dataOf(
      service.call('GET', `/audit?filter[resource]=account&filter[resourceId]=${accountIds[0]}`),
    );
    expect(audit.filter(({ action }: { action: string }) => action === 'account.assign')).toMatchObject([
      { before: { assigneeId: officer.id }, after: { assigneeId: null } },
      { before: { assigneeId: null }, after: { assigneeId: officer.id } },
    ]);
  });
});

describe('a lease of the phones', () => {
  const lease = (accountId: number, token: string, body: object = {}, on = service) =>
    on.call('PUT', `/call-list/${accountId}/lease`, body, { token });

  it('is given to one of two officers on two instances', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const customer = await newCustomer(service);
    const accounts = [
      await lateAccount({ customerId: customer.id }),
      await lateAccount({ customerId: customer.id }),
    ];
    const answers = await Promise.all([
      lease(accounts[0].id, one.token),
      lease(accounts[1].id, two.token, {}, { ...service, call: other.call }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const refused = answers.find(({ status }) => status === 409);
    const holder = answers[0]?.status === 200 ? one : two;
    expect(refused?.body.error.message).toBe(`${holder.name} is calling this customer now.`);
    const loser = holder === one ? two : one;
    const call = await record(accounts[0].id, { result: 'no_answer' }, loser.token);
    expect([call.status, call.body.error.message]).toEqual([
      409,
      `${holder.name} is calling this customer now.`,
    ]);
    expect((await entryOf(accounts[0].id)).lease).toMatchObject({ userId: holder.id, officer: holder.name });
  });

  it('lasts 15 minutes, is renewed by use, and is freed by a result or by leaving', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const { id } = await lateAccount();
    const at = (time: string) => service.clock.set(new Date(`2026-11-02T${time}Z`));
    at('09:00:00');
    expect((await lease(id, one.token)).status).toBe(200);
    at('09:14:00');
    expect((await lease(id, two.token)).status).toBe(409);
    expect((await lease(id, one.token)).status).toBe(200);
    at('09:28:00');
    expect((await lease(id, two.token)).status).toBe(409);
    at('09:30:00');
    expect((await lease(id, two.token)).status).toBe(200);
    expect((await lease(id, one.token)).status).toBe(409);
    await saved(id, { result: 'no_answer' }, two.token);
    expect((await lease(id, one.token)).status).toBe(200);
    await dataOf(service.call('DELETE', `/call-list/${id}/lease`, undefined, { token: one.token }));
    expect((await lease(id, two.token)).status).toBe(200);
  });

  it('of the next customer stays, if leaving the one before arrives late', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const [before, next] = [await lateAccount(), await lateAccount()];
    await dataOf(lease(before.id, one.token));
    await dataOf(lease(next.id, one.token));
    const leave = (id: number) =>
      dataOf(service.call('DELETE', `/call-list/${id}/lease`, undefined, { token: one.token }));
    await leave(before.id);
    expect((await lease(next.id, two.token)).status).toBe(409);
    await leave(next.id);
    expect((await lease(next.id, two.token)).status).toBe(200);
  });

  it('is one for each officer, and a manager takes it over', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const [first, second] = [await lateAccount(), await lateAccount()];
    await dataOf(lease(first.id, one.token));
    await dataOf(lease(second.id, one.token));
    expect((await lease(first.id, two.token)).status).toBe(200);
    expect((await lease(second.id, two.token, { takeOver: true })).status).toBe(403);
    expect((await lease(second.id, service.adminToken, { takeOver: true })).status).toBe(200);
    expect((await lease(second.id, one.token)).status).toBe(409);
  });
});

describe('the result of a call', () => {
  it('is saved with its author, and never with its note in an event', async () => {
    const officer = await newOfficer();
    const { id } = await lateAccount();
    const call = await saved(
      id,
      { result: 'other', note: 'a private word', nextCallOn: '2026-11-05' },
      officer.token,
    );
    expect(call).toMatchObject({
      accountId: id,
      kind: 'call',
      result: 'other',
      note: 'a private word',
      officer: officer.name,
      date: TODAY,
      isMistake: false,
      warnings: [],
    });
    const { events } = await dataOf(service.call('GET', '/events?limit=1000&types=call.*'));
    expect(JSON.stringify(events)).not.toContain('a private word');
    expect(await dataOf(service.call('GET', `/calls/${call.id}`))).toMatchObject({ note: 'a private word' });
  });

  it.each([
    [{ result: 'reached' }, 'nextCallOn'],
    [{ result: 'promise', promise: { amount: 22_800.01, date: '2026-11-05' } }, 'promise.amount'],
    [{ result: 'promise', promise: { amount: 400, date: '2026-11-01' } }, 'promise.date'],
    [{ kind: 'visit', result: 'no_answer', phone: '0712000000' }, 'phone'],
    [{ result: 'no_answer', phone: '0712000000' }, 'phone'],
  ])('is refused: %j', async (body, field) => {
    const { id } = await lateAccount();
    expect(wrongFields(await record(id, body))).toEqual([field]);
  });

  it.each([
    [{ result: 'no_answer' }, TODAY],
    [{ result: 'reached', nextCallOn: TODAY }, TODAY],
    [{ result: 'reached', nextCallOn: '2026-11-05' }, '2026-11-05'],
    [{ result: 'other', nextCallOn: '2026-11-05' }, '2026-11-05'],
    [{ result: 'promise', promise: { amount: 400, date: '2026-11-05' } }, '2026-11-06'],
  ])('hides the account until the next call: %j', async (body, day) => {
    const { id } = await lateAccount();
    await saved(id, body);
    if (day !== TODAY) {
      setToday(service, addDays(day as PlainDate, -1));
      expect(await isShown(id)).toBe(false);
      expect(await isShown(id, '&shown=hidden')).toBe(true);
    }
    setToday(service, day);
    expect(await isShown(id)).toBe(true);
  });

  it('wrong_number hides all accounts of the phone until the phone of the customer changes', async () => {
    const customer = await newCustomer(service);
    const accounts = [
      await lateAccount({ customerId: customer.id }),
      await lateAccount({ customerId: customer.id }),
    ];
    await saved(accounts[0].id, { result: 'wrong_number' });
    expect(await isShown(accounts[0].id)).toBe(false);
    expect(await isShown(accounts[1].id)).toBe(false);
    await dataOf(service.call('PUT', `/customers/${customer.id}`, { secondPhone: '0799 000 017' }));
    expect(await isShown(accounts[1].id)).toBe(true);
    await saved(accounts[0].id, { result: 'wrong_number', phone: '0799 000 017' });
    expect(await isShown(accounts[0].id)).toBe(false);
    await dataOf(
      service.call('PUT', `/customers/${customer.id}`, { phone: '0799 000 018', secondPhone: null }),
    );
    expect(await isShown(accounts[0].id)).toBe(true);
  });

  it('can be for a phone that an earlier version stored, and that would be refused today', async () => {
    const phone = '+254071234567';
    const { id, customerId } = await lateAccount();
    await service.context.db.updateTable('customers').set({ phone }).where('id', '=', customerId).execute();
    expect(await saved(id, { result: 'no_answer', phone })).toMatchObject({ phone });
    expect(wrongFields(await record(id, { result: 'no_answer', phone: '+254071234568' }))).toEqual(['phone']);
  });

  it('has a note with line breaks, but without characters that change the direction of text', async () => {
    const { id } = await lateAccount();
    const note = 'Paid already.\nHas the receipt.';
    expect(await saved(id, { result: 'dispute', note })).toMatchObject({ note });
    expect(wrongFields(await record(id, { result: 'dispute', note: 'paid \u202edesrever' }))).toEqual([
      'note',
    ]);
  });

  it('dispute hides the account until a manager closes it', async () => {
    const { id } = await lateAccount();
    const officer = await newOfficer();
    const call = await saved(id, { result: 'dispute', note: 'paid already' }, officer.token);
    expect(await isShown(id)).toBe(false);
    const close = (token = service.adminToken) =>
      service.call('POST', `/calls/${call.id}/close-dispute`, { reason: 'the payment was found' }, { token });
    expect((await close(officer.token)).status).toBe(403);
    expect(await dataOf(close())).toMatchObject({ disputeClosedReason: 'the payment was found' });
    expect(await isShown(id)).toBe(true);
    expect((await close()).status).toBe(409);
  });

  it('warns at the fourth attempt of a day, and outside 8 to 19 h', async () => {
    const { id } = await lateAccount();
    const codes = ({ warnings }: { warnings: { code: string }[] }) => warnings.map(({ code }) => code);
    for (let n = 0; n < 3; n++) expect(codes(await saved(id, { result: 'no_answer' }))).toEqual([]);
    const form = await dataOf(service.call('GET', `/call-list/${id}/form`));
    expect(codes(form)).toEqual(['fourth_attempt']);
    expect(codes(await saved(id, { result: 'no_answer' }))).toEqual(['fourth_attempt']);
    setToday(service, '2026-11-03');
    expect(codes(await saved(id, { result: 'no_answer' }))).toEqual([]);
    service.clock.set(new Date('2026-11-04T16:00:00Z'));
    expect(codes(await saved(id, { result: 'no_answer' }))).toEqual(['outside_hours']);
  });

  it('can be marked as a mistake by its author on the same day, and is then visible but not counted', async () => {
    const officer = await newOfficer();
    const { id } = await lateAccount();
    const promise = { amount: 400, date: '2026-11-05' };
    const call = await saved(id, { result: 'promise', promise }, officer.token);
    const mark = (callId: number, token: string) =>
      service.call('POST', `/calls/${callId}/mark-mistake`, undefined, { token });
    expect((await mark(call.id, service.adminToken)).status).toBe(409);
    expect(await isShown(id)).toBe(false);
    expect(await dataOf(mark(call.id, officer.token))).toMatchObject({ isMistake: true });
    expect(await isShown(id)).toBe(true);
    expect((await entryOf(id)).lastCall).toBeNull();
    const [shown] = await dataOf(service.call('GET', `/promises?filter[accountId]=${id}`));
    expect(shown.state).toBe('void');
    expect(await dataOf(service.call('GET', `/calls?filter[accountId]=${id}`))).toMatchObject([
      { isMistake: true },
    ]);
    const yesterday = await saved(id, { result: 'no_answer' }, officer.token);
    setToday(service, '2026-11-03');
    expect((await mark(yesterday.id, officer.token)).status).toBe(409);
  });
});

describe('the note of a call', () => {
  const TEXT = 'His neighbour Otieno drinks';

  it('is hidden by a manager with a reason, and then shown nowhere', async () => {
    const { id, customerId } = await lateAccount();
    const officer = await newOfficer();
    const manager = await newOfficer({ role: 'manager' });
    const call = await saved(id, { result: 'dispute', note: TEXT }, officer.token);
    const hide = (token: string) =>
      service.call('POST', `/calls/${call.id}/hide-note`, { reason: 'about another person' }, { token });
    const pages = [
      `/calls/${call.id}`,
      `/calls?filter[accountId]=${id}`,
      `/call-list/${id}/form`,
      `/customers/${customerId}/timeline`,
      `/accounts/${id}/timeline`,
    ];
    const showing = async () => {
      const texts = await Promise.all(pages.map(async (page) => (await service.call('GET', page)).text));
      return pages.filter((_, at) => texts[at]?.includes(TEXT));
    };
    expect(await showing()).toEqual(pages);
    expect((await hide(officer.token)).status).toBe(403);
    expect(await dataOf(hide(manager.token))).toMatchObject({
      note: null,
      noteHiddenBy: manager.name,
      noteHiddenReason: 'about another person',
      result: 'dispute',
    });
    expect(await showing()).toEqual([]);
    const { entries } = await dataOf(service.call('GET', `/accounts/${id}/timeline?kind=call`));
    expect(entries).toMatchObject([{ kind: 'call', resourceId: call.id, isNoteHidden: true }]);
    expect((await hide(manager.token)).status).toBe(409);
    const { text: events } = await service.call('GET', '/events?limit=1000&types=call.*');
    expect(events).not.toContain(TEXT);
    const { text: audited } = await service.call(
      'GET',
      `/audit?filter[resource]=call&filter[resourceId]=${call.id}`,
    );
    expect(audited).toContain('call.hide_note');
    expect(audited).not.toContain(TEXT);
    const { rows } = await service.parts.pool.query('select note from calls where id = $1', [call.id]);
    expect(rows).toEqual([{ note: TEXT }]);
  });

  it('is also hidden in the answers that repeated requests get', async () => {
    const { id } = await lateAccount();
    const body = { accountId: id, kind: 'visit', result: 'dispute', note: TEXT };
    const repeat = (path: string, sent?: object) =>
      service.call('POST', path, sent, {
        token: service.adminToken,
        headers: { 'idempotency-key': `hidden ${path}` },
      });
    const call = await dataOf(repeat('/calls', body), 201);
    const other = await dataOf(
      service.call('POST', '/calls', body, { headers: { 'idempotency-key': 'another call' } }),
      201,
    );
    const closed = await dataOf(repeat(`/calls/${call.id}/close-dispute`, { reason: 'agreed' }));
    expect([call.note, other.note, closed.note]).toEqual([TEXT, TEXT, TEXT]);
    await dataOf(repeat(`/calls/${call.id}/hide-note`, { reason: 'private' }));
    expect((await dataOf(repeat('/calls', body), 201)).note).toBeNull();
    expect((await dataOf(repeat(`/calls/${call.id}/close-dispute`, { reason: 'agreed' }))).note).toBeNull();
    expect(
      (
        await dataOf(
          service.call('POST', '/calls', body, { headers: { 'idempotency-key': 'another call' } }),
          201,
        )
      ).note,
    ).toBe(TEXT);
  });

  it('cannot be hidden if there is none, and is hidden once if two managers do it at the same time', async () => {
    const { id } = await lateAccount();
    const without = await saved(id, { result: 'no_answer' });
    const hide = (callId: number, instance: Pick<typeof service, 'call'> = service) =>
      instance.call(
        'POST',
        `/calls/${callId}/hide-note`,
        { reason: 'private' },
        { token: service.adminToken },
      );
    expect((await hide(without.id)).status).toBe(409);
    const call = await saved(id, { result: 'no_answer', note: TEXT });
    const answers = await Promise.all([hide(call.id), hide(call.id, other)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe('a promise', () => {
  const promise = (accountId: number, amount: number, date: string, token?: string) =>
    saved(accountId, { result: 'promise', promise: { amount, date } }, token);
  const statesOf = async (accountId: number): Promise<string[]> => {
    const rows = await dataOf(service.call('GET', `/promises?filter[accountId]=${accountId}&sort=id:asc`));
    return rows.map(({ state }: { state: string }) => state);
  };
  const at = (time: string) => service.clock.set(new Date(`2026-11-02T${time}Z`));

  it.each([
    ['kept by the whole amount', 800, 'kept'],
    ['partly kept by a part', 799.99, 'partly_kept'],
    ['broken without money', 0, 'broken'],
  ])('is judged on the day after its date: %s', async (_what, amount, state) => {
    const { id } = await lateAccount();
    await promise(id, 800, '2026-11-05');
    setToday(service, '2026-11-05');
    if (amount > 0) await pay(service, id, amount);
    expect(await statesOf(id)).toEqual(['open']);
    setToday(service, '2026-11-06');
    expect(await statesOf(id)).toEqual([state]);
  });

  it('counts only money dated from its day to its date, and not recorded before it', async () => {
    const { id } = await lateAccount();
    at('09:00:00');
    await pay(service, id, 400);
    at('10:00:00');
    await promise(id, 400, '2026-11-03');
    setToday(service, '2026-11-04');
    await pay(service, id, 400, { paymentDate: '2026-11-01' });
    await pay(service, id, 400, { paymentDate: '2026-11-04' });
    expect(await statesOf(id)).toEqual(['broken']);
    const late = await pay(service, id, 400, { paymentDate: '2026-11-03' });
    expect(await statesOf(id)).toEqual(['kept']);
    await dataOf(service.call('POST', `/payments/${late.id}/reverse`, { reason: 'entered by mistake' }));
    expect(await statesOf(id)).toEqual(['broken']);
  });

  it('does not count money from before it that is corrected after it', async () => {
    const officer = await newOfficer();
    const { id } = await lateAccount();
    at('09:00:00');
    const { id: paymentId } = await pay(service, id, 100);
    at('10:00:00');
    await promise(id, 400, '2026-11-03', officer.token);
    at('11:00:00');
    let last = paymentId;
    for (const amount of [400, 500]) {
      const body = { amount, reason: 'typed wrongly' };
      last = (await dataOf(service.call('POST', `/payments/${last}/correct-amount`, body))).id;
    }
    setToday(service, '2026-11-04');
    expect(await statesOf(id)).toEqual(['broken']);
    const { rows } = await dataOf(service.call('GET', '/call-results?from=2026-11-02'));
    expect(rows.find(({ userId }: { userId: number }) => userId === officer.id)).toMatchObject({
      broken: 1,
      collected: 0,
    });
  });

  it('is replaced by a new one in time, and is broken if it had replaced one itself', async () => {
    const { id } = await lateAccount();
    await promise(id, 400, '2026-11-03');
    await promise(id, 400, '2026-11-04');
    await promise(id, 400, '2026-11-05');
    expect(await statesOf(id)).toEqual(['replaced', 'broken', 'open']);
    setToday(service, '2026-11-06');
    await promise(id, 400, '2026-11-09');
    expect(await statesOf(id)).toEqual(['replaced', 'broken', 'broken', 'open']);
  });

  it('that is already whole ends as kept when the next one is made, so that only one is open', async () => {
    const { id } = await lateAccount();
    at('09:00:00');
    await promise(id, 400, '2026-11-05');
    at('09:01:00');
    const payment = await pay(service, id, 400);
    at('09:02:00');
    await promise(id, 400, '2026-11-06');
    expect(await statesOf(id)).toEqual(['kept', 'open']);
    await dataOf(service.call('POST', `/payments/${payment.id}/reverse`, { reason: 'another customer' }));
    expect(await statesOf(id)).toEqual(['replaced', 'open']);
    at('09:03:00');
    await pay(service, id, 400);
    setToday(service, '2026-11-07');
    expect(await statesOf(id)).toEqual(['replaced', 'kept']);
  });

  it('is ended by the next one also if an earlier version of this service did not link the two', async () => {
    const { id } = await lateAccount();
    at('09:00:00');
    const first = await promise(id, 400, '2026-11-05');
    at('09:01:00');
    await pay(service, id, 400);
    at('09:02:00');
    await promise(id, 400, '2026-11-06');
    await service.parts.pool.query('update promises set replaces_id = null where account_id = $1', [id]);
    expect(await statesOf(id)).toEqual(['kept', 'open']);
    at('09:03:00');
    await pay(service, id, 100);
    setToday(service, '2026-11-09');
    expect(await statesOf(id)).toEqual(['kept', 'partly_kept']);
    setToday(service, '2026-11-02');
    expect((await service.call('POST', `/calls/${first.id}/mark-mistake`)).status).toBe(409);
  });

  it('that is made in the same millisecond as a payment counts the payment, and the one before does not', async () => {
    const { id } = await lateAccount();
    at('09:00:00');
    await promise(id, 400, '2026-11-05');
    at('09:01:00');
    const payment = await pay(service, id, 400);
    await promise(id, 400, '2026-11-05');
    await service.parts.pool.query(
      `update promises set created_at = (select created_at from payments where id = $1)
      where id = (select max(id) from promises where account_id = $2)`,
      [payment.id, id],
    );
    setToday(service, '2026-11-09');
    expect(await statesOf(id)).toEqual(['replaced', 'kept']);
  });

  it('is the only open one of its account, also if two users save one at the same time', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const { id } = await lateAccount();
    await promise(id, 400, '2026-11-05');
    await pay(service, id, 400);
    const body = {
      accountId: id,
      result: 'promise',
      kind: 'visit',
      promise: { amount: 400, date: '2026-11-06' },
    };
    const answers = await Promise.all([
      service.call('POST', '/calls', body, { token: one.token }),
      other.call('POST', '/calls', body, { token: two.token }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect((await statesOf(id)).filter((state) => state === 'open')).toHaveLength(1);
  });

  it.each(['cancelled', 'repossessed', 'written_off'])(
    'is void if the account is %s by its date',
    async (status) => {
      const [before, after] = [await lateAccount(), await lateAccount()];
      for (const { id } of [before, after]) {
        await move(service, id, 'suspended');
        await promise(id, 400, '2026-11-05');
      }
      setToday(service, '2026-11-05');
      await move(service, before.id, status);
      setToday(service, '2026-11-06');
      await move(service, after.id, status);
      expect(await statesOf(before.id)).toEqual(['void']);
      expect(await statesOf(after.id)).toEqual(['broken']);
    },
  );

  it('publishes the first judgement once, and later changes', async () => {
    const { id } = await lateAccount();
    const { promiseId } = await promise(id, 400, '2026-11-03');
    const published = async () => {
      const { events } = await dataOf(service.call('GET', '/events?limit=1000&types=promise.*'));
      return events
        .filter(({ resourceId }: { resourceId: number }) => resourceId === promiseId)
        .map(({ type, data }: { type: string; data: { status: string; previousStatus?: string } }) =>
          [type, data.previousStatus, data.status].filter(Boolean).join(' '),
        );
    };
    await runJobs(service);
    expect(await published()).toEqual([]);
    setToday(service, '2026-11-04');
    await runJobs(service);
    await runJobs(service);
    expect(await published()).toEqual(['promise.judged broken']);
    await pay(service, id, 400, { paymentDate: '2026-11-03' });
    service.clock.set(new Date('2026-11-04T11:30:00Z'));
    await runJobs(service);
    await runJobs(service);
    expect(await published()).toEqual(['promise.judged broken', 'promise.judgement_changed broken kept']);
  });
});

describe('the results of officers', () => {
  it('count by week, without payments that the officer recorded or assigned', async () => {
    const manager = await newOfficer({ role: 'manager' });
    const officer = await newOfficer();
    const [byOthers, byOfficer] = [await lateAccount(), await lateAccount()];
    for (const { id } of [byOthers, byOfficer]) {
      const body = { result: 'promise', promise: { amount: 400, date: '2026-11-05' } };
      await saved(id, body, id === byOthers.id ? officer.token : manager.token);
    }
    await saved(byOfficer.id, { result: 'no_answer' }, manager.token);
    setToday(service, '2026-11-04');
    await pay(service, byOthers.id, 400);
    const paying = { accountId: byOfficer.id, amount: 400, paymentMethodId: 2 };
    await dataOf(service.call('POST', '/payments', paying, { token: manager.token }), 201);
    setToday(service, '2026-11-06');
    const resultsFor = async (token: string) =>
      (await dataOf(service.call('GET', '/call-results?from=2026-11-02', undefined, { token }))).rows;
    const own = await resultsFor(officer.token);
    expect(own).toMatchObject([
      {
        userId: officer.id,
        week: '2026-W45',
        calls: 1,
        contacts: 1,
        promises: 1,
        keptShare: { numerator: 1, denominator: 1, ratio: 1 },
        keptValueShare: { numerator: 400, denominator: 400, ratio: 1 },
        collected: 400,
      },
    ]);
    const all = await resultsFor(service.adminToken);
    expect(all.find(({ userId }: { userId: number }) => userId === manager.id)).toMatchObject({
      calls: 2,
      contacts: 1,
      broken: 1,
      keptShare: { numerator: 0, denominator: 1, ratio: 0 },
      keptValueShare: { numerator: 0, denominator: 400 },
      collected: 400,
    });
  });

  it('leave out payments that the officer corrected, also if another person corrects them again', async () => {
    const manager = await newOfficer({ role: 'manager' });
    const { id } = await lateAccount();
    await saved(id, { result: 'promise', promise: { amount: 400, date: '2026-11-05' } }, manager.token);
    setToday(service, '2026-11-04');
    const { id: paymentId } = await pay(service, id, 10);
    const correct = (corrected: number, amount: number, token = service.adminToken) => {
      const body = { amount, reason: 'typed wrongly' };
      return dataOf(service.call('POST', `/payments/${corrected}/correct-amount`, body, { token }));
    };
    const shareOf = async () => {
      const { rows } = await dataOf(service.call('GET', '/call-results?from=2026-11-02'));
      return rows.find(({ userId }: { userId: number }) => userId === manager.id).keptShare.numerator;
    };
    const corrected = await correct(paymentId, 400, manager.token);
    setToday(service, '2026-11-06');
    const [shown] = await dataOf(service.call('GET', `/promises?filter[accountId]=${id}`));
    expect(shown.state).toBe('kept');
    expect(await shareOf()).toBe(0);
    await correct(corrected.id, 450);
    expect(await shareOf()).toBe(0);
  });

  it('leave out payments whose correction the officer requested and another person approved', async () => {
    const limited = await startInstanceForTest(service, { APPROVAL_LIMIT: '1' });
    const manager = await newOfficer({ role: 'manager' });
    const shareOf = async () => {
      const { rows } = await dataOf(service.call('GET', '/call-results?from=2026-11-02'));
      return rows.find(({ userId }: { userId: number }) => userId === manager.id).keptShare.numerator;
    };
    const accounts = [await lateAccount(), await lateAccount()];
    for (const { id } of accounts)
      await saved(id, { result: 'promise', promise: { amount: 400, date: '2026-11-05' } }, manager.token);
    setToday(service, '2026-11-04');
    for (const [at, decision] of ['approve', 'reject'].entries()) {
      const payment = await pay(service, accounts[at]?.id ?? 0, at === 0 ? 10 : 400);
      const path = `/payments/${payment.id}/correct-amount`;
      const body = { amount: at === 0 ? 400 : 10, reason: 'typed wrongly' };
      const request = await dataOf(limited.call('POST', path, body, { token: manager.token }), 202);
      const reason = decision === 'reject' ? { reason: 'it is right' } : undefined;
      await dataOf(
        limited.call('POST', `/approvals/${request.id}/${decision}`, reason, { token: service.adminToken }),
      );
    }
    setToday(service, '2026-11-06');
    for (const { id } of accounts) {
      const [shown] = await dataOf(service.call('GET', `/promises?filter[accountId]=${id}`));
      expect(shown.state).toBe('kept');
    }
    // Only the payment whose correction was rejected is left as it was.
    expect(await shareOf()).toBe(1);
  });

  it('give each payment once, to the officer of the latest contact within seven days', async () => {
    const [one, two] = [await newOfficer(), await newOfficer()];
    const { id } = await lateAccount();
    const reached = { result: 'reached', nextCallOn: TODAY };
    await saved(id, reached, one.token);
    setToday(service, '2026-11-04');
    await saved(id, { ...reached, nextCallOn: '2026-11-04' }, two.token);
    await saved(id, { result: 'no_answer' }, one.token);
    setToday(service, '2026-11-11');
    await pay(service, id, 300);
    setToday(service, '2026-11-12');
    await pay(service, id, 100);
    const { rows } = await dataOf(service.call('GET', '/call-results?from=2026-11-02'));
    const collected = (userId: number) =>
      rows
        .filter((row: { userId: number }) => row.userId === userId)
        .reduce((sum: number, row: { collected: number }) => sum + row.collected, 0);
    expect([collected(one.id), collected(two.id)]).toEqual([0, 300]);
  });
});
