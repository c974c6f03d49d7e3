import type { Schemas } from '../../api/paths.ts';

const BYTE_ORDER_MARK = '\ufeff';
/** Text that a spreadsheet would run as a formula. */
const FORMULA = /^\s*[=+@\t\r-]/;

/**
 * A call list in the form of the service's CSV files: UTF-8 with a byte order mark, and an apostrophe before text that would run as
 * a formula.
 */
export function csvOf(accounts: readonly Schemas['Account'][]): string {
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
  const text = FORMULA.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
