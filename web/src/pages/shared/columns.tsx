import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import type { Filter } from './list.tsx';

/** Columns and filters that several lists have. They are functions, because the language can change. */

export function dateColumn<Row>(
  name: string,
  label: string,
  dateOf: (row: Row) => string | null,
): Column<Row> {
  return {
    name,
    label,
    canSort: true,
    show: (row) => {
      const date = dateOf(row);
      return date === null ? null : <span className="nowrap">{format.date(date)}</span>;
    },
  };
}

export function createdColumn<Row extends { createdAt: string }>(): Column<Row> {
  return {
    name: 'createdAt',
    label: t('field.createdAt'),
    onPhone: 'plain',
    canSort: true,
    show: ({ createdAt }) => <span className="nowrap">{format.dateTime(createdAt)}</span>,
  };
}

export function activeColumn<Row extends { active: boolean }>(): Column<Row> {
  return {
    name: 'active',
    label: t('field.status'),
    onPhone: 'value',
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

export function productFilter(products: readonly Schemas['Product'][]): Filter {
  return {
    name: 'productId',
    label: t('field.product'),
    choices: products.map(({ id, name }) => [String(id), name]),
  };
}

export function methodFilter(label: string, methods: readonly Schemas['PaymentMethod'][]): Filter {
  return {
    name: 'paymentMethodId',
    label,
    choices: methods.map(({ id, name }) => [String(id), name]),
  };
}
