import { csvLine } from '../core/values/csv.ts';

// The calls of the mobile-money provider's gateway, and the statement files of its portal.

const EAST_AFRICA_OFFSET_MS = 3 * 3_600_000;

/** A payment of a customer to the short code of the company. */
export interface Transaction {
  id: string;
  time: Date;
  /** In whole units. */
  amount: number;
  /** The reference that the payer typed. */
  reference: string;
  payer: { firstName: string; phone: string };
}

/** The body of the call that reports a transaction. */
export function callOf({ id, time, amount, reference, payer }: Transaction, shortCode: string): string {
  return JSON.stringify({
    TransactionType: 'Pay Bill',
    TransID: id,
    TransTime: localTime(time).replace(/\D/g, ''),
    TransAmount: String(amount),
    BusinessShortCode: shortCode,
    BillRefNumber: reference,
    MSISDN: payer.phone.slice(1),
    FirstName: payer.firstName.toUpperCase(),
  });
}

/** Bodies that report no payment: a test of the gateway, a call without its amount, and one that was cut off. */
export function unreadableCalls(transaction: Transaction, shortCode: string): string[] {
  const whole = callOf(transaction, shortCode);
  return [
    callOf({ ...transaction, id: '', amount: 0, reference: 'TEST' }, shortCode),
    whole.replace(/"TransAmount":"\d+",/, ''),
    whole.slice(0, 120),
  ];
}

interface StatementOptions {
  organisation: string;
  shortCode: string;
  /** A payment that the provider has returned to its payer. */
  returned?: Transaction | undefined;
}

/** The statement of the portal: the transactions, the reversal of `returned`, and a transfer of the remaining sum to the bank. */
export function statementOf(
  transactions: readonly Transaction[],
  { organisation, shortCode, returned }: StatementOptions,
): string {
  const last = transactions.at(-1);
  if (!last) throw new Error('A provider statement needs at least one mobile-money transaction.');
  const sum = transactions.reduce((total, { amount }) => total + amount, 0);
  const withdrawal = (end: string, { time }: Transaction, amount: number, details: string, linked = '') =>
    csvLine([`${last.id}${end}`, localTime(time), 'Completed', '', `${amount}.00`, details, '', linked, '']);
  return [
    csvLine(['Organization Name:', organisation]),
    csvLine(['Short Code:', shortCode]),
    csvLine(COLUMNS),
    ...transactions.map(({ id, time, amount, payer, reference }) => {
      const party = `${payer.phone.slice(1)} - ${payer.firstName.toUpperCase()}`;
      return csvLine([
        id,
        localTime(time),
        'Completed',
        `${amount}.00`,
        '',
        'Pay Bill',
        party,
        '',
        reference,
      ]);
    }),
    ...(returned ? [withdrawal('R', last, returned.amount, 'Reversal', returned.id)] : []),
    withdrawal('W', last, sum - (returned?.amount ?? 0), 'Business transfer to bank'),
  ].join('');
}

const COLUMNS = [
  ...['Receipt No.', 'Completion Time', 'Transaction Status', 'Paid In', 'Withdrawn', 'Details'],
  ...['Other Party Info', 'Linked Transaction ID', 'A/C No.'],
];

/** The provider sends times in East African time, without a time zone. */
function localTime(time: Date): string {
  return new Date(time.getTime() + EAST_AFRICA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}
