import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { median } from '../acceptance/client.ts';
import { cleanUpAfterwards, report } from '../acceptance/process.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { accountNow, newAccount, startInstance, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { type Reply, refusalOf, send } from './wire.ts';

/**
 * Attackers without the secret, or with an old notification. test/api/webhook.test.ts tests unreadable, retried, repeated and
 * contradicting notifications, and lists of networks.
 */
cleanUpAfterwards();
const SECRET = 'sesame-and-more-of-it';
const service = useService({ WEBHOOK_SECRET: SECRET });
let account: { id: number; accountNumber: string };

beforeAll(async () => {
  account = await newAccount(service);
});

const PATH = '/api/webhooks/payments/mobilemoney';
const post = (
  body: unknown,
  path = PATH,
  headers: Record<string, string | string[]> = {},
  origin = service.origin,
) => send(origin, { method: 'POST', path, headers, body: JSON.stringify(body) });
const paying = () => notification({ BillRefNumber: account.accountNumber });

/** Everything that a notification could leave: its raw record, a payment, an entry, a line of the audit trail. */
async function traces(): Promise<Record<string, number>> {
  const { rows } = await sql<Record<string, number>>`select
    (select count(*) from notifications) as notifications, (select count(*) from payments) as payments,
    (select count(*) from ledger_entries) as entries, (select count(*) from audit_entries) as audit`.execute(
    service.context.db,
  );
  return rows[0] ?? {};
}

async function expectNoEffect(attempt: () => Promise<Reply>, statuses: number[]): Promise<void> {
  const before = await traces();
  const reply = await attempt();
  expect(statuses, reply.text).toContain(reply.status);
  refusalOf(reply);
  expect(await traces()).toEqual(before);
}

describe('without the secret', () => {
  it.each<[string, string, Record<string, string | string[]>]>([
    ['nothing', PATH, {}],
    ['an empty one', PATH, { 'x-webhook-secret': '' }],
    ['another', PATH, { 'x-webhook-secret': 'sesame' }],
    ['another case', PATH, { 'x-webhook-secret': SECRET.toUpperCase() }],
    ['a part', PATH, { 'x-webhook-secret': SECRET.slice(0, -1) }],
    ['more than it', PATH, { 'x-webhook-secret': `${SECRET}x` }],
    ['it twice', PATH, { 'x-webhook-secret': [SECRET, SECRET] }],
    ['it as a bearer token', PATH, { authorization: `Bearer ${SECRET}` }],
    ['it under another name', PATH, { 'x-secret': SECRET, 'webhook-secret': SECRET }],
    ['it as another parameter', `${PATH}?secret=${SECRET}`, {}],
    ['it twice as a parameter', `${PATH}?token=${SECRET}&token=${SECRET}`, {}],
    ['it as a list', `${PATH}?token[]=${SECRET}`, {}],
    ['a wrong header and the right parameter', `${PATH}?token=${SECRET}`, { 'x-webhook-secret': 'wrong' }],
    ['another spelling of the path', `${PATH}/?x`, {}],
    ['the other version', PATH.replace('/api', '/api/v1'), {}],
    ['a forged address', PATH, { 'x-forwarded-for': '127.0.0.1' }],
    ['the admin’s token', PATH, { authorization: 'as below' }],
  ])('%s has no effect', async (_what, path, headers) => {
    const sent =
      headers.authorization === 'as below' ? { authorization: `Bearer ${service.adminToken}` } : headers;
    await expectNoEffect(() => post(paying(), path, sent), [401, 404]);
  });

  it('the secret in the body has no effect, nor has another method', async () => {
    await expectNoEffect(() => post({ ...paying(), token: SECRET, 'X-Webhook-Secret': SECRET }), [401]);
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = JSON.stringify(paying());
      const path = `${PATH}?token=${SECRET}`;
      await expectNoEffect(() => send(service.origin, { method, path, body }), [404]);
    }
  });

  it('refuses a wrong secret in a time that does not depend on its correct prefix', async () => {
    const time = async (secret: string) => (await post({}, PATH, { 'x-webhook-secret': secret })).ms;
    const medians: number[] = [];
    for (const secret of ['wrong', SECRET.slice(0, -1)]) {
      const times: number[] = [];
      for (let n = 0; n < 51; n++) times.push(await time(secret));
      medians.push(median(times));
    }
    // The service compares digests in constant time. This limit would show only a large difference.
    expect(Math.abs((medians[0] ?? 0) - (medians[1] ?? 0))).toBeLessThan(5);
  });
});

describe('from a wrong address', () => {
  it('even the secret has no effect', async () => {
    const elsewhere = await startInstance(service, {
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOWED_IPS: '196.201.214.0/24',
    });
    await expectNoEffect(
      () =>
        post(
          paying(),
          PATH,
          { 'x-webhook-secret': SECRET, 'x-forwarded-for': '196.201.214.7' },
          elsewhere.origin,
        ),
      [403],
    );
    await elsewhere.close();
  });
});

describe('a replayed notification', () => {
  it('is credited once, repeated unchanged or altered', async () => {
    const before = (await accountNow(service, account.id)).paid;
    const sent = paying();
    const headers = { 'x-webhook-secret': SECRET };
    const replies = await Promise.all([
      ...Array.from({ length: 20 }, () => post(sent, PATH, headers)),
      ...Array.from({ length: 5 }, () => post({ ...sent, TransAmount: '400.0' }, PATH, headers)),
      ...Array.from({ length: 5 }, () =>
        post({ ...sent, TransID: sent.TransID.toLowerCase() }, PATH, headers),
      ),
      ...Array.from({ length: 5 }, () => post({ ...sent, TransID: ` ${sent.TransID}\u200b` }, PATH, headers)),
      ...Array.from({ length: 5 }, (_, n) => post({ ...sent, TransAmount: `${401 + n}` }, PATH, headers)),
      ...Array.from({ length: 5 }, () => post({ ...sent, BillRefNumber: 'another' }, PATH, headers)),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    const { rows } = await sql<{ payments: number; amount: number }>`
      select count(*) as payments, sum(amount_minor)::bigint as amount from payments
      where provider_trans_id = ${sent.TransID}`.execute(service.context.db);
    expect(rows[0]?.payments).toBe(1);
    const credited = (await accountNow(service, account.id)).paid - before;
    // Only the first notification to arrive creates a payment. It credits nothing if its reference is 'another'.
    expect(credited === 0 || credited * 100 === Number(rows[0]?.amount)).toBe(true);
    await expectBooksToBalance(service.context);
    report(`a recorded notification, ${replies.length} times at once: 1 payment`);
  });
});

describe('the cause of an internal failure', () => {
  it('is not shown in the worklist', async () => {
    const { db } = service.context;
    await sql
      .raw(`create function fail_for_a_test() returns trigger language plpgsql as
        $$ begin raise exception 'relation "inside" of /srv/app'; end $$;
      create trigger fail_for_a_test before insert on payments for each row execute function fail_for_a_test()`)
      .execute(db);
    const sent = paying();
    try {
      const reply = await post(sent, PATH, { 'x-webhook-secret': SECRET });
      expect(JSON.parse(reply.text).data.outcome).toBe('pending');
    } finally {
      await sql.raw('drop function fail_for_a_test cascade').execute(db);
    }
    const seen = await service.call('GET', `/notifications?filter[transactionRef]=${sent.TransID}`);
    expect(seen.body.data).toHaveLength(1);
    expect(seen.body.data[0].failure).toMatch(/retries/);
    expect(seen.text).not.toContain('inside');
  });
});
