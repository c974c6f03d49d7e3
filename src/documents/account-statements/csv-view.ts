import type { Currency } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { BYTE_ORDER_MARK, csvLine, unquoted } from '../../core/values/csv.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, minorToText } from '../../core/values/money.ts';
import { sourceOf } from './json-view.ts';
import type { Row, StatementFigures } from './rules.ts';
import type { AccountStatement } from './view.ts';
import { coverageOfRow, describeEnds, describeRow, plainSpelling } from './wording-rules.ts';

const COLUMNS = [
  'date',
  'type',
  'description',
  'covers',
  'due',
  'charged',
  'paid',
  'dueSoFar',
  'owedInTotal',
  'amount',
  'currency',
  'accountNumber',
  'paymentId',
  'creditMoveId',
  'transactionRef',
  'reversedOn',
  'ledgerEventId',
  'planChangeId',
  'reason',
] as const;

interface Line extends StatementFigures, Partial<Omit<Row, 'type' | 'covers' | keyof StatementFigures>> {
  date: PlainDate;
  type: string;
  description: string;
  covers?: string;
  source?: ReturnType<typeof sourceOf>;
}

/** One line for each row, between a line with the opening figures and a line with the closing figures and sums. */
export function statementCsv(
  { accountNumber, period, statement }: AccountStatement,
  currency: Currency,
  language: Language,
): string {
  const ends = describeEnds(language);
  const spelling = plainSpelling(currency.decimals, language);
  const amount = (minor: Minor) => ({ unquoted: minorToText(minor, currency.decimals) });
  const optional = (value: string | number | null = null) => (value === null ? null : unquoted(value));
  const lines: Line[] = [
    { ...statement.opening, date: period.from, type: 'opening', description: ends.opening },
    ...statement.rows.map((row) => ({
      ...row,
      description: describeRow(row, spelling),
      covers: coverageOfRow(row, spelling),
      source: sourceOf(row),
    })),
    {
      ...statement.closing,
      ...statement.totals,
      date: period.to,
      type: 'closing',
      description: ends.closing,
    },
  ];
  return [
    BYTE_ORDER_MARK,
    csvLine(COLUMNS.map(unquoted)),
    ...lines.map(({ source, dueMinor = 0n, chargedMinor = 0n, paidMinor = 0n, ...line }) =>
      csvLine([
        unquoted(line.date),
        unquoted(line.type),
        line.description,
        line.covers || null,
        amount(dueMinor),
        amount(chargedMinor),
        amount(paidMinor),
        amount(line.dueSoFarMinor),
        amount(line.owedInTotalMinor),
        line.amountMinor === undefined ? null : amount(line.amountMinor),
        unquoted(currency.code),
        unquoted(accountNumber),
        optional(source?.paymentId),
        optional(source?.creditMoveId),
        source?.transactionRef ?? null,
        optional(source?.reversedOn),
        optional(source?.ledgerEventId),
        optional(line.change?.id),
        line.change?.reason ?? null,
      ]),
    ),
  ].join('');
}
