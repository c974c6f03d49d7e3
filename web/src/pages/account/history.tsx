import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

const MOST_ROWS = 50;

/** The status changes: who, when and why. */
export function History({ accountId }: { accountId: number }) {
  const history = api.useQuery('get', '/api/accounts/{id}/history', {
    params: { path: { id: accountId }, query: { sort: 'id:desc', limit: MOST_ROWS } },
  });
  return (
    <Panel title={t('account.history')}>
      <Loaded query={history} explain={explain}>
        {({ data }) => (
          <ol className="history">
            {data.map((change) => (
              <li key={change.id}>
                <strong>{describe(change)}</strong>
                {change.reason && <span>{change.reason}</span>}
                <span className="muted">
                  {change.actor === 'system' ? t('account.history.system') : change.actor}
                  {' · '}
                  <time dateTime={change.createdAt}>{format.dateTime(change.createdAt)}</time>
                </span>
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </Panel>
  );
}

function describe({ from, to }: Schemas['StatusChange']): string {
  const after = tValue('accountStatus', to);
  if (from === null) return t('account.history.opened', { to: after });
  return t('account.history.changed', { from: tValue('accountStatus', from), to: after });
}
