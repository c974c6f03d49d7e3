import { getAccountRow } from '../../accounts/store.ts';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, amountOf, type Context, readAmount, today } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { clearInAnswers } from '../../core/http/idempotency.ts';
import { requireChangedPhone } from '../../core/http/validation.ts';
import { type PlainDate, parsePlainDate } from '../../core/values/dates.ts';
import { refusalOf } from '../../rights.ts';
import { checkPromise, promiseLimitsOf } from '../promises/rules.ts';
import type { NewPromise } from '../promises/schema.ts';
import { findOpenPromises, insertPromise, isReplaced } from '../promises/store.ts';
import { findLeases, freeLeases, takeLeases } from './lease-store.ts';
import { checkCall, hourIn, isAttempt, refusalOfMistake, warningsOf } from './rules.ts';
import type { NewCall } from './schema.ts';
import {
  type CalledCustomer,
  type CallRow,
  countAttempts,
  findCall,
  findCalledCustomer,
  insertCall,
  insertClosedDispute,
  insertHiddenNote,
  insertMistake,
  lockStates,
  phonesOf,
  refreshStates,
} from './store.ts';

/** Saves the result of a call or a visit, and frees the phones of the customer that the user had leased. */
export async function recordCall(context: Context, actor: Actor, body: NewCall) {
  const day = today(context);
  const userId = personOf(actor);
  const { accountId, result, kind = 'call', note = null } = body;
  const nextCallOn = body.nextCallOn === undefined ? undefined : parsePlainDate(body.nextCallOn);
  const fields = { kind, result, nextCallOn, hasPromise: body.promise !== undefined, hasNote: note !== null };
  checkCall(fields, day);
  return inTransaction(context.db, async (tx) => {
    const customer = await getCalledCustomer(tx, accountId, 'accountId');
    const phone = kind === 'visit' ? null : calledPhone(context, body.phone, customer);
    if (kind === 'visit' && body.phone !== undefined)
      throw invalidField('phone', 'is not allowed for a visit');
    const affected = await lockStates(tx, accountId, phonesOf(customer));
    await requireFreePhones(tx, customer, userId);
    const attemptsBefore = phone !== null && isAttempt(result) ? await countAttempts(tx, phone, day) : 0;
    const hour = hourIn(context.clock.now(), context.config.BUSINESS_TIMEZONE);
    const callId = await insertCall(tx, {
      accountId,
      kind,
      result,
      phone,
      note,
      nextCallOn: nextCallOn ?? null,
      calledOn: day,
      createdBy: userId,
    });
    const promise =
      body.promise && (await makePromise(tx, context, { callId, accountId, userId }, body.promise));
    await refreshStates(tx, affected);
    await freeLeases(tx, userId, phonesOf(customer));
    await audit(tx, actor, {
      action: 'call.record',
      resource: 'call',
      resourceId: callId,
      after: { accountId, kind, result, ...(nextCallOn && { nextCallOn }), ...promise },
      event: event('call.recorded', { accountId, kind, result, promiseId: promise?.promiseId ?? null }),
    });
    return { call: await getCall(tx, callId), warnings: warningsOf({ attemptsBefore, hour }) };
  });
}

/**
 * Makes a promise, which ends the open promise of the account: that one is kept if its whole amount has come, else replaced. The
 * transaction has locked the account (`lockStates`), so that two calls at once do not both find none.
 */
async function makePromise(
  tx: Tx,
  context: Context,
  { callId, accountId, userId }: { callId: number; accountId: number; userId: number },
  { amount, date }: NewPromise,
) {
  const { currency } = context;
  const day = today(context);
  const row = await getAccountRow(tx, accountId);
  const limits = promiseLimitsOf(row, day);
  if (!limits) {
    throw invalidField('promise', `is not allowed for an account that is ${row.status} or paid off`);
  }
  const amountMinor = readAmount(amount, currency);
  const dueOn = date as PlainDate;
  checkPromise(
    { amountMinor, date: dueOn },
    limits,
    (minor) => `${amountOf(minor, currency)} ${currency.code}`,
  );
  const replacesId = (await findOpenPromises(tx, [accountId], day)).get(accountId)?.id ?? null;
  const promise = { callId, accountId, amountMinor, madeOn: day, dueOn, replacesId, createdBy: userId };
  const promiseId = await insertPromise(tx, promise);
  return {
    promiseId,
    amountMinor,
    promiseDate: dueOn,
    ...(replacesId !== null && { replacesPromiseId: replacesId }),
  };
}

/** Marks a call as saved by mistake. It stays visible, and is not counted. */
export async function markMistake(context: Context, actor: Actor, id: number): Promise<CallRow> {
  return inTransaction(context.db, async (tx) => {
    const found = await findCall(tx, id);
    if (!found) throw notFound('call', id);
    const customer = await getCalledCustomer(tx, found.account_id);
    const phones = found.phone === null ? phonesOf(customer) : [...phonesOf(customer), found.phone];
    const affected = await lockStates(tx, found.account_id, phones);
    const call = await getCall(tx, id);
    const refusal = refusalOfMistake(
      {
        createdBy: call.created_by,
        calledOn: call.called_on,
        isMistake: call.is_mistake,
        isPromiseReplaced: await isReplaced(tx, id),
      },
      { userId: actor.userId, today: today(context) },
    );
    if (refusal !== undefined) throw new AppError('VALIDATION_ERROR', refusal, { status: 409 });
    await insertMistake(tx, id);
    await refreshStates(tx, affected);
    await audit(tx, actor, {
      action: 'call.mark_mistake',
      resource: 'call',
      resourceId: id,
      after: { accountId: call.account_id, isMistake: true },
      event: event('call.marked_mistake', { accountId: call.account_id }),
    });
    return getCall(tx, id);
  });
}

