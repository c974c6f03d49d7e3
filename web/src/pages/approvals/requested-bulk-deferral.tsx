import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { format, t } from '../../i18n/index.ts';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts } from '../../ui/panel.tsx';

/** The deferral of many accounts whose start or undo waits for approval. */
export function RequestedBulkDeferral({ id }: { id: number }) {
  const query = api.useQuery('get', '/api/plan-changes/bulk-deferrals/{id}', { params: { path: { id } } });
  return (
    <Loaded query={query} explain={explain} skeleton={<Skeleton lines={4} />}>
      {({ data: { deferrableCount, from, periods, days, arrears, arrearsMoved } }) => (
        <Facts
          rows={[
            [
              t('deferMany.accounts'),
              <Link key={id} href={`/plan-changes/many/${id}`}>
                {format.number(deferrableCount ?? 0)}
              </Link>,
            ],
            [t('changePlan.from'), format.date(from)],
            [t('field.periods'), periods === null ? null : format.number(periods)],
            [t('field.days'), days === null ? null : format.number(days)],
            [t('deferMany.moved'), arrears === 'behind' ? format.money(arrearsMoved ?? 0) : null],
          ]}
        />
      )}
    </Loaded>
  );
}
