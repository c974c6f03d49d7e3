import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { format, t } from '../../i18n/index.ts';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { BulkDeferralFacts } from '../shared/bulk-deferral-facts.tsx';

/** The deferral of many accounts whose start or undo waits for approval. */
export function RequestedBulkDeferral({ id }: { id: number }) {
  const query = api.useQuery('get', '/api/plan-changes/bulk-deferrals/{id}', { params: { path: { id } } });
  return (
    <Loaded query={query} explain={explain} skeleton={<Skeleton lines={4} />}>
      {({ data }) => (
        <BulkDeferralFacts
          deferral={data}
          rows={[
            [
              t('deferMany.accounts'),
              <Link key={id} href={`/plan-changes/many/${id}`}>
                {format.number(data.deferrableCount ?? 0)}
              </Link>,
            ],
            [t('deferMany.moved'), data.arrears === 'behind' ? format.money(data.arrearsMoved ?? 0) : null],
          ]}
        />
      )}
    </Loaded>
  );
}
