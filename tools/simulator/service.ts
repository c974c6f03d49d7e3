import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type Client, createClient, type Schemas } from '@account-management/client';
import type { Growth, ShownPayment } from './comparison.ts';
import { toMinor } from './formats.ts';
import type { Gateway } from './gateways.ts';
import type { Body, PayingAccount } from './traffic.ts';

/** The simulation cannot continue with this service. */
export class ServiceError extends Error {}

interface Credentials {
  email: string;
  password: string;
}

const READ_TIMEOUT_MS = 15_000;
/** Many, because the rate limits of a development service refuse some calls. */
const MAX_RETRIES = 20;
const MAX_PAGE_LIMIT = 100;

/** Signs in. If sign-in fails, registers the user. A development service allows registration. */
export async function signIn(url: string, credentials: Credentials): Promise<Client> {
  const client = createClient({
    baseUrl: url,
    auth: credentials,
    timeoutMs: READ_TIMEOUT_MS,
    maxRetries: MAX_RETRIES,
  });
  try {
    await client.auth.getSignedInUser();
  } catch (error) {
    if (!(error instanceof ApiError && error.is('AUTH_FAILED'))) throw error;
    await client.auth
      .register({ ...credentials, firstName: 'Traffic', lastName: 'Simulator' })
      .catch((cause: Error) => {
        throw new ServiceError(`Sign-in and registration of ${credentials.email} failed: ${cause.message}`, {
          cause,
        });
      });
  }
  return client;
}

/** Opens at least `count` accounts for new customers. Every fifth customer has two accounts, the others have one. */
export async function openAccounts(
  client: Client,
  count: number,
): Promise<{ accounts: PayingAccount[]; decimals: number }> {
  const { data: products } = await client.products.list({ active: true, sort: 'id:asc', limit: 1 });
  const { data: plans } = await client.payPlans.list({ filter: { active: true }, limit: MAX_PAGE_LIMIT });
  const [product] = products;
  const plan = plans
    .filter(({ productId }) => productId === null || productId === product?.id)
    .sort((a, b) => b.total - a.total)[0];
  if (!product || !plan)
    throw new ServiceError(
      'There is no active product with a pay plan. The simulator needs one to open accounts.',
    );

  // Phone numbers and national ids count up from a number that differs from run to run.
  const uniqueDigits = Math.floor(Date.now() / 100);
  const accounts: PayingAccount[] = [];
  let decimals = 0;
  for (let n = 0; accounts.length < count; n += 1) {
    const digits = String((uniqueDigits + n) % 100_000_000).padStart(8, '0');
    const phone = `+2547${digits}`;
    const nationalId = `SIM${digits}`;
    const names = { firstName: 'Simulated', lastName: `Customer ${n + 1}` };
    const customer = await client.customers.create({ ...names, phone, nationalId });
    const opened: Schemas['Account'][] = [];
    for (let i = 0; i < (n % 5 === 4 ? 2 : 1); i += 1) {
      const body = { customerId: customer.id, productId: product.id, payplanId: plan.id };
      opened.push(await client.accounts.open(body));
    }
    for (const account of opened) {
      decimals = decimalsOf(account.currency);
      accounts.push({
        id: account.id,
        accountNumber: account.accountNumber,
        roomMinor: toMinor(account.balance, decimals),
        soleHolder: opened.length === 1 ? { phone, nationalId } : null,
        sharedPhone: opened.length === 1 ? null : phone,
      });
    }
  }
  return { accounts, decimals };
}

/** The oldest active accounts, at most 100, without data of their customers. */
export async function findAccounts(client: Client, count: number) {
  const limit = Math.min(count, MAX_PAGE_LIMIT);
  const { data: rows } = await client.accounts.list({ status: 'active', sort: 'id:asc', limit });
  const [oldest] = rows;
  if (!oldest) throw new ServiceError('There is no active account.');
  const decimals = decimalsOf(oldest.currency);
  const accounts = rows.map((row) => ({
    id: row.id,
    accountNumber: row.accountNumber,
    roomMinor: toMinor(row.balance, decimals),
    soleHolder: null,
    sharedPhone: null,
  }));
  return { accounts, decimals };
}

/** Reads the paid amount of each account, in minor units. */
export async function readPaid(
  client: Client,
  accounts: readonly PayingAccount[],
  decimals: number,
): Promise<Map<number, bigint>> {
  const paid = new Map<number, bigint>();
  for (let first = 0; first < accounts.length; first += MAX_PAGE_LIMIT) {
    const ids = accounts.slice(first, first + MAX_PAGE_LIMIT).map(({ id }) => id);
    for await (const row of client.accounts.iterate({ filter: { id: { in: ids } } }))
      paid.set(row.id, toMinor(row.paid, decimals));
  }
  return paid;
}

export function growthOf(
  accounts: readonly PayingAccount[],
  before: ReadonlyMap<number, bigint>,
  after: ReadonlyMap<number, bigint>,
): Growth[] {
  return accounts.map(({ id, accountNumber }) => ({
    accountId: id,
    accountNumber,
    beforeMinor: before.get(id) ?? 0n,
    afterMinor: after.get(id) ?? 0n,
  }));
}

export async function readPayments(client: Client, prefix: string): Promise<ShownPayment[]> {
  const payments: ShownPayment[] = [];
  const query = { filter: { transactionRef: { startswith: prefix } }, sort: 'id:asc' };
  for await (const payment of client.payments.iterate(query)) payments.push(payment);
  return payments;
}

export interface Posted {
  /** Undefined if the service refused the notification or did not answer. */
  outcome: string | undefined;
  retries: number;
  /** A refusal that a retry would not change. */
  refusal: string | undefined;
}

const POST_TIMEOUT_MS = 10_000;
const HANG_UP_MS = 3;
const MAX_TRIES = 12;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Posts a notification until it is acknowledged or refused, but at most MAX_TRIES times. @param hangsUp - see `Delivery`. */
export async function postNotification(
  gateway: Gateway,
  { url, secret }: { url: string; secret: string },
  body: Body,
  hangsUp: boolean,
): Promise<Posted> {
  const address = `${url}${gateway.path}`;
  const headers = { 'content-type': gateway.contentType, ...(secret && { 'x-webhook-secret': secret }) };
  for (let retries = 0; ; retries += 1) {
    const timeoutMs = hangsUp && retries === 0 ? HANG_UP_MS : POST_TIMEOUT_MS;
    const { status, text, retryAfterMs } = await postOnce(address, headers, gateway.write(body), timeoutMs);
    const answer = status === 200 ? gateway.read(text) : undefined;
    if (answer) return { outcome: undefined, refusal: undefined, ...answer, retries };
    if (status !== undefined && status !== 200 && status < 500 && status !== 429)
      return { outcome: undefined, retries, refusal: `${status} ${text}` };
    if (retries === MAX_TRIES - 1) return { outcome: undefined, retries, refusal: undefined };
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** retries);
    await sleep(Math.max(pauseMs, retryAfterMs));
  }
}

/** @returns an undefined status if there is no answer. */
async function postOnce(address: string, headers: Record<string, string>, body: string, timeoutMs: number) {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { method: 'POST', headers, body, signal });
    return {
      status: response.status,
      text: await response.text(),
      retryAfterMs: Number(response.headers.get('retry-after') ?? 0) * 1_000,
    };
  } catch {
    // After a time-out or a broken connection, the service may have stored the notification.
    return { status: undefined, text: '', retryAfterMs: 0 };
  }
}

function decimalsOf(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
