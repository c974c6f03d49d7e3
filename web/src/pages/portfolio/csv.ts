import type { Schemas } from '../../api/paths.ts';

const BYTE_ORDER_MARK = '\ufeff';

/** The texts of a call list that depend on the language and the country. */
export interface CallListWords {
  head: readonly string[];
  statusOf(status: CalledAccount['status']): string;
  phoneCountryCode: string;
}

/** A call list as a CSV file like those of the service: with a byte order mark, and with the same protection against formulas. */
export function csvOf(
  accounts: readonly CalledAccount[],
  { head, statusOf, phoneCountryCode }: CallListWords,
): string {
  const lines = accounts.map(
    ({ accountNumber, customer, product, status, daysPastDue, arrears, balance }) => [
      accountNumber,
      customer?.name ?? '',
      customer ? dialled(customer.phone, phoneCountryCode) : '',
      product?.name ?? '',
      statusOf(status),
      daysPastDue,
      arrears,
      balance,
    ],
  );
  return BYTE_ORDER_MARK + [head, ...lines].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

/** The fields of an account that the file contains. */
export interface CalledAccount
  extends Pick<Schemas['Account'], 'accountNumber' | 'status' | 'daysPastDue' | 'arrears' | 'balance'> {
  customer?: Pick<NonNullable<Schemas['Account']['customer']>, 'name' | 'phone'>;
  product?: Pick<NonNullable<Schemas['Account']['product']>, 'name'>;
}

/**
 * A phone number as people dial it: 0712 345 678, or 00 256 772 123 456 for another country. A spreadsheet shows it unchanged, but
 * would read +254712345678 as a formula.
 */
function dialled(phone: string, phoneCountryCode: string): string {
  if (!phone.startsWith(phoneCountryCode)) return `00 ${inGroups(phone.slice(1))}`;
  const national = phone.slice(phoneCountryCode.length);
  return BEGINS_WITH_ZERO.test(phoneCountryCode)
    ? `0${national.slice(0, 3)} ${inGroups(national.slice(3))}`
    : inGroups(national);
}

/** Countries in which a call within the country begins with 0. */
const BEGINS_WITH_ZERO =
  /^\+(20|27|2(1[123]|3[12349]|43|49|5[01456]|6[013-5])|44|49|62|63|66|84|880|9[1258])$/;

function inGroups(digits: string): string {
  return digits.replace(/\d{3}(?=\d{2})/g, '$& ');
}

function cellOf(value: string | number): string {
  if (typeof value === 'number') return String(value);
  return `"${csvText(value).replaceAll('"', '""')}"`;
}

/** The same as `csvText` in src/core/values/csv.ts. */
function csvText(value: string): string {
  const line = value.replace(/[\r\n]/g, ' ').replace(FORMULA_WITHIN, "$1'");
  return FORMULA.test(value) || LONG_NUMBER.test(value) ? `'${line}` : line;
}

const FORMULA = /^[\s\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20\t\r\n-]/;
const FORMULA_WITHIN = /([,;|\t])(?=["\s\u00a0\u200b\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-])/g;
const LONG_NUMBER = /^\s*(0[0-9]+|[0-9]{16,})\s*$/;
