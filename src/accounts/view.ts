import { type Actor, amountOf, type Context, type Currency } from '../core/context.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import { mayDo } from '../rights.ts';
import { formatAccountNumber } from './account-number-rules.ts';
import { balanceOf } from './ledger/money-on-account-rules.ts';
import {
  daysPastDue,
  hasEqualInstalments,
  type Position,
  position,
  rhythmOf,
  type Standing,
  scheduleItems,
  scheduleRuns,
  termsOf,
} from './schedule/rules.ts';
import { type AccountSearch, readAccountSearch } from './search-rules.ts';
import { dueRuleOf, movesFrom } from './status/rules.ts';
import type { ShownAccountRow } from './store.ts';

/** The parameter `search` of a list of accounts. Customers are searched only for a caller who may read them. */
export function searchOf(
  { config }: Pick<Context, 'config'>,
  actor: Actor,
  { search = '' }: { search?: string },
): AccountSearch | undefined {
  return readAccountSearch(search, {
    phoneRegion: config.PHONE_REGION,
    searchesCustomers: mayDo(actor, 'customers:read'),
  });
}

export function toAccount(row: ShownAccountRow, currency: Currency, day: PlainDate) {
  const { status } = row;
  const paidMinor = BigInt(row.paid_minor);
  const terms = termsOf(row);
  const current = position(terms, standingOf(row, day));
  return {
    id: row.id,
    accountNumber: formatAccountNumber(row.id),
    customerId: row.customer_id,
    productId: row.product_id,
    payplanId: row.payplan_id,
    employeeId: row.employee_id,
    activationDate: row.activation_date,
    status,
    reason: row.status_reason,
    allowedMoves: [...movesFrom(status)],
    writtenOffDate: row.written_off_on,
    currency: currency.code,
    deposit: amountOf(row.deposit_minor, currency),
    instalmentAmount: amountOf(row.instalment_minor, currency),
    instalmentCount: row.instalment_count,
    frequency: row.frequency,
    hasEqualInstalments: hasEqualInstalments(terms),
    rhythm: rhythmOf(terms),
    graceDays: row.grace_days,
    planVersion: row.plan_version,
    restructured: restructuredOf(row),
    originalTerms: toOriginalTerms(row, day),
    total: amountOf(row.total_minor, currency),
    paid: amountOf(row.paid_minor, currency),
    balance: amountOf(balanceOf({ status, totalMinor: BigInt(row.total_minor), paidMinor }), currency),
    credit: amountOf(row.credit_minor, currency),
    arrears: amountOf(current.arrearsMinor, currency),
    externalId: row.external_id,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    // At the end: a property after a spread takes long, and lists make this object for each row.
    ...toPaymentState(current, currency),
  };
}

/** The newest deferral or revision that is not undone. */
export function restructuredOf({
  restructured_kind: kind,
  restructured_on: date,
}: Pick<ShownAccountRow, 'restructured_kind' | 'restructured_on'>) {
  if (date === null || (kind !== 'deferral' && kind !== 'revision')) return null;
  return { kind, date };
}

function toOriginalTerms(
  { status, original_due_date: nextDueDate, activation_date }: ShownAccountRow,
  day: PlainDate,
) {
  if (nextDueDate === null) return null;
  const { activated } = dueRuleOf(status);
  const isOwing = activated && compareDates(activation_date, day) <= 0;
  return { nextDueDate, daysPastDue: isOwing ? daysPastDue(nextDueDate, day) : 0 };
}

/** The fields of `paymentStateFields`. */
export function toPaymentState(position: Position, currency: Currency) {
  const { paymentState, daysPastDue, paidUntil, nextDueDate, nextDueAmountMinor } = position;
  return {
    paymentState,
    daysPastDue,
    paidUntil,
    nextDueDate,
    nextDueAmount: nextDueAmountMinor === null ? null : amountOf(nextDueAmountMinor, currency),
  };
}

export function toSchedule(row: ShownAccountRow, currency: Currency, day: PlainDate) {
  const items = scheduleItems(termsOf(row), standingOf(row, day));
  return {
    accountId: row.id,
    accountNumber: formatAccountNumber(row.id),
    currency: currency.code,
    items: items.map((item) => ({
      number: item.index,
      dueDate: item.date,
      amount: amountOf(item.amountMinor, currency),
      paid: amountOf(item.paidMinor, currency),
      state: item.state,
    })),
    runs: scheduleRuns(items).map(({ first, last, amountMinor, paidMinor, state }) => ({
      firstItem: first.index,
      lastItem: last.index,
      firstDueDate: first.date,
      lastDueDate: last.date,
      amount: amountOf(amountMinor, currency),
      paid: amountOf(paidMinor, currency),
      state,
    })),
  };
}

function standingOf({ status, paid_minor }: ShownAccountRow, day: PlainDate): Standing {
  return {
    paidMinor: BigInt(paid_minor),
    today: day,
    ...dueRuleOf(status),
  };
}
