import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { createRandom } from '../../tools/simulator/traffic.ts';
import { cents, inParallel, inTurn, PASSWORD, sumOf } from '../acceptance/client.ts';
import type { RunningService } from '../acceptance/process.ts';
import { send } from '../faults/clients.ts';
import { readAll } from '../support/expected-figures.ts';

/** How many of 100 requests are reads, payments, and other writes. */
export const SHARES = { reads: 70, money: 25, 'other writes': 5 } as const;
type Share = keyof typeof SHARES;

/** Users who read payments and reports, users who record payments, users who decide, the provider, and callers without a token. */
type Asker = 'reader' | 'cashier' | 'manager' | 'provider' | 'nobody';

interface Ask {
  as: Asker | User;
  /** Default: GET. */
  method?: 'POST' | 'PUT';
  path: string;
  body?: unknown;
  /** The Idempotency-Key. */
  key?: string;
  /** The expected status. Default: 200. */
  status?: number;
  // biome-ignore lint/suspicious/noExplicitAny: other tests compare the answers with openapi.json.
  done?(data: any, user: User | undefined): void;
}

/** A kind of request. `ask` returns undefined if there is nothing of this kind to do now. */
interface Kind {
  name: string;
  share: Share;
  weight: number;
  ask(): Ask | undefined;
}

interface User {
  email: string;
  role: string;
  token: string;
  refreshToken: string;
}

interface Account {
  id: number;
  accountNumber: string;
  customerId: number;
  /** Whether the account is not paid in full during the test, so that only staff change its status. */
  isLong: boolean;
}

/** A payment that was acknowledged, as the API must show it. */
interface Entry {
  reference: string;
  cents: number;
  accountId: number | null;
  status: 'matched' | 'unmatched' | 'reversed';
}

/** An entry with the id from the acknowledgement. */
interface Acknowledged extends Entry {
  id: number;
}

/** The requests of one kind. */
export interface Tally {
  share: Share;
  name: string;
  times: number[];
}

interface TrafficOptions {
  /** The addresses of the instances, used in turn. */
  origins: readonly string[];
  /** The instance on which staff and catalogue are created. */
  service: RunningService;
  admin: User;
  webhookSecret: string;
  random: ReturnType<typeof createRandom>;
}

const WEBHOOK = '/webhooks/payments/mobilemoney';
const CASH = 2;
const STAFF = ['manager', 'finance', 'manager', 'agent', 'finance', 'viewer', 'manager', 'finance'] as const;
const FIRST_ACCOUNTS = 400;
const AT_ONCE = 4;
const FIRST_NAMES = ['Amina', 'Baraka', 'Chebet', 'Daudi', 'Esther', 'Farah', 'Grace', 'Hamisi'];
const LAST_NAMES = ['Kamau', 'Mutua', 'Njeri', 'Ochieng', 'Otieno', 'Rotich', 'Wafula', 'Wanjiru'];
/**
 * An account of the long plan is never paid in full during the test. A few payments pay an account of the short plan in full; its
 * later payments become credit.
 */
const PLANS = [
  { name: 'Weekly, one year', deposit: 2_000, instalmentAmount: 400, instalmentCount: 52 },
  { name: 'Weekly, a month', deposit: 50, instalmentAmount: 25, instalmentCount: 4 },
].map((plan) => ({ ...plan, frequency: 'weekly', graceDays: 7, autoSuspend: true }));
const MAX_WRONG_KEPT = 20;
const SETTLE_TIMEOUT_MS = 90_000;

/** The requests of a company, of random kinds, with a journal of the payments. */
export interface Traffic {
  /** Sends the next request, and records its result. */
  next(): Promise<void>;
  readonly tallies: readonly Tally[];
  /** Descriptions of the first unexpected answers. */
  readonly wrong: readonly string[];
  /** The number of unexpected answers, and how many of them had a status 5xx or were missing. */
  readonly failures: { wrong: number; broken: number };
  /** Compares the journal with what the API shows. @returns the figures as text. */
  compare(): Promise<string>;
}

