import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { openBook } from '../../tools/simulator/provider-api/book.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import {
  CUSTOMER_ANSWERS,
  type CustomerAnswer,
  createStkPush,
  type Prompt,
  type PromptPlan,
} from '../../tools/simulator/provider-api/stk-push.ts';
import { expectVerifyToPass } from './books.ts';
import { inParallel, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  type Ended,
  type Environment,
  freePort,
  NO_RATE_LIMITS,
  newDatabase,
  report,
  startService,
  USUAL_LIMITS,
} from './process.ts';

/** Sends payment requests concurrently through every failure of the simulator, while the service is killed. */

const REQUESTS = Number(process.env.PAYMENT_REQUESTS ?? 120);
const AT_ONCE = 50;
/** Ends only a test that hangs. */
const SETTLE_MS = 600_000 + REQUESTS * 200;
const DOWN_MS = 2_000;
const CALLBACK_URL = 'http://service.test';
const SHORT_CODE = '600638';

cleanUpAfterwards();

const CUSTOMERS = Object.keys(CUSTOMER_ANSWERS) as CustomerAnswer[];
const CALL_ANSWERS = [
  'accepted',
  'accepted',
  'accepted',
  'late',
  'lost',
  'error',
  'refused',
  'phone_busy',
] as const;
const REPORTS = ['once', 'twice', 'never', 'early', 'late'] as const;
const NOTIFICATIONS = ['first', 'last', 'last', 'never'] as const;

/** The parts of a plan change at different rates, so that many combinations occur. */
function planOf(n: number): PromptPlan {
  const customer = n % 2 === 0 ? 'paid' : (CUSTOMERS[Math.floor(n / 2) % CUSTOMERS.length] ?? 'paid');
  const callAnswer = CALL_ANSWERS[Math.floor(n / 3) % CALL_ANSWERS.length] ?? 'accepted';
  const reportPlan = REPORTS[Math.floor(n / 7) % REPORTS.length] ?? 'once';
  const notification = NOTIFICATIONS[Math.floor(n / 5) % NOTIFICATIONS.length] ?? 'last';
  return {
    customer,
    callAnswer,
    report: reportPlan,
    // A payment that is neither reported nor notified is found only on the provider's statement.
    notification: reportPlan === 'never' && notification === 'never' ? 'last' : notification,
    failedQueries: n % 3,
    // Only the provider's report names the request of a payment with another reference.
    ...(n % 11 === 0 && reportPlan !== 'never' && { reference: 'SOLAR' }),
  };
}

it(`${REQUESTS} requests at once end in a correct state, and no payment is lost or doubled`, async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const stk = createStkPush({
    book: openBook(SHORT_CODE),
    planOf,
    notificationUrl: () => `${origin}/api/webhooks/payments/mobilemoney`,
    reportUrl: (given) => given.replace(CALLBACK_URL, origin),
    answerMs: 200,
  });
  const provider = await startProviderApi({ operations: stk.operations });
  afterAll(() => provider.close());
  const databaseUrl = await newDatabase();
  const environment: Environment = {
    ...NO_RATE_LIMITS,
    ...USUAL_LIMITS,
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'error',
    TEST_CLOCK: 'on',
    MOBILEMONEY_API_URL: provider.url,
    MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
    MOBILEMONEY_SHORT_CODE: SHORT_CODE,
    MOBILEMONEY_PASSKEY: 'passkey',
    MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
  };
  let service = await startService(environment);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  const token = await registerAdmin(service);
  const accounts = await openAccounts((path, body) => service.call('POST', path, body, { token }));

  // Each request is repeated with its key until it is answered, as a client does.
  let killed: Promise<Ended> | undefined;
  let created = 0;
  const start = Date.now();
  await inParallel(AT_ONCE, accounts, async ({ id, phone }, n) => {
    const headers = { 'idempotency-key': `request ${n}` };
    for (;;) {
      const path = `/accounts/${id}/payment-requests`;
      const answer = await service
        .call('POST', path, { amount: 100 + (n % 50), phone }, { token, headers })
        .catch(() => undefined); // The service was killed.
      if (answer?.status === 201) break;
      if (answer && answer.status < 500 && answer.status !== 409) throw new Error(answer.text);
      await sleep(200);
    }
    created += 1;
    if (n % 10 === 0) provider.tokens.expireAll();
    if (n % 40 === 1) provider.failures.refusedAsBusy += 2;
    if (created === Math.floor(REQUESTS / 4)) {
      provider.failures.isDown = true;
      void sleep(DOWN_MS).then(() => {
        provider.failures.isDown = false;
      });
    }
    if (created === Math.floor(REQUESTS / 2)) {
      killed = service.kill();
      await killed;
      service = await startService(environment);
    }
  });
  report(
    `${REQUESTS} requests stored in ${Math.round((Date.now() - start) / 1000)} s, one kill in the middle`,
  );
  expect(killed).toBeDefined();

  const unsent = async () => {
    const { rows } = await pool.query(
      `select from payment_requests where status = 'requested' and send_started_at is null`,
    );
    return rows.length;
  };
  while ((await unsent()) > 0) {
    if (Date.now() - start > SETTLE_MS) throw new Error(`${await unsent()} requests were not sent.`);
    await sleep(500);
  }

  // The calls for outcomes come after minutes. The test clock makes them due, and runs the minute jobs.
  const open = async () => {
    const { rows } = await pool.query<{ open: number }>(
      `select count(*)::int as open from payment_requests r
       where status in ('requested', 'sent') or status = 'unknown' and next_step_at is not null
         or status = 'paid' and payment_id is null
         or status = 'unknown' and exists (select from payments p where p.account_id = r.account_id)`,
    );
    return rows[0]?.open ?? 0;
  };
  let minutes = 0;
  for (let left = await open(); left > 0; left = await open()) {
    if (Date.now() - start > SETTLE_MS) {
      const { rows } = await pool.query(
        `select r.*, n.id as notification_id, n.status as notification_status, n.outcome, n.payment_id as posted
         from payment_requests r left join notifications n on n.payment_request_id = r.id or n.trans_id = r.receipt
         where r.ended_at is null or r.status = 'paid' and r.payment_id is null limit 8`,
      );
      throw new Error(`${left} requests are not settled: ${JSON.stringify(rows)}`);
    }
    await stk.settled();
    minutes += 2;
    const now = new Date(Date.now() + minutes * 60_000).toISOString();
    await service.call('PUT', '/test/clock', { now }, { token });
    await sleep(1_000);
  }
  await stk.settled();

  const { rows } = await pool.query<Shown>(
    `select r.id, r.phone, r.provider_request_id as "requestId", r.status, r.reason, r.amount_minor::int as amount, r.account_id::int as "accountId",
       p.provider_trans_id as receipt, p.account_id::int as "paidAccountId", p.amount_minor::int as paid
     from payment_requests r left join payments p on p.id = r.payment_id order by r.id`,
  );
  expect(rows).toHaveLength(REQUESTS);
  const promptsOf = (phone: string) => stk.prompts.filter((prompt) => `+${prompt.phone}` === phone);
  const untrue = rows.flatMap((row) => problemOf(row, promptsOf(row.phone)) ?? []);
  expect(untrue).toEqual([]);

  const receipts = stk.prompts.flatMap(({ receipt }) => receipt ?? []);
  const posted = await pool.query<{ id: string }>(`select provider_trans_id as id from payments order by 1`);
  expect(posted.rows.map(({ id }) => id)).toEqual(receipts.sort());

  const counts = new Map<string, number>();
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  report([...counts].map(([status, count]) => `${status} ${count}`).join(', '));
  await pool.end();
  await service.stop();
  await expectVerifyToPass(databaseUrl);
});

