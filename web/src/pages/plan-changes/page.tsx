import { Link } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, codeColumn } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { planChangeColumns } from '../shared/plan-change-columns.tsx';

type PlanChange = Schemas['PlanChange'];

const KINDS = [
  'deferral',
  'revision',
  'discount',
  'price_correction',
  'price_rise',
  'sale_correction',
  'payoff',
  'undo',
  'imported',
] as const satisfies PlanChange['kind'][];

/** The changes of the plans of all accounts. A row opens its account. */
export function Page() {
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('kind', t('planChanges.kind'), KINDS, (kind) => tValue('planChangeKind', kind)),
    choiceFilter('undone', t('planChanges.state'), ['false', 'true'], (value) =>
      tValue('planChanges', `state.${value}`),
    ),
    { daysOf: 'effectiveOn' },
  ]);
  const changes = api.useQuery('get', '/api/plan-changes', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<PlanChange>[] = [
    codeColumn('accountId', t('field.account'), ({ accountNumber }) => accountNumber, { onPhone: 'title' }),
    {
      name: 'customerId',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customerName }) => customerName,
    },
    ...planChangeColumns(),
  ];
  return (
    <ResourcePage
      title={t('nav.planChanges')}
      list={list}
      query={changes}
      columns={columns}
      none={t('planChanges.none')}
      hrefOf={({ accountId }) => `/accounts/${accountId}`}
    >
      <p>
        <Link className="button secondary" href="/plan-changes/many">
          {t('deferMany.new')}
        </Link>
      </p>
    </ResourcePage>
  );
}
