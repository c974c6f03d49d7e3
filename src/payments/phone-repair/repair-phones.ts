import { lockEmployee, updateEmployee } from '../../catalogue/employees/store.ts';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM, today } from '../../core/context.ts';
import { runInSavepoint } from '../../core/database/batching.ts';
import type { Tx } from '../../core/database/db.ts';
import type { PhoneProblem } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import { callingCode, nationalDigits, readPhone, withoutTrunkZero } from '../../core/values/phone.ts';
import { lockCustomer, setPhone, setPhoneProblem } from '../../customers/store.ts';
import {
  type Candidate,
  decideMatch,
  type InterpretationMethod,
  type Interpretations,
  readReference,
} from '../matching/rules.ts';
import { findCandidates } from '../matching/store.ts';
import {
  findEmployeePhones,
  findLearnedFrom,
  findPhones,
  findSimilarPhones,
  lockProgress,
  type StoredPhone,
  saveCompleted,
  saveProgress,
  tryLockCustomer,
} from './store.ts';

/** How many phones a transaction reads. Most are right, and cost nothing more. */
const READ = 1_000;
/** How many of them a transaction repairs at most, so that it ends soon and holds few locks. */
const MOST_REPAIRED = 50;

/**
 * Removes the 0 between the country code and the number of phones that earlier versions stored, such as +2540712345678. Records why
 * other wrong phones of customers are not repaired. Checks all phones once on each business day, because an earlier version can
 * still run beside this one. Each batch is one transaction. A phone whose repair fails is logged, stays, and is tried again on the
 * next day.
 * @param signal - stops the job between two batches. The next run continues after the last batch.
 * @returns the number of repaired phones.
 */
export async function repairPhones(context: Context, signal: AbortSignal, log: Log): Promise<number> {
  let repaired = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, (tx) => repairBatch(tx, context, log));
    if (batch === undefined) break;
    repaired += batch;
  }
  return repaired;
}

/** @returns undefined if nothing is left to do today, or if another instance is working. */
async function repairBatch(tx: Tx, context: Context, log: Log): Promise<number | undefined> {
  const day = today(context);
  const afterId = await lockProgress(tx, day);
  if (afterId === undefined) return undefined;
  const stored = await findPhones(tx, afterId, READ);
  const { PHONE_REGION: region } = context.config;
  const last = stored.at(-1);
  if (last === undefined) {
    await saveCompleted(tx, day);
    return repairEmployees(tx, region, log);
  }
  const suspects = stored.filter((one) => isSuspect(one, region)).slice(0, MOST_REPAIRED);
  const repaired = await repairEach(tx, suspects, 'customer', log, (id) => repairCustomer(tx, id, region));
  const isFull = suspects.length === MOST_REPAIRED;
  await saveProgress(tx, (isFull ? suspects.at(-1) : last)?.id ?? last.id);
  return repaired;
}

/**
 * Repairs the phones of some customers or employees. An error in the repair of one of them does not affect the others.
 * @returns the number of repaired phones.
 */
async function repairEach(
  tx: Tx,
  stored: readonly { id: number }[],
  resource: 'customer' | 'employee',
  log: Log,
  repair: (id: number) => Promise<boolean>,
): Promise<number> {
  const results = await runInSavepoint(tx, stored, async (some) => {
    const areRepaired: boolean[] = [];
    for (const { id } of some) areRepaired.push(await repair(id));
    return areRepaired;
  });
  for (const [at, result] of results.entries()) {
    if ('error' in result)
      log.error({ err: result.error, resource, id: stored[at]?.id }, 'A stored phone could not be repaired.');
  }
  return results.filter((result) => 'outcome' in result && result.outcome).length;
}

/** Whether the phone or its recorded problem may have to change. */
function isSuspect({ phone, phoneProblem }: StoredPhone, region: string): boolean {
  const read = readPhone(phone, region);
  if (read === phone) return phoneProblem !== null;
  return phoneProblem !== 'invalid' || withoutTrunkZero(phone, region) !== undefined;
}