/** Creates the staff, the catalogue, and the first customers. */
export async function createTraffic(options: TrafficOptions): Promise<Traffic> {
  const { origins, service, admin, webhookSecret, random } = options;
  const journal: Entry[] = [];
  const accounts: Account[] = [];
  const invoices: number[] = [];
  const matched: Acknowledged[] = [];
  const unmatched: Acknowledged[] = [];
  const byStaff: { ask: Ask; id: number; user: User }[] = [];
  const posted: { body: unknown; id: number }[] = [];
  const wrong: string[] = [];
  const failures = { wrong: 0, broken: 0 };
  let sent = 0;
  let number = 0;

  const get = (path: string) => setUp(admin, 'GET', path);
  const product = await setUp(admin, 'POST', '/products', {
    ...{ sku: 'SHS-40', name: 'Home system 40 W', category: 'home_system', price: 18_000, currency: 'KES' },
    ...{ description: 'Panel, battery, three lamps', active: true },
  });
  const [longPlan, shortPlan] = await inParallel(1, PLANS, (plan) => setUp(admin, 'POST', '/payplans', plan));
  const staff = await inParallel(2, STAFF, hire);
  const renewable = [...staff];
  await inParallel(AT_ONCE, Array.from({ length: FIRST_ACCOUNTS }), async () => {
    const { data: customer } = await setUp(admin, 'POST', '/customers', newCustomer());
    const isLong = random(4) > 0;
    const { data } = await setUp(admin, 'POST', '/accounts', newAccount(customer.id, isLong));
    accounts.push({ ...data, isLong });
  });

  /** Sends a request that must succeed. @returns the whole answer. */
  async function setUp(user: User | undefined, method: string, path: string, body?: unknown) {
    const answer = await send(service.origin, method, `/api${path}`, {
      body,
      ...(user && { token: user.token }),
    });
    expect([200, 201], `${method} ${path}: ${answer.status} ${answer.body}`).toContain(answer.status);
    return JSON.parse(answer.body);
  }

  async function hire(role: string, n: number): Promise<User> {
    const email = `${role}-${n}@example.com`;
    const name = { firstName: pick(FIRST_NAMES), lastName: pick(LAST_NAMES) };
    await setUp(admin, 'POST', '/users', { email, password: PASSWORD, role, ...name });
    const { data } = await setUp(undefined, 'POST', '/auth/login', { email, password: PASSWORD });
    return { email, role, token: data.accessToken, refreshToken: data.refreshToken };
  }

  function newCustomer() {
    number += 1;
    return {
      firstName: pick(FIRST_NAMES),
      lastName: pick(LAST_NAMES),
      phone: `+2547${String(10_000_000 + number)}`,
      nationalId: String(20_000_000 + number),
    };
  }

  function newAccount(customerId: number, isLong: boolean) {
    return { customerId, productId: product.data.id, payplanId: (isLong ? longPlan : shortPlan)?.data.id };
  }

  function newInvoice(accountId: number) {
    const items = Array.from({ length: 1 + random(5) }, (_, n) => ({
      description: `Cable number ${n + 1}, metres`,
      quantity: 1 + random(40) / 4,
      unitPrice: 80,
    }));
    return { accountId, items };
  }

  function notification(amountCents: number, reference: string, account: string, payer: number) {
    return {
      TransactionType: 'Pay Bill',
      TransID: reference,
      TransTime: nairobiTime().replace(/\D/g, '').slice(0, 14),
      TransAmount: (amountCents / 100).toFixed(2),
      BusinessShortCode: '600638',
      BillRefNumber: account,
      MSISDN: `2547${payer}`,
      FirstName: 'CUSTOMER',
    };
  }

  function newReference(): string {
    return `S${randomUUID().replaceAll('-', '').slice(0, 13)}`.toUpperCase();
  }

  function pick<T>(items: readonly T[]): T {
    const item = items[random(items.length)];
    if (item === undefined) throw new Error('The list of choices is empty.');
    return item;
  }

  /** Removes an item and returns it, so that no other request uses it. */
  function take<T>(items: T[]): T | undefined {
    return items.splice(random(items.length), 1)[0];
  }

  const account = () => pick(accounts);
  const today = nairobiTime().slice(0, 10);
  const month = `startDate=${today.slice(0, 8)}01&endDate=${today}`;
  const page = () => `limit=${pick([10, 25, 100])}&page=${1 + random(5)}`;

  const reads: Kind[] = [
    reading('account', 14, () => `/accounts/${account().id}`),
    reading('account by its number', 4, () => `/accounts?accountNumber=${account().accountNumber}`),
    reading('accounts of a status', 3, () => `/accounts?status=active&sort=daysPastDue:desc&${page()}`),
    reading('accounts that owe', 3, () => `/accounts?filter[balance][gt]=${random(22_000)}&${page()}`),
    reading('accounts of a customer', 2, () => `/accounts?customerId=${account().customerId}`),
    reading('history of an account', 2, () => `/accounts/${account().id}/history`),
    reading('payments of an account', 6, () => `/accounts/${account().id}/payments?${page()}`),
    reading('statement', 3, () => `/accounts/${account().id}/statement`),
    reading('statement as CSV', 0.4, () => `/accounts/${account().id}/statement?format=csv`),
    reading('statement as PDF', 0.15, () => `/accounts/${account().id}/statement?format=pdf`),
    reading('quote', 2, () => `/accounts/${account().id}/quote`),
    reading('customers, searched', 4, () => `/customers?search=${pick(FIRST_NAMES)}%20${pick(LAST_NAMES)}`),
    reading('customers, sorted', 2, () => `/customers?sort=lastName:asc,firstName:asc&${page()}`),
    reading('customer', 5, () => `/customers/${account().customerId}`),
    reading('KYC of a customer', 1, () => `/customers/${account().customerId}/kyc`),
    reading('payment', 3, () => matched.length > 0 && `/payments/${pick(matched).id}`),
    reading('payments of a day', 3, () => `/payments?filter[paymentDate]=${today}&${page()}`),
    reading('payments above', 2, () => `/payments?filter[amount][gte]=${random(40)}&sort=amount:desc`),
    reading('worklist', 1.5, () => `/payments/unmatched?limit=${pick([10, 25])}`, 'manager'),
    reading('notifications', 1.5, () => `/notifications?filter[outcome]=unmatched&${page()}`, 'manager'),
    reading('invoices', 2, () => `/invoices?sort=total:desc&${page()}`),
    reading('invoice', 1, () => invoices.length > 0 && `/invoices/${pick(invoices)}`),
    reading('invoice as PDF', 0.15, () => invoices.length > 0 && `/invoices/${pick(invoices)}/pdf`),
    reading('summary', 0.3, () => `/reports/accounts/summary?${month}`),
    reading('report of payments', 1, () => `/reports/payments?${month}&${page()}`),
    reading('report of payments as CSV', 0.1, () => `/reports/payments?${month}&format=csv`),
    reading('products', 1.5, () => '/products?active=true'),
    reading('pay plans', 1.5, () => '/payplans'),
    reading('payment methods', 1, () => '/payment-methods'),
    reading('reconciliations', 0.5, () => '/reconciliations'),
    reading('who am I', 1, () => '/auth/me'),
    {
      name: 'validation by the provider',
      share: 'reads',
      weight: 2,
      ask: () => ({
        as: 'provider',
        method: 'POST',
        path: `${WEBHOOK}/validation`,
        body: notification(100, newReference(), account().accountNumber, 700_000_000),
      }),
    },
  ];

  const money: Kind[] = [
    {
      name: 'payment by staff',
      share: 'money',
      weight: 8,
      ask: () => payByStaff(account()),
    },
    {
      name: 'payment by staff, sent again',
      share: 'money',
      weight: 1,
      ask: () => {
        const first = byStaff.at(-1 - random(Math.min(100, Math.max(1, byStaff.length))));
        return (
          first && {
            ...first.ask,
            as: first.user,
            done: ({ id }) => mustBe('the id of a payment sent again', id, first.id),
          }
        );
      },
    },
    {
      name: 'notification',
      share: 'money',
      weight: 13,
      ask: () => {
        const { id: accountId, accountNumber } = account();
        return notify(accountNumber, accountId, matched);
      },
    },
    {
      name: 'notification, delivered again',
      share: 'money',
      weight: 2,
      ask: () => {
        const first = posted.at(-1 - random(Math.min(100, Math.max(1, posted.length))));
        return (
          first && {
            as: 'provider',
            method: 'POST',
            path: WEBHOOK,
            body: first.body,
            done: ({ outcome, paymentId }) => {
              mustBe('the outcome of a repeat', outcome, 'repeated');
              mustBe('the payment of a repeat', paymentId, first.id);
            },
          }
        );
      },
    },
    {
      name: 'notification for nobody',
      share: 'money',
      weight: 1,
      ask: () => notify(`HOME ${newReference()}`, null, unmatched),
    },
  ];

  const others: Kind[] = [
    writing('assignment', 12, () => {
      const payment = take(unmatched);
      if (!payment) return undefined;
      const accountId = account().id;
      return {
        as: 'manager',
        path: `/payments/${payment.id}/assign`,
        body: { accountId },
        done: () => Object.assign(payment, { accountId, status: 'matched' }),
      };
    }),
    writing('reversal', 3, () => {
      const payment = take(matched);
      if (!payment) return undefined;
      return {
        as: 'manager',
        path: `/payments/${payment.id}/reverse`,
        body: { reason: 'entered twice' },
        done: () => Object.assign(payment, { status: 'reversed' }),
      };
    }),
    writing('reconciliation', 1, () => {
      if (matched.length < 200) return undefined;
      const paymentIds = Array.from({ length: 20 }, () => take(matched)?.id);
      return { as: 'manager', path: '/payments/reconcile', body: { paymentIds } };
    }),
    writing('new customer', 4, () => ({
      as: 'manager',
      path: '/customers',
      body: newCustomer(),
      status: 201,
    })),
    writing('new account', 6, () => {
      const isLong = random(4) > 0;
      return {
        as: 'manager',
        path: '/accounts',
        body: newAccount(account().customerId, isLong),
        status: 201,
        done: (data) => accounts.push({ ...data, isLong }),
      };
    }),
    writing('new invoice', 6, () => ({
      as: 'cashier',
      path: '/invoices',
      body: newInvoice(account().id),
      status: 201,
      done: ({ id }) => invoices.push(id),
    })),
    writing('invoice declared void', 1, () => {
      const id = take(invoices);
      return id === undefined
        ? undefined
        : { as: 'manager', path: `/invoices/${id}/void`, body: { reason: 'wrong account' } };
    }),
    writing('KYC', 4, () => ({
      as: 'manager',
      method: 'PUT',
      path: `/customers/${account().customerId}/kyc`,
      body: {
        verificationType: 'national_id',
        verificationStatus: pick(['pending', 'verified', 'rejected']),
        documents: [{ type: 'national_id', number: String(20_000_000 + random(1_000)) }],
      },
    })),
    writing('customer changed', 2, () => ({
      as: 'manager',
      method: 'PUT',
      path: `/customers/${account().customerId}`,
      body: { lastName: pick(LAST_NAMES) },
    })),
    writing('account moved', 8, () => {
      const { id, isLong } = account();
      if (!isLong) return undefined;
      return {
        as: 'manager',
        method: 'PUT',
        path: `/accounts/${id}`,
        body: { status: pick(['active', 'suspended']), reason: 'decided in the weekly meeting' },
      };
    }),
    writing('session renewed', 2, () => {
      // No second renewal of this user may start before the answer, because a refresh token that is sent twice ends the session.
      const user = take(renewable);
      if (!user) return undefined;
      return {
        as: user,
        path: '/auth/refresh',
        body: { refreshToken: user.refreshToken },
        done: ({ accessToken, refreshToken }) => {
          renewable.push(Object.assign(user, { token: accessToken, refreshToken }));
        },
      };
    }),
    writing('sign-in', 0.5, () => ({
      as: 'nobody',
      path: '/auth/login',
      body: { email: pick(staff).email, password: PASSWORD },
    })),
  ];

  const kinds = [...reads, ...money, ...others];
  const tallies = new Map(
    kinds.map(({ name, share }) => [name, { name, share, times: [] as number[] }] as const),
  );

  function reading(name: string, weight: number, path: () => string | false, as: Asker = 'reader'): Kind {
    return {
      name,
      share: 'reads',
      weight,
      ask: () => {
        const made = path();
        return made === false ? undefined : { as, path: made };
      },
    };
  }

  function writing(name: string, weight: number, ask: () => Ask | undefined): Kind {
    return {
      name,
      share: 'other writes',
      weight,
      ask: () => {
        const made = ask();
        return made && { method: 'POST', ...made };
      },
    };
  }

  function payByStaff({ id: accountId }: Account): Ask {
    const reference = newReference();
    const amountCents = 1 + random(3_000);
    const entry: Entry = { reference, cents: amountCents, accountId, status: 'matched' };
    const ask: Ask = {
      as: 'cashier',
      method: 'POST',
      path: '/payments',
      key: reference,
      body: { accountId, amount: amountCents / 100, paymentMethodId: CASH, transactionRef: reference },
      status: 201,
    };
    return {
      ...ask,
      done: ({ id }, user) => {
        journal.push(entry);
        matched.push(Object.assign(entry, { id }));
        if (user) byStaff.push({ ask, id, user });
      },
    };
  }

  /** Each notification is from an unknown phone, so that only the typed number can match it. */
  function notify(typed: string, accountId: number | null, list: Acknowledged[]): Ask {
    const reference = newReference();
    const amountCents = 1 + random(3_000);
    const status = accountId === null ? 'unmatched' : 'matched';
    const entry: Entry = { reference, cents: amountCents, accountId, status };
    const body = notification(amountCents, reference, typed, 90_000_000 + random(9_999_999));
    return {
      as: 'provider',
      method: 'POST',
      path: WEBHOOK,
      body,
      done: ({ outcome, paymentId }) => {
        journal.push(entry);
        if (outcome === 'pending') return; // The minute job posts it.
        mustBe('the outcome', outcome, status);
        list.push(Object.assign(entry, { id: paymentId }));
        posted.push({ body, id: paymentId });
      },
    };
  }

  function choose(share: Share): { kind: Kind; ask: Ask } {
    const list = kinds.filter((kind) => kind.share === share);
    for (;;) {
      let point = random(1_000_000) * (sumOf(list.map(({ weight }) => weight)) / 1_000_000);
      const kind = list.find(({ weight }) => {
        point -= weight;
        return point < 0;
      });
      const ask = kind?.ask();
      if (kind && ask) return { kind, ask };
    }
  }

  function askerOf(as: Ask['as']): User | undefined {
    if (typeof as === 'object') return as;
    if (as === 'provider' || as === 'nobody') return undefined;
    if (as === 'manager') return pick(staff.filter(({ role }) => role === 'manager'));
    if (as === 'cashier') return pick(staff.filter(({ role }) => role !== 'viewer'));
    return pick(staff.filter(({ role }) => role !== 'agent'));
  }

  async function next(): Promise<void> {
    const chance = random(100);
    const share =
      chance < SHARES.reads ? 'reads' : chance < SHARES.reads + SHARES.money ? 'money' : 'other writes';
    const { kind, ask } = choose(share);
    const { as, method = 'GET', path, body, key, status = 200, done } = ask;
    const user = askerOf(as);
    sent += 1;
    const outcome = await send(inTurn(origins, sent), method, `/api${path}`, {
      ...(user && { token: user.token }),
      body,
      headers: {
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(as === 'provider' && { 'x-webhook-secret': webhookSecret }),
      },
    });
    tallies.get(kind.name)?.times.push(outcome.ms);
    try {
      mustBe('the status', outcome.status, status);
      done?.(JSON.parse(outcome.body).data, user);
    } catch (error) {
      failures.wrong += 1;
      if (outcome.status === undefined || outcome.status >= 500) failures.broken += 1;
      const text = `${kind.name}: ${method} ${path}: ${error}; ${outcome.status} ${outcome.body.slice(0, 500)}`;
      if (wrong.length < MAX_WRONG_KEPT) wrong.push(text);
    }
  }

  async function compare(): Promise<string> {
    // The minute job posts the stored pending notifications.
    const deadline = performance.now() + SETTLE_TIMEOUT_MS;
    while ((await get('/payments?limit=1')).pagination.total < journal.length) {
      if (performance.now() > deadline) break; // The differences show which payments are missing.
      await sleep(1_000);
    }
    const payments = await readAll<{
      transactionRef: string;
      amount: number;
      accountId: number | null;
      status: string;
    }>(get, '/payments');
    const shown = payments.map(({ transactionRef, amount, accountId, status }) =>
      lineOf({ reference: transactionRef, cents: cents(amount), accountId, status }),
    );
    const differences = symmetricDifference(journal.map(lineOf), shown);
    expect(differences, 'acknowledged and shown').toEqual([]);
    expect(shown).toHaveLength(journal.length);

    const paid = new Map<number, number>();
    for (const { accountId, status, cents: amount } of journal) {
      if (status === 'matched' && accountId !== null)
        paid.set(accountId, (paid.get(accountId) ?? 0) + amount);
    }
    const all = await readAll<{ id: number; paid: number }>(get, '/accounts');
    expect(all).toHaveLength(accounts.length);
    const off = all.filter((one) => cents(one.paid) !== (paid.get(one.id) ?? 0));
    expect(off, 'accounts that show another sum than was paid on them').toEqual([]);
    return (
      `${journal.length} payments acknowledged, ${shown.length} there, 0 lost, 0 doubled, 0 shown wrong; ` +
      `${all.length} accounts with the right sums`
    );
  }

  return { next, tallies: [...tallies.values()], wrong, failures, compare };
}

function mustBe(what: string, is: unknown, should: unknown): void {
  if (is !== should) throw new Error(`${what} is ${is} and not ${should}`);
}

function lineOf({ reference, cents: amount, accountId, status }: Omit<Entry, 'status'> & { status: string }) {
  return `${reference}: ${amount} cents, ${status}, account ${accountId ?? 'none'}`;
}

/** The lines that occur more often in one of the lists. */
function symmetricDifference(journal: readonly string[], shown: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of journal) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of shown) counts.set(line, (counts.get(line) ?? 0) - 1);
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([line, count]) => `${count > 0 ? 'acknowledged, not shown' : 'shown, not acknowledged'}: ${line}`);
}

/** The time in Nairobi as ISO 8601, which the provider and the business use. */
function nairobiTime(): string {
  return new Date(Date.now() + 3 * 3_600_000).toISOString();
}
