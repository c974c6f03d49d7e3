import { expect } from 'vitest';
import type { AdminCalls } from '../support/imports.ts';
import { type Ended, type Environment, type RunningService, runCli } from './process.ts';

export const PASSWORD = 'a long enough password';

/** Registers the service's first user, who becomes the admin, and returns their token. */
export async function registerAdmin(
  service: RunningService,
  headers: Record<string, string> = {},
): Promise<string> {
  const admin = { email: 'admin@example.com', password: PASSWORD, firstName: 'First', lastName: 'Admin' };
  const answer = await service.call('POST', '/auth/register', admin, { headers });
  expect(answer.status, answer.text).toBe(201);
  expect(answer.body.data.user.role).toBe('admin');
  return answer.body.data.accessToken;
}

export const BOSS = 'boss@example.com';

/** Runs `npm run create-admin`. */
export function createAdmin(
  environment: Environment,
  { email = BOSS, password = PASSWORD } = {},
): Promise<Ended> {
  const names = ['--first-name', 'The', '--last-name', 'Boss'];
  return runCli('create-admin', { ...environment, ADMIN_PASSWORD: password }, '--email', email, ...names);
}

/** Signs in. @returns the access token of the new session. */
export async function signIn(service: RunningService, email: string, password = PASSWORD): Promise<string> {
  const answer = await service.call('POST', '/auth/login', { email, password });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data.accessToken;
}

/** The service with the calls of an admin, for the functions of `test/support/`. */
export function adminCalls({ origin, call }: RunningService, token: string): AdminCalls {
  return { origin, adminToken: token, call: (method, path, body) => call(method, path, body, { token }) };
}

/** Opens an account with the weekly demo plan (deposit 2,000, 52 × 400) for a new customer. */
export async function openAccount(
  service: RunningService,
  token: string,
  fields: Record<string, unknown> = {},
) {
  const phone = `+2547${String(10_000_000 + Math.floor(Math.random() * 80_000_000))}`;
  const customer = await service.call(
    'POST',
    '/customers',
    { firstName: 'Test', lastName: 'Customer', phone },
    { token },
  );
  expect(customer.status, customer.text).toBe(201);
  const account = await service.call(
    'POST',
    '/accounts',
    { customerId: customer.body.data.id, productId: 1, payplanId: 2, ...fields },
    { token },
  );
  expect(account.status, account.text).toBe(201);
  return account.body.data as { id: number; accountNumber: string; total: number; status: string };
}

/** Sends a GET below /api. @returns the `data` of the answer. */
export async function read(service: RunningService, token: string, path: string) {
  const answer = await service.call('GET', path, undefined, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data;
}

export interface PaymentSeen {
  id: number;
  amount: number;
  transactionRef: string;
  status: string;
}

/** Every payment of an account, page by page. */
export async function readPayments(
  service: RunningService,
  token: string,
  accountId: number,
): Promise<PaymentSeen[]> {
  const payments: PaymentSeen[] = [];
  for (let page = 1; ; page++) {
    const path = `/accounts/${accountId}/payments?sort=id:asc&limit=100&page=${page}`;
    const answer = await service.call('GET', path, undefined, { token });
    expect(answer.status, answer.text).toBe(200);
    payments.push(...answer.body.data);
    if (page >= answer.body.pagination.totalPages) return payments;
  }
}

export const STATEMENT_HEADER =
  'Receipt No.,Completion Time,Transaction Status,Paid In,Withdrawn,Other Party Info,A/C No.\r\n';

/** A line of a provider's statement: a payment of 1.00. */
export function statementLine(receipt: string, account: string): string {
  return `${receipt},2026-01-02 10:00:00,Completed,1.00,,254700000000 - Some Payer,${account}\r\n`;
}

/** An amount of an answer in whole cents, so that sums are exact. */
export function cents(amount: number): number {
  return Math.round(amount * 100);
}

export function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** The item at index `n`, counting from the first item again after the last. @throws RangeError if the list is empty. */
export function inTurn<T>(items: readonly T[], n: number): T {
  const item = items[n % items.length];
  if (item === undefined) throw new RangeError('The list has no items.');
  return item;
}

/** Does the work for each item, with a limit of concurrent items. */
export async function inParallel<T, R>(
  atOnce: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  async function worker(): Promise<void> {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T, index);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** Expects an exit code other than 0, and one line on stderr that contains all parts. */
export function expectRefusal({ status, stderr }: Ended, ...parts: string[]): void {
  expect(status).toBe(1);
  expect(linesOf(stderr)).toHaveLength(1);
  for (const part of parts) expect(stderr).toContain(part);
}

/** The lines of a text that are not empty. */
export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}