/** Closes a dispute. The account is then in the call list again. */
export async function closeDispute(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<CallRow> {
  const createdBy = personOf(actor);
  return inTransaction(context.db, async (tx) => {
    const found = await findCall(tx, id);
    if (!found) throw notFound('call', id);
    const affected = await lockStates(tx, found.account_id, []);
    const call = await getCall(tx, id);
    if (call.result !== 'dispute' || call.is_mistake || call.dispute_closed_at !== null) {
      throw new AppError('VALIDATION_ERROR', 'The call is not an open dispute.', { status: 409 });
    }
    await insertClosedDispute(tx, { callId: id, reason, createdBy });
    await refreshStates(tx, affected);
    await audit(tx, actor, {
      action: 'call.close_dispute',
      resource: 'call',
      resourceId: id,
      after: { accountId: call.account_id },
      event: event('call.dispute_closed', { accountId: call.account_id }),
    });
    return getCall(tx, id);
  });
}

/** Hides the note of a call for ever and for everybody. The database keeps it. */
export async function hideNote(context: Context, actor: Actor, id: number, reason: string): Promise<CallRow> {
  const createdBy = personOf(actor);
  return inTransaction(context.db, async (tx) => {
    const found = await findCall(tx, id);
    if (!found) throw notFound('call', id);
    // Other changes of the call, whose answers have its note, wait for this lock.
    await lockStates(tx, found.account_id, []);
    const call = await getCall(tx, id);
    if (call.note === null || !(await insertHiddenNote(tx, { callId: id, reason, createdBy })))
      throw new AppError('VALIDATION_ERROR', 'The call has no note, or its note is already hidden.', {
        status: 409,
      });
    await clearInAnswers(tx, { path: '/api/calls', id, field: 'note', since: call.created_at });
    await audit(tx, actor, {
      action: 'call.hide_note',
      resource: 'call',
      resourceId: id,
      after: { accountId: call.account_id, isHidden: true, reason },
      event: event('call.note_hidden', { accountId: call.account_id }),
    });
    return getCall(tx, id);
  });
}

/** Reserves the phones of the customer of an account for the user, or renews the reservation. */
export async function leasePhones(context: Context, actor: Actor, accountId: number, takeOver: boolean) {
  const userId = personOf(actor);
  const refusal = takeOver ? refusalOf(actor, 'calls:manage') : undefined;
  if (refusal) throw refusal;
  return inTransaction(context.db, async (tx) => {
    const customer = await getCalledCustomer(tx, accountId);
    const phones = phonesOf(customer);
    if (!(await takeLeases(tx, phones, userId, takeOver))) await requireFreePhones(tx, customer, userId);
    const [lease] = await findLeases(tx, phones);
    if (lease?.userId !== userId) throw inUse(undefined);
    return lease;
  });
}

/**
 * Ends the reservation of the user who leaves the form of an account. The user may already have reserved the phones of another customer,
 * because requests can overtake each other. That reservation stays.
 */
export async function leavePhones(context: Context, actor: Actor, accountId: number): Promise<void> {
  const userId = personOf(actor);
  await inTransaction(context.db, async (tx) =>
    freeLeases(tx, userId, phonesOf(await getCalledCustomer(tx, accountId))),
  );
}

/** @throws AppError with status 409 and the name of the user who is calling one of the phones now. */
async function requireFreePhones(tx: Tx, customer: CalledCustomer, userId: number): Promise<void> {
  const other = (await findLeases(tx, phonesOf(customer))).find((lease) => lease.userId !== userId);
  if (other) throw inUse(other.officer);
}

function inUse(officer: string | undefined): AppError {
  return new AppError('VALIDATION_ERROR', `${officer ?? 'Another user'} is calling this customer now.`, {
    status: 409,
  });
}

async function getCalledCustomer(tx: Tx, accountId: number, field?: string): Promise<CalledCustomer> {
  const customer = await findCalledCustomer(tx, accountId);
  if (!customer) throw notFound('account', accountId, field);
  return customer;
}

async function getCall(tx: Tx, id: number): Promise<CallRow> {
  const call = await findCall(tx, id);
  if (!call) throw notFound('call', id);
  return call;
}

function calledPhone({ config }: Context, sent: string | undefined, customer: CalledCustomer): string {
  if (sent === undefined) return customer.phone;
  const phones = phonesOf(customer);
  // An earlier version may have stored a number that would not be accepted today. It can be called nevertheless.
  const stored = phones.find((one) => one === sent.trim());
  if (stored !== undefined) return stored;
  const phone = requireChangedPhone(sent, null, config.PHONE_REGION);
  if (!phones.includes(phone)) {
    throw invalidField('phone', `must be a phone of the customer: ${phones.join(' or ')}`);
  }
  return phone;
}

/** The user who calls. The permissions `calls:record` and `calls:manage` are only for users. */
function personOf(actor: Actor): number {
  if (actor.userId === null) throw new Error('Only a user can record calls.');
  return actor.userId;
}