interface Shown {
  id: number;
  phone: string;
  requestId: string | null;
  status: string;
  reason: string | null;
  amount: number;
  accountId: number;
  receipt: string | null;
  paidAccountId: number | null;
  paid: number | null;
}

/** What is wrong about a request, compared with the book of the provider. */
function problemOf(row: Shown, prompts: readonly Prompt[]): string | undefined {
  const is = `Request ${row.id} is ${row.status} (${row.reason})`;
  if (prompts.length > 1) return `${is}, but its phone was asked ${prompts.length} times.`;
  const [prompt] = prompts;
  if (row.status === 'paid') {
    if (prompt?.receipt == null) return `${is}, but nobody paid.`;
    if (row.receipt !== prompt.receipt) return `${is} with ${row.receipt}, but ${prompt.receipt} was paid.`;
    if (row.paid !== row.amount || row.paidAccountId !== row.accountId)
      return `${is}, but ${row.paid} was posted to account ${row.paidAccountId}.`;
    return undefined;
  }
  // Without a report and without the provider’s id, only a payment shows the outcome.
  if (row.status === 'unknown') {
    if (row.requestId !== null) return `${is}, but the provider could say what happened.`;
    return prompt?.receipt == null ? undefined : `${is}, but its payment ${prompt.receipt} was notified.`;
  }
  if (prompt?.receipt != null) return `${is}, but ${prompt.receipt} was paid.`;
  if (row.reason === 'refused' || row.reason === 'phone_busy' || row.reason === 'not_sent')
    return prompt ? `${is}, but the phone was asked.` : undefined;
  return row.reason === prompt?.answer
    ? undefined
    : `${is}, but the customer’s answer was ${prompt?.answer}.`;
}

const BULK = 500;

/** Opens an account with a new phone for each request. */
async function openAccounts(
  post: (path: string, body: object) => Promise<{ status: number; text: string; body: { data: Bulk } }>,
): Promise<{ id: number; phone: string }[]> {
  const opened: { id: number; phone: string }[] = [];
  for (let first = 0; first < REQUESTS; first += BULK) {
    const phones = Array.from(
      { length: Math.min(BULK, REQUESTS - first) },
      (_, n) => `+25471${String(2_000_000 + first + n)}`,
    );
    const items = phones.map((phone, n) => ({ firstName: 'Test', lastName: `Customer ${first + n}`, phone }));
    const customers = await post('/customers/bulk', { items });
    expect(customers.status, customers.text).toBe(200);
    const accounts = await post('/accounts/bulk', {
      items: idsOf(customers.body.data).map((customerId) => ({ customerId, productId: 1, payplanId: 2 })),
    });
    expect(accounts.status, accounts.text).toBe(200);
    for (const [n, id] of idsOf(accounts.body.data).entries()) opened.push({ id, phone: phones[n] ?? '' });
  }
  return opened;
}

interface Bulk {
  items: { data?: { id: number } }[];
}

function idsOf({ items }: Bulk): number[] {
  return items.map(({ data }) => data?.id ?? 0);
}
