import type { Resource } from '../http/errors.ts';
import type { Tx } from './db.ts';
import { run } from './statements.ts';

// Advisory locks for values that may have no row, such as a new idempotency key. A transaction holds its locks until it ends.

type Locked =
  | 'idempotency key'
  | 'payment reference'
  | 'payment request phone'
  | 'webhook endpoint settings'
  | `${Resource} external id`;

export function lockName(locked: Locked, value: string): string {
  return `${locked} ${value}`;
}

/** SQL for the id of a lock. @param name - SQL for the name of the lock. */
export function lockId(name: string): string {
  return `hashtextextended(${name}, 0)`;
}

/** Takes a lock, and waits while another transaction holds it. Call it before locking rows, to avoid deadlocks. */
export async function takeLock(tx: Tx, name: string): Promise<void> {
  await run(tx, `select pg_advisory_xact_lock(${lockId('$1')})`, [name]);
}

/** Takes locks in the order of their ids, and waits while another transaction holds one. Call it before locking rows. */
export async function takeLocks(tx: Tx, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const ids = `select distinct ${lockId('name')} as id from unnest($1::text[]) as name order by id offset 0`;
  await run(tx, `select pg_advisory_xact_lock(id) from (${ids}) as locks`, [names]);
}

/** Takes a lock that other transactions can share. It keeps them from taking it by `takeLock`. */
export async function shareLock(tx: Tx, name: string): Promise<void> {
  await run(tx, `select pg_advisory_xact_lock_shared(${lockId('$1')})`, [name]);
}
