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
  const fields = isRecord(body) ? body : {};
  const transId = referenceKey(textOf(fields, 'TransID', rawBody) ?? '');
  const amountMinor = amountOf(textOf(fields, 'TransAmount'), rules.currency);
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

  const time = readTime(textOf(fields, 'TransTime'), receivedAt, rules.timeZone);
  const businessShortCode = textOf(fields, 'BusinessShortCode');
  const ours = rules.paybillNumbers.length === 0 || rules.paybillNumbers.includes(businessShortCode ?? '');
  const read = {
    provider: PROVIDER,
    source: 'webhook' as const,
    rawBody,
    transId,
    amountMinor,
    transTime: time.transTime,
    businessShortCode,
    billRef: textOf(fields, 'BillRefNumber'),
    payer: textOf(fields, 'MSISDN'),
    flags: [...time.flags, ...(ours ? [] : ['other_short_code'])],
  };
  return {
    notification: { ...read, contentHash: contentHash({ ...read, sentTime: textOf(fields, 'TransTime') }) },
  };
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
