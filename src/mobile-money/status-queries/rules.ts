import { amountOf, type Currency } from '../../core/context.ts';
import type { PaymentStatus, Row, StatusQueryState } from '../../core/database/tables.ts';
import { businessDay, type PlainDate } from '../../core/values/dates.ts';
import { areDifferentPayers } from '../../payments/matching/rules.ts';
import type { DescribedTransaction } from '../providers/provider.ts';
import { readAmountOf } from '../providers/rules.ts';

// The state machine of a status query to a provider about one transaction, and the comparison of its answer with the books.

/** Each state of a status query, with the states that it can change to. A late answer is accepted. */
export const QUERY_STATES: Readonly<Record<StatusQueryState, readonly StatusQueryState[]>> = {
  requested: ['answered', 'not_found', 'failed', 'unanswered'],
  answered: [],
  // The provider may find a transaction only some time after the customer has got the receipt.
  not_found: ['answered'],
  failed: ['answered', 'not_found'],
  unanswered: ['answered', 'not_found', 'failed'],
};

export function mayMove(from: StatusQueryState, to: StatusQueryState): boolean {
  return QUERY_STATES[from].includes(to);
}

/** The provider's answer as the database stores it. */
export type StoredAnswer = Omit<DescribedTransaction, 'completedAt'> & { completedAt: string | null };

export type StatusQueryRow = Omit<Row<'status_queries'>, 'answer'> & { answer: StoredAnswer | null };

/** The values of the transaction in the books. A value is null if the books do not have it. */
export interface BookedTransaction {
  amount_minor: number | null;
  payer: string | null;
  business_short_code: string | null;
  payment_date: PlainDate | null;
  trans_time: string | null;
  payment_status: PaymentStatus | null;
}

export const COMPARED_FIELDS = ['amount', 'payer', 'receiver', 'date', 'status'] as const;

export interface Difference {
  field: (typeof COMPARED_FIELDS)[number];
  ours: string;
  provider: string;
}

interface ComparisonSettings {
  currency: Currency;
  timeZone: string;
  region: string;
}

/** Compares the answer with the books. A missing value is not a difference, but a missing payment status counts as paid. */
export function differencesOf(
  answer: StoredAnswer,
  booked: BookedTransaction,
  { currency, timeZone, region }: ComparisonSettings,
): Difference[] {
  const differences: Difference[] = [];
  const add = (field: Difference['field'], ours: string, provider: string) =>
    differences.push({ field, ours, provider });

  const amountMinor = readAmountOf(answer, currency);
  if (booked.amount_minor !== null && answer.amount !== null && amountMinor !== BigInt(booked.amount_minor))
    add('amount', String(amountOf(booked.amount_minor, currency)), answer.amount);
  if (areDifferentPayers(booked.payer, answer.payer, region))
    add('payer', booked.payer ?? '', answer.payer ?? '');
  const { business_short_code: shortCode } = booked;
  if (shortCode !== null && answer.receiver !== null && answer.receiver !== shortCode)
    add('receiver', shortCode, answer.receiver);
  const ourDay =
    booked.payment_date ??
    (booked.trans_time === null ? null : businessDay(new Date(booked.trans_time), timeZone));
  const theirDay = answer.completedAt === null ? null : businessDay(new Date(answer.completedAt), timeZone);
  if (ourDay !== null && theirDay !== null && ourDay !== theirDay) add('date', ourDay, theirDay);
  const countsAsPaid = booked.payment_status !== 'reversed';
  if (answer.status !== null && answer.isCompleted !== countsAsPaid)
    add('status', booked.payment_status ?? 'reported', answer.status);
  return differences;
}

/** A status query without an answer after this time is unanswered. The provider usually answers within seconds. */
export const ANSWER_WITHIN_MS = 10 * 60_000;
/** A status query is sent again for at most this time after its creation. Then it fails, so that staff do not wait longer. */
const SEND_WITHIN_MS = 15 * 60_000;

export function isTooLateToSend(
  { created_at: at }: Pick<StatusQueryRow, 'created_at'>,
  sendAt: Date,
): boolean {
  return sendAt.getTime() - Date.parse(at) > SEND_WITHIN_MS;
}
