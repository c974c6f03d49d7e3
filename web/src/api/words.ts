import type { ErrorCode } from '@account-management/client';
import { currentLanguage, format, hasValue, t, tValue } from '../i18n/index.ts';

// The service answers in English. In another language, the console shows messages of its own: by the code of an error, and by the
// rule that a field breaks. An unknown text is shown as it is after a message that fits.

/** The name of a field of the API, as the forms show it. */
export function nameOfField(path: string): string {
  return tValue(LABELS, FIELDS[path] ?? path.replace(/Id$/, ''));
}

/** The label of a field in forms, if it has one. */
export function labelOf(field: string): string | undefined {
  return hasValue(LABELS, field) ? tValue(LABELS, field) : undefined;
}

/** The group of the labels. Each page loads the labels of the fields that it sends. */
const LABELS = 'field';

const FIELDS: Readonly<Record<string, string>> = { transactionRef: 'reference', paymentDate: 'date' };

/** The message of an error. */
export function inWords(
  code: ErrorCode,
  message: string,
  { from, to }: Readonly<Record<string, unknown>>,
): string {
  if (currentLanguage() === 'en') return withFieldNames(message);
  // Invoices, payments and other resources also have `from` and `to`, with statuses of their own.
  if (hasValue('accountStatus', from) && hasValue('accountStatus', to))
    return t('problemCode.transition', {
      from: tValue('accountStatus', from),
      to: tValue('accountStatus', to),
    });
  const known = tValue('problemCode', code);
  return code === 'VALIDATION_ERROR' ? `${known} (${message})` : known;
}

/** The rule that the value of a field breaks. */
export function ruleInWords(message: string): string {
  if (currentLanguage() === 'en') return withFieldNames(message);
  for (const [pattern, rule] of RULES) {
    const match = pattern.exec(message);
    if (match) return tValue('rule', rule, { limit: limitOf(match[1] ?? '') });
  }
  return tValue('rule', 'other', { message });
}

/** "already has this reference" for "already has this transactionRef". */
function withFieldNames(message: string): string {
  return message.replace(/(?<=already has this )\w+/, (field) => nameOfField(field).toLowerCase());
}

const RULES: readonly (readonly [pattern: RegExp, rule: string])[] = [
  [/^is required|^must not be empty/, 'required'],
  [/^must have at least (\d+) (?:characters|letters and digits)/, 'tooShort'],
  [/^must have at most (\d+) characters/, 'tooLong'],
  [/^must be at most the credit/, 'credit'],
  [/^must be at least (\S+)$/, 'tooLow'],
  [/^must be (?:more than |above the deposit \()([^\s)]+)\)?$/, 'notAbove'],
  [/^must be at most ([\d.]+),/, 'tooHigh'],
  [/^must be at most (\S+)$/, 'tooHigh'],
  [/^must have no more than (\d+) decimals/, 'decimals'],
  [/^must be a calendar date.*not later than today/, 'notInFuture'],
  [/^must be a calendar date/, 'date'],
  [/^must not be before (?:today \()?(?:\D*\()?(\d{4}-\d\d-\d\d)/, 'notBefore'],
  [/^must be after (?:\D*\()?(\d{4}-\d\d-\d\d)/, 'after'],
  [/^must be in the future/, 'inFuture'],
  [/^must be an e-mail address/, 'email'],
  [/^must be (?:a phone number of|\+ followed)/, 'phone'],
  [/must not be a number that a spreadsheet/, 'spreadsheet'],
  [/^must be text|^must be (a|an) (number|integer|string|boolean)/, 'unreadable'],
  [/^must refer to an active/, 'inactive'],
  [/^must be another account/, 'otherAccount'],
  [/most common passwords/, 'commonPassword'],
  [/already has this/, 'duplicate'],
  [/^(?:must refer to|There is no)/, 'unknown'],
];

function limitOf(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return format.date(text);
  return text !== '' && Number.isFinite(Number(text)) ? format.number(Number(text)) : text;
}
