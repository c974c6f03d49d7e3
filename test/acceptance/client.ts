import { expect } from 'vitest';
import type { RunningService } from './process.ts';

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

/** An account of the weekly demo plan (2,000 and 52 × 400) for a new customer. */
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

/** An amount of an answer in whole cents, so that sums are exact. */
export function cents(amount: number): number {
  return Math.round(amount * 100);
}

export function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
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
