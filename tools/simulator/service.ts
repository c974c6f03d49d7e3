import { setTimeout as sleep } from 'node:timers/promises';
import type { Growth, ShownPayment } from './comparison.ts';
import type { Gateway } from './gateways.ts';
import type { Body, PayingAccount } from './traffic.ts';

/** The service answered what the simulator cannot go on with. */
export class ServiceError extends Error {}

interface Credentials {
  email: string;
  password: string;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of the API, whose shape its description promises.
type Answer = any;

interface ServiceClient {
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
}

const READ_TIMEOUT_MS = 15_000;
const MAX_WAITS = 20;
const MAX_PAGE_LIMIT = 100;

/** Signs in; where nobody of the name is known, registers, as a development service allows. */
export async function signIn(url: string, credentials: Credentials): Promise<ServiceClient> {
  const send = async (path: string, body: unknown) => request(url, 'POST', path, undefined, body);
  let answer = await send('/auth/login', credentials);
  if (answer.status === 401) {
    answer = await send('/auth/register', { ...credentials, firstName: 'Traffic', lastName: 'Simulator' });
  }
  const token: unknown = answer.body?.data?.accessToken;
  if (typeof token !== 'string') {
    throw new ServiceError(
      `Nobody could sign in as ${credentials.email}, nor register: ${answer.body?.error?.message ?? answer.status}`,
    );
  }
  const call = async (method: string, path: string, body?: unknown) => {
    const { status, body: data } = await request(url, method, path, token, body);
    if (status >= 300)
      throw new ServiceError(`${method} ${path} answered ${status}: ${data?.error?.message ?? ''}`);
    return data;
  };
  return { get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) };
}

/** One request; waits for as long as the service's rate limits ask for. */
async function request(url: string, method: string, path: string, token?: string, body?: unknown) {
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(`${url}/api${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(READ_TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new ServiceError(`${url} does not answer.`, { cause });
    });
    if (![429, 503].includes(response.status) || waits === MAX_WAITS) {
      const answer: Answer = await response.json().catch(() => undefined);
      return { status: response.status, body: answer };
    }
    await response.body?.cancel();
    await sleep(Number(response.headers.get('retry-after') ?? 1) * 1_000);
  }
}

/** Every row of a list, page by page. */
export async function readAll(client: ServiceClient, path: string, filter: string): Promise<Answer[]> {
  const rows: Answer[] = [];
  for (let page = 1; ; page += 1) {
    const query = `${filter}&sort=id:asc&limit=${MAX_PAGE_LIMIT}&page=${page}`;
    const { data, pagination } = await client.get(`${path}?${query}`);
    rows.push(...data);
    if (page >= pagination.totalPages) return rows;
  }
}

/**
 * New customers with an account each, and every fifth with two.
 * @param uniqueDigits eight digits or fewer from which numbers and national ids are counted on.
 */
export async function openAccounts(
  client: ServiceClient,
  count: number,
  uniqueDigits: number,
): Promise<{ accounts: PayingAccount[]; decimals: number }> {
  const [product] = (await client.get('/products?active=true&sort=id:asc&limit=1')).data;
  const plans: Answer[] = (await client.get('/payplans?filter[active]=true&limit=100')).data;
  const plan = plans
    .filter(({ productId }) => productId === null || productId === product?.id)
    .sort((a, b) => b.instalmentAmount * b.instalmentCount - a.instalmentAmount * a.instalmentCount)[0];
  if (!product || !plan)
    throw new ServiceError('There is no active product with a pay plan that accounts could be opened with.');

  const accounts: PayingAccount[] = [];
  let decimals = 0;
  for (let n = 0; accounts.length < count; n += 1) {
    const digits = String((uniqueDigits + n) % 100_000_000).padStart(8, '0');
    const phone = `+2547${digits}`;
    const nationalId = `SIM${digits}`;
    const names = { firstName: 'Simulated', lastName: `Customer ${n + 1}` };
    const customer = (await client.post('/customers', { ...names, phone, nationalId })).data;
    const opened: Answer[] = [];
    for (let i = 0; i < (n % 5 === 4 ? 2 : 1); i += 1) {
      const body = { customerId: customer.id, productId: product.id, payplanId: plan.id };
      opened.push((await client.post('/accounts', body)).data);
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

/** The oldest active accounts; of their holders nothing is known. */
export async function findAccounts(client: ServiceClient, count: number) {
  const query = `status=active&sort=id:asc&limit=${Math.min(count, MAX_PAGE_LIMIT)}`;
  const rows: Answer[] = (await client.get(`/accounts?${query}`)).data;
  if (rows.length === 0) throw new ServiceError('There is no active account.');
  const decimals = decimalsOf(rows[0].currency);
  const accounts = rows.map((row) => ({
    id: row.id,
    accountNumber: row.accountNumber,
    roomMinor: toMinor(row.balance, decimals),
    soleHolder: null,
    sharedPhone: null,
  }));
  return { accounts, decimals };
}

/** What is paid on each account, in minor units. */
export async function readPaid(
  client: ServiceClient,
  accounts: readonly PayingAccount[],
  decimals: number,
): Promise<Map<number, bigint>> {
  const paid = new Map<number, bigint>();
  for (let first = 0; first < accounts.length; first += MAX_PAGE_LIMIT) {
    const ids = accounts.slice(first, first + MAX_PAGE_LIMIT).map(({ id }) => id);
    for (const row of await readAll(client, '/accounts', `filter[id][in]=${ids.join(',')}`))
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

/** The payments whose reference begins as the run's transaction ids do. */
export function readPayments(client: ServiceClient, prefix: string): Promise<ShownPayment[]> {
  return readAll(client, '/payments', `filter[transactionRef][startswith]=${prefix}`);
}

export interface Posted {
  /** What the service made of it; undefined when it gave no answer in time. */
  outcome: string | undefined;
  retries: number;
  /** A refusal that another try would not change. */
  refusal: string | undefined;
}

const POST_TIMEOUT_MS = 10_000;
const HANG_UP_MS = 3;
const MAX_TRIES = 12;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Posts a notification until it is acknowledged, as a provider that delivers at least once. */
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

/** @returns no status where there was no answer. */
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
    // Time-outs, refused and broken connections are alike: nobody knows whether it was stored.
    return { status: undefined, text: '', retryAfterMs: 0 };
  }
}

function decimalsOf(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}

function toMinor(amount: number, decimals: number): bigint {
  return BigInt(amount.toFixed(decimals).replace('.', ''));
}
