import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import type { Filter } from './list.tsx';

/** Columns and filters that several lists have. They are functions, because the language of their texts can change. */

type Options = Pick<Column<never>, 'onPhone' | 'isOneLine' | 'canSort'>;

export function dateColumn<Row>(
  name: string,
  label: string,
  dateOf: (row: Row) => string | null,
  options: Options = {},
): Column<Row> {
  return {
    name,
    label,
    canSort: true,
    show: (row) => {
      const date = dateOf(row);
      return date === null ? null : <span className="nowrap">{format.date(date)}</span>;
    },
    ...options,
  };
}

export function timeColumn<Row>(
  name: string,
  label: string,
  timeOf: (row: Row) => string | null,
  options: Options = {},
): Column<Row> {
  return {
    name,
    label,
    canSort: true,
    show: (row) => {
      const time = timeOf(row);
      return time === null ? '–' : <span className="nowrap">{format.dateTime(time)}</span>;
    },
    ...options,
  };
}

export function createdColumn<Row extends { createdAt: string }>(
  onPhone: Options['onPhone'] = 'plain',
): Column<Row> {
  return timeColumn('createdAt', t('field.createdAt'), ({ createdAt }) => createdAt, { onPhone });
}

/** A code or a number that people use as a name, such as an account number. */
export function codeColumn<Row>(
  name: string,
  label: string,
  codeOf: (row: Row) => string | null,
  options: Options = {},
): Column<Row> {
  return {
    name,
    label,
    onPhone: 'plain',
    show: (row) => {
      const code = codeOf(row);
      return code && <span className="mono">{code}</span>;
    },
    ...options,
  };
}

export function moneyColumn<Row>(
  name: string,
  label: string,
  amountOf: (row: Row) => number | null,
  options: Options = {},
): Column<Row> {
  return {
    name,
    label,
    isNumber: true,
    onPhone: 'value',
    show: (row) => {
      const amount = amountOf(row);
      return amount === null ? '–' : format.money(amount);
    },
    ...options,
  };
}

/** The amount of a payment, which is struck out after a reversal. */
export function paymentAmountColumn<Row extends { amount: number; status: string }>(): Column<Row> {
  return {
    ...moneyColumn<Row>('amount', t('field.amount'), ({ amount }) => amount, { canSort: true }),
    show: ({ amount, status }) =>
      status === 'reversed' ? <s>{format.money(amount)}</s> : format.money(amount),
  };
}

export function statusColumn<Status extends string, Row extends { status: Status }>(
  tones: Readonly<Record<Status, Tone>>,
  textOf: (status: Status) => string,
  options: Options = {},
): Column<Row> {
  return {
    name: 'status',
    label: t('field.status'),
    onPhone: 'plain',
    show: ({ status }) => <Badge tone={tones[status]}>{textOf(status)}</Badge>,
    ...options,
  };
}

export function activeColumn<Row extends { active: boolean }>(
  onPhone: Options['onPhone'] = 'value',
): Column<Row> {
  return {
    name: 'active',
    label: t('field.status'),
    onPhone,
    show: ({ active }) => (
      <Badge tone={active ? 'good' : 'neutral'}>{tValue('active', String(active))}</Badge>
    ),
  };
}

export function activeFilter(): Filter {
  return choiceFilter('active', t('field.status'), ['true', 'false'], (value) => tValue('active', value));
}

export function choiceFilter<Value extends string>(
  name: string,
  label: string,
  values: readonly Value[],
  textOf: (value: Value) => string,
): Filter {
  return { name, label, choices: values.map((value) => [value, textOf(value)]) };
}

export function statusFilter<Status extends string>(
  tones: Readonly<Record<Status, Tone>>,
  textOf: (status: Status) => string,
): Filter {
  return choiceFilter('status', t('field.status'), Object.keys(tones) as Status[], textOf);
}

/** A filter by a row of another list, such as a product. */
export function rowFilter(
  name: string,
  label: string,
  rows: readonly { id: number; name: string }[],
): Filter {
  return { name, label, choices: rows.map((row) => [String(row.id), row.name]) };
}
