import { amountOf, type Context } from '../../core/context.ts';
import { readAmountOf } from '../providers/rules.ts';
import { differencesOf } from './rules.ts';
import type { ListedQueryRow } from './store.ts';

export function toStatusQuery(
  row: ListedQueryRow,
  { config, currency }: Pick<Context, 'config' | 'currency'>,
) {
  const { answer } = row;
  const settings = { currency, timeZone: config.BUSINESS_TIMEZONE, region: config.PHONE_REGION };
  return {
    id: row.id,
    paymentId: row.payment_id,
    notificationId: row.notification_id,
    provider: row.provider,
    transactionRef: row.transaction_ref,
    state: row.state,
    message: row.message,
    answer: answer && toAnswer(answer, currency),
    differences: answer ? differencesOf(answer, row, settings) : [],
    askedBy: row.asked_by,
    createdAt: row.created_at,
    sentAt: row.sent_at,
    endedAt: row.ended_at,
  };
}

function toAnswer(answer: NonNullable<ListedQueryRow['answer']>, currency: Context['currency']) {
  const { status, payer, payerName, receiver, completedAt, reason } = answer;
  // An unreadable amount is shown as a difference, in the provider's words.
  const amountMinor = readAmountOf(answer, currency);
  const amount = amountMinor === undefined ? null : amountOf(amountMinor, currency);
  return { status, amount, payer, payerName, receiver, completedAt, reason };
}
