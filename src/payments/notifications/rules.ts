import type { Currency } from '../../core/context.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import { amountRule } from '../../core/http/validation.ts';
import { businessDay, compareDates } from '../../core/values/dates.ts';
import { type Minor, maxAmountMinor, parseMinor } from '../../core/values/money.ts';
import { sha256 } from '../../core/values/secret.ts';
import type { PaymentProvider, SentPayment } from '../providers/provider.ts';
import { OTHER_SHORT_CODE, type ReportedReceipt } from '../receipts/rules.ts';
import { referenceKey } from '../rules.ts';

const MAX_TRANSACTION_ID_LENGTH = 64;
/** No mobile money is older: an earlier time is a slip. */
const OLDEST_TIME = new Date('2000-01-01T00:00:00Z');

interface ReadingRules {
  currency: Currency;
  /** Of the business. */
  timeZone: string;
  /** Own business short codes; an empty list accepts every short code. */
  paybillNumbers: readonly string[];
}

/**
 * Reads what a provider sent. Only a transaction id and an amount are indispensable; everything else that is missing or
 * odd is flagged, because the money may have moved already.
 *
 * @param rawBody the call word for word, kept beside what was read of it.
 */
export function readReport(
  provider: PaymentProvider,
  sent: SentPayment,
  rawBody: string,
  receivedAt: Date,
  rules: ReadingRules,
): { report: ReportedReceipt } | { problems: FieldProblem[] } {
  const transId = referenceKey(sent.transactionId ?? '');
  const amountMinor = readAmountOf(sent, rules.currency);
  const { fieldNames } = provider;
  const problems: FieldProblem[] = [];
  if (transId === '' || transId.length > MAX_TRANSACTION_ID_LENGTH) {
    const message = `must be a text of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters`;
    problems.push({ path: fieldNames.transactionId, message });
  }
  if (amountMinor === undefined) {
    const message = `must be a decimal above 0; it ${amountRule(rules.currency)}`;
    problems.push({ path: fieldNames.amount, message });
  }
  if (amountMinor === undefined || problems.length > 0) return { problems };
  const { transTime, flags } = timeOf(provider, sent.time, receivedAt, rules.timeZone);
  // However it is written, in a call or in a statement: what cannot be read is taken at its words.
  const time = flags.length === 0 && provider.readTime ? transTime.toISOString() : sent.time;
  const report = {
    ...reportBy(provider, { ...sent, time, amountMinor, transId }, rules),
    ...{ source: 'webhook' as const, providerStatementId: null, rawBody, transTime },
  };
  return { report: { ...report, flags: [...flags, ...report.flags] } };
}

/** What is known of a payment, whichever way the provider tells it. */
interface ReportedFacts extends Omit<SentPayment, 'transactionId' | 'amount'> {
  /** As `referenceKey` gives it. */
  transId: string;
  amountMinor: Minor;
}

/** What a report has in common, whether it is a notification or a line of a statement. */
export function reportBy(
  provider: PaymentProvider,
  facts: ReportedFacts,
  rules: Pick<ReadingRules, 'paybillNumbers'>,
) {
  const { transId, amountMinor, businessShortCode, reference: billRef, payer, payerName } = facts;
  return {
    provider: provider.name,
    methodCode: provider.methodCode,
    mustMatch: !provider.acceptsUnmatched,
    transId,
    amountMinor,
    contentHash: contentHash(facts),
    businessShortCode,
    billRef,
    payer,
    payerName,
    flags: isOurs(facts, rules) ? [] : [OTHER_SHORT_CODE],
    stored: null,
    acceptedPaymentId: null,
  };
}

/** Whether the money went to one of the own short codes. */
export function isOurs(
  { businessShortCode }: Pick<SentPayment, 'businessShortCode'>,
  { paybillNumbers }: Pick<ReadingRules, 'paybillNumbers'>,
): boolean {
  return paybillNumbers.length === 0 || paybillNumbers.includes(businessShortCode ?? '');
}

/** @returns undefined for what is no amount of money. */
export function readAmountOf(
  { amount }: Pick<SentPayment, 'amount'>,
  { decimals }: Currency,
): Minor | undefined {
  const minor = amount === null ? undefined : parseMinor(amount, decimals);
  return minor !== undefined && minor > 0n && minor <= maxAmountMinor(decimals) ? minor : undefined;
}

function timeOf(provider: PaymentProvider, text: string | null, receivedAt: Date, timeZone: string) {
  if (!provider.readTime) return { transTime: receivedAt, flags: [] };
  const transTime = provider.readTime(text ?? '');
  if (!transTime || transTime < OLDEST_TIME) return { transTime: receivedAt, flags: ['unreadable_time'] };
  const isLater = compareDates(businessDay(transTime, timeZone), businessDay(receivedAt, timeZone)) > 0;
  return isLater ? { transTime: receivedAt, flags: ['future_time'] } : { transTime, flags: [] };
}

/** Equal for two reports of one transaction exactly when they say the same. */
function contentHash({ amountMinor, time, businessShortCode, reference, payer }: ReportedFacts): Buffer {
  const content = JSON.stringify([String(amountMinor), time, businessShortCode, reference, payer]);
  return sha256(content);
}