async function repairCustomer(tx: Tx, id: number, region: string): Promise<boolean> {
  // A customer that a request is changing waits for the next day, so that neither waits for the other.
  const customer = (await tryLockCustomer(tx, id)) ? await lockCustomer(tx, id) : undefined;
  if (!customer) return false;
  const phone = withoutTrunkZero(customer.phone, region);
  const problem = await problemOf(tx, customer, phone, region);
  if (phone === undefined || problem !== null) {
    if (problem !== customer.phoneProblem) await setPhoneProblem(tx, id, problem);
    return false;
  }
  await setPhone(tx, id, { ...customer, phone });
  await audit(tx, SYSTEM, {
    action: 'customer.change',
    resource: 'customer',
    resourceId: id,
    before: customer,
    after: { phone },
    event: event('customer.updated', { changedFields: ['phone'] }),
  });
  return true;
}

/** @param corrected - the phone without its 0. @returns null if the phone is right, or can be repaired. */
async function problemOf(
  tx: Tx,
  customer: { id: number; phone: string },
  corrected: string | undefined,
  region: string,
): Promise<PhoneProblem | null> {
  if (corrected === undefined) return readPhone(customer.phone, region) === customer.phone ? null : 'invalid';
  const others = await findSimilarPhones(tx, customer.id, corrected, region);
  if (others.some((other) => readPhone(other, region) === corrected)) return 'other_customer';
  const learned = await findLearnedFrom(tx, corrected);
  if (learned.some(({ customerId }) => customerId !== customer.id)) return 'other_account';
  const typed = learned.map(({ typedKey }) => typedKey);
  return (await changesMatches(tx, customer.phone, corrected, typed, region)) ? 'other_account' : null;
}

/** Whether a payment that matches an account now would not match it after the repair of the stored phone. */
async function changesMatches(
  tx: Tx,
  stored: string,
  phone: string,
  typed: readonly string[],
  region: string,
): Promise<boolean> {
  const dialled = nationalDigits(phone);
  const references = ['', phone, phone.slice(1), dialled, dialled.replace(/^0/, ''), ...typed];
  const read = references.map((reference) => readReference(reference, phone, region));
  const byStored = { ...readReference(null, null, region), phone: stored };
  const [own = [], ...candidates] = await findCandidates(tx, [byStored, ...read]);
  return read.some((interpretations, at) => {
    const now = candidates[at] ?? [];
    const added = own.flatMap(({ accountId }) => candidatesOf(accountId, phone, interpretations));
    const before = decideMatch(now, interpretations.referenceIsEmpty);
    const after = decideMatch([...now, ...added], interpretations.referenceIsEmpty);
    return before.accountId !== null && before.accountId !== after.accountId;
  });
}

/** How a payment of the phone of an account's customer leads to the account. */
function candidatesOf(accountId: number, phone: string, read: Interpretations): Candidate[] {
  const methods: InterpretationMethod[] = ['payer_phone'];
  if (read.phone === phone) methods.push('phone');
  if (read.bareAccountId === accountId) methods.push('account_id');
  return methods.map((method) => ({ method, accountId, isOpen: true }));
}

/** Employees are few, and no payment is matched by their phones. @returns the number of repaired phones. */
async function repairEmployees(tx: Tx, region: string, log: Log): Promise<number> {
  const stored = await findEmployeePhones(tx, `+${callingCode(region)}0`);
  const suspects = stored.filter(({ phone }) => withoutTrunkZero(phone, region) !== undefined);
  return repairEach(tx, suspects, 'employee', log, (id) => repairEmployee(tx, id, region));
}

async function repairEmployee(tx: Tx, id: number, region: string): Promise<boolean> {
  const employee = await lockEmployee(tx, id);
  const phone = withoutTrunkZero(employee?.phone ?? '', region);
  if (!employee || phone === undefined) return false;
  await updateEmployee(tx, id, { phone });
  await audit(tx, SYSTEM, {
    action: 'employee.change',
    resource: 'employee',
    resourceId: id,
    before: employee,
    after: { phone },
    event: event('employee.updated', { changedFields: ['phone'] }),
  });
  return true;
}
