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
import { reasonInWords } from './status-reason.ts';

const FIRST_ROWS = 6;
const MOST_ROWS = 50;

/** The status changes: who, when and why. */
export function History({ accountId }: { accountId: number }) {
  const [isExpanded, setIsExpanded] = useState(false);
  const list = useLostFocus<HTMLOListElement>(isExpanded, `li:nth-child(${FIRST_ROWS + 1})`);
  const history = api.useQuery('get', '/api/accounts/{id}/history', {
    params: { path: { id: accountId }, query: { sort: 'id:desc', limit: MOST_ROWS } },
  });
  return (
    <Panel title={t('account.history')}>
      <Loaded query={history} explain={explain}>
        {({ data, pagination: { total = 0 } }) => (
          <>
            <ol ref={list} className="history">
              {data.slice(0, isExpanded ? MOST_ROWS : FIRST_ROWS).map((change, at) => (
                <li key={change.id} {...(at === FIRST_ROWS && { tabIndex: -1 })}>
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
            {isExpanded && total > data.length && (
              <p className="muted">{t('account.history.latest', { shown: data.length, total })}</p>
            )}
            {data.length > FIRST_ROWS && !isExpanded && (
              <p>
                <Button kind="quiet" onClick={() => setIsExpanded(true)}>
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
