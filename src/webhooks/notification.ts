import { createHash } from 'node:crypto';
import type { Currency } from '../core/context.ts';
import { businessDay, compareDates, parseEastAfricaTime } from '../core/dates.ts';
import type { FieldProblem } from '../core/errors.ts';
import { type Minor, maxAmountMinor, parseMinor } from '../core/money.ts';
import { amountRule } from '../core/validation.ts';
import type { ReadNotification } from '../payments/inbox-store.ts';
import { referenceKey } from '../payments/rules.ts';

/** The provider whose notifications come in under /webhooks/payments/mobilemoney. */
export const PROVIDER = 'mobilemoney';

const MAX_TRANS_ID_LENGTH = 64;
const MAX_FIELD_LENGTH = 256;
/** What is said of a body in which nothing can be read. */
export const NO_OBJECT: FieldProblem = { path: 'body', message: 'must be a JSON object' };
/** No mobile money is older: an earlier time is a slip. */
const OLDEST_TIME = new Date('2000-01-01T00:00:00Z');

interface ReadingRules {
  currency: Currency;
  timeZone: string;
  /** Own business short codes; empty: any. */
  paybillNumbers: readonly string[];
}

export type Reading = { notification: ReadNotification } | { problems: FieldProblem[] };

/**
 * Reads what the provider posted. Only a transaction id and an amount are indispensable; everything
 * else that is missing or odd is flagged, because the money has moved already.
 * @param rawBody the body as it came, kept beside what was read of it.
 */
export function readNotification(
  body: unknown,
  rawBody: string,
  receivedAt: Date,
  rules: ReadingRules,
): Reading {
  if (!isRecord(body)) return { problems: [NO_OBJECT] };
  const transId = referenceKey(textOf(body, 'TransID', rawBody) ?? '');
  const amountMinor = amountOf(textOf(body, 'TransAmount'), rules.currency);
  const problems: FieldProblem[] = [];
  if (transId === '' || transId.length > MAX_TRANS_ID_LENGTH) {
    problems.push({ path: 'TransID', message: `must be a text of 1 to ${MAX_TRANS_ID_LENGTH} characters` });
  }
  if (amountMinor === undefined)
    problems.push({
      path: 'TransAmount',
      message: `must be a decimal above 0; it ${amountRule(rules.currency)}`,
    });
  if (amountMinor === undefined || problems.length > 0) return { problems };

  const time = readTime(textOf(body, 'TransTime'), receivedAt, rules.timeZone);
  const { businessShortCode, isOurs, billRef, payer } = readTarget(body, rules);
  const read = {
    provider: PROVIDER,
    source: 'webhook' as const,
    rawBody,
    transId,
    amountMinor,
    transTime: time.transTime,
    businessShortCode,
    billRef,
    payer,
    payerName: readName(body),
    flags: [...time.flags, ...(isOurs ? [] : ['other_short_code'])],
  };
  return {
    notification: { ...read, contentHash: contentHash({ ...read, sentTime: textOf(body, 'TransTime') }) },
  };
}

/** A payment that the provider asks about before the money moves; no amount where it is none. */
export interface Inquiry {
  amountMinor: Minor | undefined;
  isOurs: boolean;
  billRef: string | null;
  payer: string | null;
}

/** @returns undefined for a body that is no JSON object. */
export function readInquiry(
  body: unknown,
  rules: Pick<ReadingRules, 'currency' | 'paybillNumbers'>,
): Inquiry | undefined {
  if (!isRecord(body)) return undefined;
  const { isOurs, billRef, payer } = readTarget(body, rules);
  return { amountMinor: amountOf(textOf(body, 'TransAmount'), rules.currency), isOurs, billRef, payer };
}

/** Who pays whom: what a notification and an inquiry have in common. */
function readTarget(
  fields: Record<string, unknown>,
  { paybillNumbers }: Pick<ReadingRules, 'paybillNumbers'>,
) {
  const businessShortCode = textOf(fields, 'BusinessShortCode');
  return {
    businessShortCode,
    isOurs: paybillNumbers.length === 0 || paybillNumbers.includes(businessShortCode ?? ''),
    billRef: textOf(fields, 'BillRefNumber'),
    payer: textOf(fields, 'MSISDN'),
  };
}

/** The payer's name, of which the provider may send a part or nothing. */
function readName(fields: Record<string, unknown>): string | null {
  const parts = ['FirstName', 'MiddleName', 'LastName'].map((name) => textOf(fields, name));
  const name = parts.filter((part) => part !== null).join(' ');
  return name === '' ? null : name;
}

function readTime(text: string | null, receivedAt: Date, timeZone: string) {
  const transTime = parseEastAfricaTime(text ?? '');
  if (!transTime || transTime < OLDEST_TIME) return { transTime: receivedAt, flags: ['unreadable_time'] };
  const later = compareDates(businessDay(transTime, timeZone), businessDay(receivedAt, timeZone)) > 0;
  return later ? { transTime: receivedAt, flags: ['future_time'] } : { transTime, flags: [] };
}

function amountOf(text: string | null, { decimals }: Currency): Minor | undefined {
  const minor = text === null ? undefined : parseMinor(text, decimals);
  return minor !== undefined && minor > 0n && minor <= maxAmountMinor(decimals) ? minor : undefined;
}

/**
 * A field as text: numbers are accepted where the provider promises strings; characters that nobody
 * sees are dropped. Digits beyond what a number holds exactly are read from the body's own text.
 */
function textOf(fields: Record<string, unknown>, name: string, rawBody = ''): string | null {
  const parsed = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const isRounded = typeof parsed === 'number' && Math.abs(parsed) > Number.MAX_SAFE_INTEGER;
  const value = isRounded ? new RegExp(`"${name}"\\s*:\\s*(\\d+)\\s*[,}]`).exec(rawBody)?.[1] : parsed;
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim()
    .slice(0, MAX_FIELD_LENGTH);
  return text === '' ? null : text;
}

interface Content {
  amountMinor: Minor;
  sentTime: string | null;
  businessShortCode: string | null;
  billRef: string | null;
  payer: string | null;
}

/** Equal for two notifications of one transaction exactly when they say the same. */
function contentHash({ amountMinor, sentTime, businessShortCode, billRef, payer }: Content): Buffer {
  const content = JSON.stringify([String(amountMinor), sentTime, businessShortCode, billRef, payer]);
  return createHash('sha256').update(content).digest();
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
