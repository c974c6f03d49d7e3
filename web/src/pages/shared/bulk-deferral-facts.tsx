import type { ReactNode } from 'react';
import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { nameOfField } from '../../api/words.ts';
import { format, nameOfKey, t, tValue } from '../../i18n/index.ts';
import { Facts } from '../../ui/panel.tsx';
import { nameOfActor } from './actor.ts';
import { useAllRows, useEmployees, useProducts } from './catalogue.ts';

interface BulkDeferralFactsProps {
  deferral: Schemas['BulkDeferralWithProblems'];
  /** Further rows, above those of the deferral. */
  rows?: readonly (readonly [name: string, value: ReactNode])[];
}

/** Which accounts a bulk deferral selects, by how much it moves their instalments, and who asked for it. */
export function BulkDeferralFacts({ deferral, rows = [] }: BulkDeferralFactsProps) {
  const { from, periods, days, arrears, reasonCode, status, actor } = deferral;
  const { startedAt, endedAt, undoReason, restructuredCount } = deferral;
  const isUndo = status === 'undoing' || status === 'undone';
  // `actor` is the user of the last work.
  const starter = startedAt && !isUndo ? actor : null;
  const ender = startedAt && !isUndo ? null : actor;
  return (
    <Facts
      rows={[
        ...rows,
        [t('deferMany.recent'), restructuredCount ? format.number(restructuredCount) : null],
        [
          t('deferMany.filter'),
          <Filter key="filter" filter={deferral.filter as Schemas['BulkDeferralFilter']} />,
        ],
        [t('changePlan.from'), format.date(from)],
        [t('field.periods'), periods && format.number(periods)],
        [t('field.days'), days && format.number(days)],
        [t('account.arrears'), tValue('arrearsChoice', arrears)],
        [t('field.reasonCode'), reasonCode && nameOfKey(reasonCode)],
        [t('deferMany.prepared'), partsOf(deferral.createdBy, deferral.createdAt)],
        [t('deferMany.startedAt'), startedAt && partsOf(starter, startedAt)],
        [tValue('bulkDeferral', status), endedAt || isUndo ? partsOf(ender, endedAt, undoReason) : null],
      ]}
    />
  );
}

function partsOf(actor: string | null, time: string | null, reason: string | null = null): string {
  return [actor && nameOfActor(actor), time && format.dateTime(time), reason].filter(Boolean).join(' · ');
}

/** The pay plans. Empty until they are loaded. */
export function usePayPlans() {
  const plans = useAllRows(['/api/payplans'], (page, signal) =>
    client.GET('/api/payplans', { signal, params: { query: { ...page, sort: 'name:asc' } } }),
  );
  return plans.data ?? [];
}

const SIGNS: Readonly<Record<string, string>> = {
  eq: '',
  in: '',
  nin: '≠ ',
  ne: '≠ ',
  gt: '> ',
  gte: '≥ ',
  lt: '< ',
  lte: '≤ ',
};

/** Each condition of the filter, with names instead of ids. */
function Filter({ filter }: { filter: Schemas['BulkDeferralFilter'] }) {
  const { metadata, customerMetadata, ...fields } = filter;
  const named: Readonly<Record<string, readonly { id: number; name: string }[]>> = {
    productId: useProducts(),
    payplanId: usePayPlans(),
    employeeId: useEmployees(),
  };
  const nameOf = (field: string, value: unknown) => {
    if (field === 'status') return tValue('accountStatus', String(value));
    if (typeof value === 'number')
      return named[field]?.find(({ id }) => id === value)?.name ?? format.number(value);
    return String(value);
  };
  const rows = [
    ...Object.entries(fields).map(([field, conditions]) => [
      LABELS[field]?.() ?? nameOfField(field),
      Object.entries(conditions)
        .map(([operator, value]) => {
          const names = [value].flat().map((one) => nameOf(field, one));
          return `${SIGNS[operator] ?? `${operator} `}${names.join(', ')}`;
        })
        .join(' · '),
    ]),
    ...Object.entries(metadata ?? {}).map(([key, value]) => [nameOfKey(key), value]),
    ...Object.entries(customerMetadata ?? {}).map(([key, value]) => [
      `${t('field.customer')} · ${nameOfKey(key)}`,
      value,
    ]),
  ];
  return rows.map(([name, value], at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows never move, and two can have the same name
    <div key={at}>
      {name}: {value}
    </div>
  ));
}

/** Other fields have the label that forms have. */
const LABELS: Readonly<Record<string, () => string>> = {
  payplanId: () => t('account.plan'),
  daysPastDue: () => t('changePlan.daysPastDue'),
};
