import type { ShownAccountRow } from '../../accounts/store.ts';
import { toAccount } from '../../accounts/view.ts';
import { type Actor, amountOf, type Context, type Currency, today } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { notFound } from '../../core/http/errors.ts';
import { addDays, type PlainDate } from '../../core/values/dates.ts';
import { findLeases, type LeaseRow } from '../calls/lease-store.ts';
import { hourIn, MAX_DAYS_TO_NEXT_CALL, warningsOf } from '../calls/rules.ts';
import { countAttempts, findCalledCustomer, findLatestCalls, phonesOf } from '../calls/store.ts';
import { toCall, toLease } from '../calls/view.ts';
import { promiseLimitsOf } from '../promises/rules.ts';
import { findOpenPromises, findPromises, type PromiseRow } from '../promises/store.ts';
import { toPromise, toPromiseLimits } from '../promises/view.ts';
import { MAX_FORM_CALLS } from './rules.ts';
import { type CallFacts, findCallFacts, findFormAccounts } from './store.ts';

/** Adds to accounts what the call list shows of them. */
export async function toEntries(
  db: Db,
  actor: Actor,
  rows: readonly ShownAccountRow[],
  { currency, day }: { currency: Currency; day: PlainDate },
) {
  const ids = rows.map(({ id }) => id);
  const facts = await findCallFacts(db, ids);
  const promises = await findOpenPromises(db, ids, day);
  const phones = [...facts.values()].flatMap((one) =>
    one.secondPhone ? [one.phone, one.secondPhone] : [one.phone],
  );
  const leases = new Map((await findLeases(db, phones)).map((lease) => [lease.phone, lease]));
  return rows.flatMap((row) => {
    const found = facts.get(row.id);
    return found
      ? [
          {
            ...toAccount(row, currency, day),
            ...entryOf(actor, found, promises.get(row.id), leases, currency),
          },
        ]
      : [];
  });
}

function entryOf(
  actor: Actor,
  facts: CallFacts,
  promise: PromiseRow | undefined,
  leases: ReadonlyMap<string, LeaseRow>,
  currency: Currency,
) {
  const { customerId, name, phone, secondPhone, assigneeId, assignee, callId, callResult, callUserId } =
    facts;
  const lease = leases.get(phone) ?? leases.get(secondPhone ?? '');
  return {
    customer: { id: customerId, name, phone, secondPhone },
    assignee: assigneeId === null ? null : { userId: assigneeId, officer: assignee ?? '' },
    lastCall:
      callId === null || callResult === null || callUserId === null
        ? null
        : {
            id: callId,
            result: callResult,
            userId: callUserId,
            officer: facts.callOfficer ?? '',
            createdAt: facts.calledAt ?? '',
          },
    hiddenUntil: facts.hiddenUntil,
    hasDispute: facts.hasDispute,
    hasWrongNumber: facts.hasWrongNumber,
    promise: promise
      ? { id: promise.id, amount: amountOf(promise.amount_minor, currency), date: promise.due_on }
      : null,
    lease: lease ? toLease(lease, actor) : null,
  };
}

/** Everything that a user needs while calling the customer of an account. */
export async function readForm(context: Context, actor: Actor, accountId: number) {
  const { db, currency, clock, config } = context;
  const day = today(context);
  const customer = await findCalledCustomer(db, accountId);
  if (!customer) throw notFound('account', accountId);
  const phones = phonesOf(customer);
  const rows = await findFormAccounts(db, accountId, phones, day);
  const entries = await toEntries(db, actor, rows, { currency, day });
  const calls = await findLatestCalls(
    db,
    rows.map(({ id }) => id),
    MAX_FORM_CALLS,
  );
  const promises = await findPromises(
    db,
    calls.flatMap(({ promise_id }) => promise_id ?? []),
    day,
  );
  return {
    customer,
    accounts: entries.map((entry) => {
      const row = rows.find(({ id }) => id === entry.id);
      const limits = row && promiseLimitsOf(row, day);
      return { ...entry, promiseLimits: limits ? toPromiseLimits(limits, currency) : null };
    }),
    calls: calls.map(toCall),
    promises: promises.map((row) => toPromise(row, currency)),
    nextCallUntil: addDays(day, MAX_DAYS_TO_NEXT_CALL),
    warnings: warningsOf({
      attemptsBefore: await countAttempts(db, customer.phone, day),
      hour: hourIn(clock.now(), config.BUSINESS_TIMEZONE),
    }),
  };
}
