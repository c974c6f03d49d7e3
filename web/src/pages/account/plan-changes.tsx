import { api } from '../../api/client.ts';
import { t } from '../../i18n/index.ts';
import { planChangeColumns } from '../shared/plan-change-columns.tsx';
import { TablePanel } from '../shared/table-panel.tsx';

/** The changes of the plan of an account, newest first. The print has them, too, unlike the history. */
export function PlanChanges({ accountId }: { accountId: number }) {
  const changes = api.useQuery('get', '/api/accounts/{id}/plan-changes', {
    params: { path: { id: accountId }, query: { sort: 'id:desc', limit: 100 } },
  });
  return <TablePanel title={t('account.planChanges')} query={changes} columns={planChangeColumns()} />;
}
