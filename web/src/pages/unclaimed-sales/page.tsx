import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { codeColumn, dateColumn, moneyColumn, rowFilter } from '../shared/columns.tsx';
import { CommissionTabs } from '../shared/commission-tabs.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

/** The sales of which no commission has the whole share. */
export function Page() {
  const employees = useEmployees();
  const products = useProducts();
  const list = useList({ name: 'activationDate', isDescending: true }, [
    rowFilter('employeeId', t('field.employee'), employees),
    { daysOf: 'activationDate' },
  ]);
  const sales = api.useQuery(
    'get',
    '/api/commissions/unclaimed-sales',
    { params: { query: list.query } },
    KEEPS_LAST,
  );
  const columns: Column<Schemas['UnclaimedSale']>[] = [
    codeColumn('id', t('field.account'), ({ accountNumber }) => accountNumber, { onPhone: 'title' }),
    {
      name: 'employeeId',
      label: t('field.employee'),
      onPhone: 'plain',
      show: ({ employeeId }) => employees.find(({ id }) => id === employeeId)?.name ?? '–',
    },
    {
      name: 'productId',
      label: t('field.product'),
      onPhone: 'hidden',
      show: ({ productId }) => products.find(({ id }) => id === productId)?.name ?? '',
    },
    dateColumn('activationDate', t('commissions.activated'), ({ activationDate }) => activationDate),
    {
      name: 'freeShareBasisPoints',
      label: t('commissions.freeShare'),
      isNumber: true,
      onPhone: 'detail',
      show: ({ freeShareBasisPoints }) => format.rate(freeShareBasisPoints),
    },
    moneyColumn('total', t('field.total'), ({ total }) => total, { canSort: true }),
  ];
  return (
    <ResourcePage
      title={t('nav.commissions')}
      list={list}
      query={sales}
      columns={columns}
      hrefOf={({ id }) => `/accounts/${id}`}
      none={t('commissions.unclaimed.none')}
    >
      <CommissionTabs />
    </ResourcePage>
  );
}
