import type { Config, Context, Currency } from '../../core/context.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import { amountRule } from '../../core/http/validation.ts';
import { businessDay, compareDates, EARLIEST_ENTRY, startOfDayUtc } from '../../core/values/dates.ts';
import { type Minor, maxAmountMinor, parseMinor } from '../../core/values/money.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { sha256 } from '../../core/values/secret.ts';
import type { ReadableFields } from '../../payments/notifications/rules.ts';
import type { Notification } from '../../payments/posting/rules.ts';
import { FUTURE_TIME, OTHER_SHORT_CODE, UNREADABLE_TIME } from '../../payments/posting/rules.ts';
import { methodCodeOf } from '../../payments/provider-name-rules.ts';
import type { AnswerReceiver, PaymentProvider, PulledPayment, SentPayment } from './provider.ts';

// Converts a provider's call to a notification.

export const MAX_TRANSACTION_ID_LENGTH = 64;
/** An earlier time is an error. */
export const OLDEST_TIME = startOfDayUtc(EARLIEST_ENTRY, 'UTC');

/** Much longer than any field that providers send. */
const MAX_FIELD_LENGTH = 256;

const EMPTY_AMOUNT = 'empty';

const MAX_MESSAGE_LENGTH = 500;

const utf8 = new TextDecoder();

interface ReadingSettings {
  currency: Currency;
  /** The business time zone. */
  timeZone: string;
  /** The IANA zone of the times that the provider sends. Undefined: the zone of the provider's own API. */
  providerTimeZone?: string | undefined;
  /** The short codes of the business; an empty list accepts every short code. */
  paybillNumbers: readonly string[];
}

/** @param provider - for calls of a provider. Absent for the answers of its own API. */
export function readingSettings(
  { config, currency }: Pick<Context, 'config' | 'currency'>,
  provider?: PaymentProvider,
): ReadingSettings {
  const { BUSINESS_TIMEZONE: timeZone, paybillNumbers } = config;
  return { currency, timeZone, providerTimeZone: provider?.timeZone?.(config), paybillNumbers };
}

/** A payment, or the problems of its required fields with the fields that could be read. */
export type Reading =
  | { notification: Notification }
  | { problems: FieldProblem[]; readable: Partial<ReadableFields> };

/**
 * Parses a payment that a provider sent. Only a transaction id and an amount are required. A payment with a missing or wrong time
 * gets the time of receipt. It is not refused, because the money may have moved already.
 */
export function readNotification(
  provider: PaymentProvider,
  sent: SentPayment,
  rawBody: string,
  receivedAt: Date,
  settings: ReadingSettings,
): Reading {
  const transId = referenceKey(sent.transactionId ?? '');
  const amountMinor = readAmountOf(sent, settings.currency);
  const { fieldNames } = provider;
  const problems: FieldProblem[] = [];
  if (transId === '' || transId.length > MAX_TRANSACTION_ID_LENGTH) {
    const message = `must be a text of 1 to ${MAX_TRANSACTION_ID_LENGTH} characters`;
    problems.push({ path: fieldNames.transactionId, message });
  }
  if (amountMinor === undefined) {
    const message = `must be a decimal above 0; it ${amountRule(settings.currency)}`;
    problems.push({ path: fieldNames.amount, message });
  }
  const timed = (providerTimeZone: string | null) =>
    timeOf(provider, sent.time, receivedAt, { ...settings, providerTimeZone: providerTimeZone ?? undefined });
  const providerTimeZone = settings.providerTimeZone ?? null;
  if (amountMinor === undefined || problems.length > 0) {
    const { transTime, flags } = timed(providerTimeZone);
    const { businessShortCode, reference: billRef, payer, payerName } = sent;
    const isIdReadable = transId !== '' && transId.length <= MAX_TRANSACTION_ID_LENGTH;
    const readable = {
      ...{ businessShortCode, billRef, payer, payerName },
      transId: isIdReadable ? transId : null,
      amountMinor: amountMinor ?? null,
      transTime: provider.readTime && flags.length === 0 ? transTime : null,
    };
    return { problems, readable };
  }
  const readIn = (timeZone: string | null) => {
    const { transTime, flags } = timed(timeZone);
    // Calls and statements have different time formats, so the content hash has the parsed time. A flagged time is hashed unparsed.
    const time = flags.length === 0 && provider.readTime ? transTime.toISOString() : sent.time;
    const fields = notificationFields(provider, { amountMinor, transId, ...sent, time }, settings);
    return { ...fields, transTime, timeZone, flags: [...flags, ...fields.flags] };
  };
  const fields = readIn(providerTimeZone);
  return {
    notification: {
      source: 'webhook',
      providerStatementId: null,
      rawBody,
      ...fields,
      ...(provider.readTime && { readIn }),
    },
  };
}

/** Like `readNotification`, for a pulled payment. Pulled payments are not refusable, because their money has moved. */
export function readPulled(
  provider: PaymentProvider,
  { sent, time, raw }: PulledPayment,
  receivedAt: Date,
  settings: ReadingSettings,
): Reading {
  const reading = readNotification({ ...provider, readTime: () => time }, sent, raw, receivedAt, settings);
  if ('problems' in reading) return reading;
  return { notification: { ...reading.notification, source: 'pull', isRefusable: false } };
}

/** A payment as the provider describes it, in a call or on a statement. */
interface DescribedPayment extends Omit<SentPayment, 'transactionId' | 'amount'> {
  /** In the form of `referenceKey`. */
  transId: string;
  amountMinor: Minor;
}

