import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { nameOfActor } from '../shared/actor.ts';
import { loaded, type RowsQuery } from '../shared/table-panel.tsx';
import { reasonInWords } from './status-reason.ts';

const MOST_ROWS = 50;

interface HistoryProps {
  accountId: number;
  latest: Schemas['AccountOverview']['statusChanges'];
}

/** The status changes: who, when and why. */
export function History({ accountId, latest }: HistoryProps) {
  const [isExpanded, setIsExpanded] = useState(false);
  const first = latest.rows.length;
  const more = api.useQuery(
    'get',
    '/api/accounts/{id}/history',
    { params: { path: { id: accountId }, query: { sort: 'id:desc', limit: MOST_ROWS } } },
    { enabled: isExpanded },
  );
  const history: RowsQuery<Schemas['StatusChange']> = isExpanded && !more.isPending ? more : loaded(latest);
  const isShown = (history.data?.data.length ?? 0) > first;
  const list = useLostFocus<HTMLOListElement>(isShown, `li:nth-child(${first + 1})`);
  return (
    <Panel title={t('account.history')}>
      <Loaded query={history} explain={explain}>
        {({ data, pagination: { total = 0 } }) => (
          <>
            <ol ref={list} className="history">
              {data.map((change, at) => (
                <li key={change.id} {...(at === first && { tabIndex: -1 })}>
                  <strong>{describe(change)}</strong>
                  {change.reason && <span>{reasonInWords(change.reason)}</span>}
                  <span className="muted">
                    {nameOfActor(change.actor)}
                    {' · '}
                    <time dateTime={change.createdAt}>{format.dateTime(change.createdAt)}</time>
                  </span>
                </li>
              ))}
            </ol>
            {isShown && total > data.length && (
              <p className="muted">{t('account.history.latest', { shown: data.length, total })}</p>
            )}
            {total > data.length && !isShown && (
              <p>
                <Button kind="quiet" isBusy={more.isFetching} onClick={() => setIsExpanded(true)}>
                  {t('action.showMore')}
                </Button>
              </p>
            )}
          </>
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
