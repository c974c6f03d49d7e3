import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Pager } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { Filters, useList } from '../shared/list.tsx';
import { prettyJson } from '../shared/pretty-json.ts';
import { mayAskProvider, NotificationAnswer } from '../shared/provider-answer.tsx';
import { Fact } from './fact.tsx';
import { Queue } from './keyboard-queue.tsx';
import { NotificationFacts, NotificationItem } from './notification.tsx';
import { Warnings } from './warnings.tsx';

type Notification = Schemas['Notification'];

const PAGE_SIZE = 20;
const NEWEST_FIRST = { name: 'id', isDescending: true };

/** The filters for notifications that credited nothing. */
const KINDS = {
  rejected: { 'filter[status]': 'rejected' },
  differs: { 'filter[outcome]': 'differs' },
  repeated: { 'filter[flags][contains]': 'repeated_after_reversal' },
  pending: { 'filter[status]': 'pending' },
} as const;
type Kind = keyof typeof KINDS;

const OTHER_KINDS = ['differs', 'repeated', 'pending'] as const satisfies Kind[];

export function Rejected() {
  const list = useList(
    NEWEST_FIRST,
    [
      {
        name: 'kind',
        label: t('unmatched.kind'),
        choices: OTHER_KINDS.map((kind) => [kind, t(`unmatched.kind.${kind}`)]),
        unset: t('unmatched.kind.rejected'),
        query: (kind) => KINDS[(kind || 'rejected') as Kind],
      },
      { daysOf: 'createdAt' },
    ],
    PAGE_SIZE,
  );
  const { page, setPage, filters } = list.state;
  const notifications = api.useQuery('get', '/api/notifications', { params: { query: list.query } });
  return (
    <>
      <Filters list={list} />
      <Loaded query={notifications} explain={explain} skeleton={<Skeleton lines={8} />}>
        {({ data, pagination: { total, totalPages: pages } }) => (
          <Queue
            key={filters.kind}
            label={t('unmatched.rejected')}
            rows={data}
            total={total ?? data.length}
            titleOf={({ amount }) => (amount === null ? t('unmatched.unreadable') : format.money(amount))}
            showItem={(notification) => <NotificationItem notification={notification} />}
            empty={<Empty>{t('unmatched.rejected.empty')}</Empty>}
            foot={
              (pages ?? 1) > 1 && <Pager page={page} pages={pages ?? 1} total={total ?? 0} onPage={setPage} />
            }
          >
            {(notification) => <Details notification={notification} />}
          </Queue>
        )}
      </Loaded>
    </>
  );
}

function Details({ notification }: { notification: Notification }) {
  const { failure, flags, attempts } = notification;
  const reasons = [...(failure ? [failure] : []), ...flags.map((flag) => tValue('notificationFlag', flag))];
  return (
    <>
      <Warnings texts={reasons} />
      <NotificationFacts notification={notification}>
        <Fact name={t('unmatched.attempts')}>{format.number(attempts)}</Fact>
      </NotificationFacts>
      <p>{t('unmatched.rejected.help')}</p>
      {mayAskProvider() && (
        <section className="provider" aria-label={t('answer.title')}>
          <NotificationAnswer notification={notification} />
        </section>
      )}
      <Body notification={notification} />
    </>
  );
}

/** What the provider sent. The list has only the beginning of a long body. */
function Body({ notification: { id, rawBody } }: { notification: Notification }) {
  const [isWhole, setIsWhole] = useState(false);
  const whole = api.useQuery(
    'get',
    '/api/notifications/{id}',
    { params: { path: { id } } },
    { enabled: isWhole },
  );
  const root = useLostFocus<HTMLDivElement>(isWhole && !whole.error, 'pre');
  const text = whole.data?.data.rawBody ?? rawBody;
  return (
    <div ref={root} className="raw">
      <h3>{t('unmatched.body')}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: Keyboards scroll it. */}
      <pre tabIndex={0}>{prettyJson(text)}</pre>
      {rawBody.endsWith('…') && !isWhole && (
        <Button onClick={() => setIsWhole(true)}>{t('unmatched.body.whole')}</Button>
      )}
      {isWhole && (
        <Loaded query={whole} explain={explain} skeleton={null}>
          {() => null}
        </Loaded>
      )}
    </div>
  );
}