/** The fields that notifications from calls and from statements have in common. */
export function notificationFields(
  provider: PaymentProvider,
  payment: DescribedPayment,
  settings: Pick<ReadingSettings, 'paybillNumbers'>,
) {
  const { transId, amountMinor, businessShortCode, reference: billRef, payer, payerName } = payment;
  return {
    provider: provider.name,
    methodCode: methodCodeOf(provider.name),
    isRefusable: !provider.acceptsUnmatched,
    providerSendsTime: provider.readTime !== undefined,
    transId,
    amountMinor,
    contentHash: contentHash(payment),
    businessShortCode,
    billRef,
    payer,
    payerName,
    flags: isOurs(payment, settings) ? [] : [OTHER_SHORT_CODE],
    paymentRequestId: null,
    timeZone: null,
    stored: null,
    acceptedPaymentId: null,
    bothAreReal: false,
  };
}

/** Whether the money goes to a short code of the business. */
export function isOurs(
  { businessShortCode }: Pick<SentPayment, 'businessShortCode'>,
  { paybillNumbers }: Pick<ReadingSettings, 'paybillNumbers'>,
): boolean {
  return paybillNumbers.length === 0 || paybillNumbers.includes(businessShortCode ?? '');
}

/** Parses an amount. @returns undefined if it is unreadable, not above 0, or above the largest amount. */
export function readAmountOf(
  { amount }: Pick<SentPayment, 'amount'>,
  { decimals }: Currency,
): Minor | undefined {
  const minor = amount === null ? undefined : parseMinor(amount, decimals);
  return minor !== undefined && minor > 0n && minor <= maxAmountMinor(decimals) ? minor : undefined;
}

function timeOf(
  provider: PaymentProvider,
  text: string | null,
  receivedAt: Date,
  { timeZone, providerTimeZone }: Pick<ReadingSettings, 'timeZone' | 'providerTimeZone'>,
) {
  if (!provider.readTime) return { transTime: receivedAt, flags: [] };
  const transTime = provider.readTime(text ?? '', providerTimeZone);
  if (!transTime || transTime < OLDEST_TIME) return { transTime: receivedAt, flags: [UNREADABLE_TIME] };
  const isLater = compareDates(businessDay(transTime, timeZone), businessDay(receivedAt, timeZone)) > 0;
  return isLater ? { transTime: receivedAt, flags: [FUTURE_TIME] } : { transTime, flags: [] };
}

function contentHash({ amountMinor, time, businessShortCode, reference, payer }: DescribedPayment): Buffer {
  return sha256(JSON.stringify([String(amountMinor), time, businessShortCode, reference, payer]));
}

/**
 * Parses a JSON object. Bytes that are not UTF-8 are replaced, so that one wrong letter of a name does not block a payment.
 * @returns undefined if the body is not a JSON object.
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(body));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // Not JSON: the call is refused, and its body is stored.
  }
}

/**
 * Parses a JSON object or, because some gateways send it, a form. A form with a repeated field is not read, as it is unclear which
 * value is right.
 * @param required - a field that the form must have. Any text could be a form otherwise.
 */
export function parseFields(body: Buffer, required: string): Record<string, unknown> | undefined {
  const object = parseJsonObject(body);
  if (object) return object;
  const entries = [...new URLSearchParams(utf8.decode(body).trim())];
  const fields = Object.fromEntries(entries);
  return Object.hasOwn(fields, required) && Object.keys(fields).length === entries.length
    ? fields
    : undefined;
}

/**
 * Reads a field as text, cleaned by `cleanText`. Numbers are accepted in place of strings.
 *
 * @param rawBody the body, to read the digits of numbers that JavaScript would round.
 * @returns null for a field that is empty, or neither a string nor a number.
 */
export function textOf(fields: Record<string, unknown>, name: string, rawBody = ''): string | null {
  const parsed = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const isRounded = typeof parsed === 'number' && Math.abs(parsed) > Number.MAX_SAFE_INTEGER;
  const value = isRounded ? new RegExp(`"${name}"\\s*:\\s*(\\d+)\\s*[,}]`).exec(rawBody)?.[1] : parsed;
  return typeof value === 'string' || typeof value === 'number' ? cleanText(String(value)) : null;
}

/**
 * The amount as the provider wrote it, even if `readAmountOf` cannot read it. Null only if the field is missing, so that an
 * unreadable amount does not look like a missing one.
 */
export function amountTextOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return cleanText(typeof value === 'string' ? value : JSON.stringify(value)) ?? EMPTY_AMOUNT;
}

/** Trims and shortens a text, and removes invisible characters. @returns null for an empty text. */
export function cleanText(text: string): string | null {
  const clean = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim()
    .slice(0, MAX_FIELD_LENGTH);
  return clean === '' ? null : clean;
}

/** The part of a provider's message that is stored. */
export function shortened(message: string | null): string | null {
  return message?.slice(0, MAX_MESSAGE_LENGTH) ?? null;
}

export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? value : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The address to which a provider posts its answer to a query or a request.
 * @param call - the part of the path that names the kind of the answer: `status` or `requests`.
 */
export function answerUrl(
  config: Config,
  { callbackUrl }: Pick<AnswerReceiver<unknown>, 'callbackUrl'>,
  call: string,
  { provider, callback_key: key }: { provider: string; callback_key: string },
): string {
  const { WEBHOOK_SECRET: secret } = config;
  const token = secret === '' ? '' : `?token=${encodeURIComponent(secret)}`;
  return `${callbackUrl(config)}/api/webhooks/payments/${provider}/${call}/${key}${token}`;
}
