import type { Schemas } from '../../api/paths.ts';

const BYTE_ORDER_MARK = '\ufeff';

/** A call list as a CSV file like those of the service: with a byte order mark, and with the same protection against formulas. */
export function csvOf(accounts: readonly CalledAccount[]): string {
  const lines = accounts.map(
    ({ accountNumber, customer, product, status, daysPastDue, arrears, balance }) => [
      accountNumber,
      customer?.name ?? '',
      customer?.phone ?? '',
      product?.name ?? '',
      status,
      daysPastDue,
      arrears,
      balance,
    ],
  );
  return BYTE_ORDER_MARK + [HEAD, ...lines].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

/** The fields of an account that the file contains. */
export interface CalledAccount
  extends Pick<Schemas['Account'], 'accountNumber' | 'status' | 'daysPastDue' | 'arrears' | 'balance'> {
  customer?: Pick<NonNullable<Schemas['Account']['customer']>, 'name' | 'phone'>;
  product?: Pick<NonNullable<Schemas['Account']['product']>, 'name'>;
}

const HEAD = [
  'accountNumber',
  'customerName',
  'phone',
  'product',
  'status',
  'daysPastDue',
  'arrears',
  'balance',
];

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
