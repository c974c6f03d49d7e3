import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { labelOf } from '../../api/words.ts';
import { format, hasValue, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { nameOfActor } from './actor.ts';
import { NoteActions, NoteDialog } from './note-dialogs.tsx';
import { describeOutcome } from './plan-outcome.ts';
import { reasonInWords } from './status-reason.ts';

type Entry = Schemas['Timeline']['entries'][number];
type Kind = Entry['kind'];

const PAGE = 10;

interface HistoryProps {
  customerId: number;
  /** Undefined: the history of the customer with all accounts. */
  accountId?: number;
}

/** What happened with a customer or an account, and the notes of staff, with pinned notes on top. */
export function History({ customerId, accountId }: HistoryProps) {
  const [kind, setKind] = useState<Kind>();
  const [isWriting, setIsWriting] = useState(false);
  const timeline = useTimeline(customerId, accountId, kind);
  const pages = timeline.data?.pages.length ?? 0;
  const list = useLostFocus<HTMLOListElement>(pages > 1, `li:nth-child(${(pages - 1) * PAGE + 1})`);
  return (
    <Panel
      title={t('history.title')}
      actions={
        may('notes:write') && <Button onClick={() => setIsWriting(true)}>{t('history.note.write')}</Button>
      }
    >
      <Loaded query={timeline} explain={explain} skeleton={<Skeleton lines={6} />}>
        {(data) => {
          const entries = data.pages.flatMap((page) => page.data.entries);
          return (
            <>
              <PinnedNotes notes={data.pages[0]?.data.pinnedNotes ?? []} />
              <KindField kinds={data.pages[0]?.data.kinds ?? []} kind={kind} onChoose={setKind} />
              {entries.length === 0 && <p className="muted">{t('history.none')}</p>}
              <ol ref={list} className="history" aria-label={t('history.title')}>
                {entries.map((entry) => (
                  <li key={`${entry.kind} ${entry.id}`} tabIndex={-1}>
                    <EntryRow entry={entry} customerId={customerId} showsAccount={accountId === undefined} />
                  </li>
                ))}
              </ol>
              {timeline.hasNextPage && (
                <Button
                  kind="quiet"
                  isBusy={timeline.isFetchingNextPage}
                  onClick={() => void timeline.fetchNextPage()}
                >
                  {t('history.older')}
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
      {isWriting && (
        <NoteDialog
          customerId={customerId}
          {...(accountId !== undefined && { accountId })}
          onClose={() => setIsWriting(false)}
        />
      )}
    </Panel>
  );
}

const PAGING = {
  ...KEEPS_LAST,
  pageParamName: 'after',
  initialPageParam: '',
  getNextPageParam: ({ data }: { data: Schemas['Timeline'] }) => data.nextCursor ?? undefined,
};

function useTimeline(customerId: number, accountId: number | undefined, kind: Kind | undefined) {
  const isOfAccount = accountId !== undefined;
  const query = { limit: PAGE, ...(kind && { kind: [kind] }) };
  const ofCustomer = api.useInfiniteQuery(
    'get',
    '/api/customers/{id}/timeline',
    { params: { path: { id: customerId }, query } },
    { ...PAGING, enabled: !isOfAccount },
  );
  const ofAccount = api.useInfiniteQuery(
    'get',
    '/api/accounts/{id}/timeline',
    { params: { path: { id: accountId ?? 0 }, query } },
    { ...PAGING, enabled: isOfAccount },
  );
  return isOfAccount ? ofAccount : ofCustomer;
}

interface KindFieldProps {
  kinds: readonly Kind[];
  kind: Kind | undefined;
  onChoose(kind: Kind | undefined): void;
}

function KindField({ kinds, kind, onChoose }: KindFieldProps) {
  return (
    <select
      className="input"
      aria-label={t('history.kind')}
      value={kind ?? ''}
      onChange={(event) => onChoose(kinds.find((one) => one === event.target.value))}
    >
      <option value="">{t('history.kind.all')}</option>
      {kinds.map((one) => (
        <option key={one} value={one}>
          {tValue('timelineKind', one)}
        </option>
      ))}
    </select>
  );
}

function PinnedNotes({ notes }: { notes: Schemas['Timeline']['pinnedNotes'] }) {
  if (notes.length === 0) return null;
  return (
    <ul className="history" aria-label={t('history.pinned')}>
      {notes.map((note) => (
        <li key={note.id}>
          <span className="spread">
            <strong>{t('history.pinned')}</strong>
            {note.accountNumber && <span className="mono">{note.accountNumber}</span>}
          </span>
          <span className="note-text">{note.text}</span>
          <NoteActions note={note} />
        </li>
      ))}
    </ul>
  );
}

interface EntryRowProps {
  entry: Entry;
  customerId: number;
  showsAccount: boolean;
}

function EntryRow({ entry, customerId, showsAccount }: EntryRowProps) {
  const { kind, status, amount, actor, recordedAt, valueDate, accountId, accountNumber } = entry;
  const statusText = status && textOfStatus(kind, status);
  return (
    <>
      <span className="spread">
        <strong>{titleOf(entry)}</strong>
        {amount !== undefined && <span className="nowrap">{format.money(amount)}</span>}
        {statusText && kind !== 'status' && <Badge>{statusText}</Badge>}
      </span>
      <Details entry={entry} customerId={customerId} />
      <span className="muted">
        {nameOfActor(actor)}
        {' · '}
        <time dateTime={recordedAt}>{format.dateTime(recordedAt)}</time>
        {valueDate && ` · ${t('history.valueDate', { date: format.date(valueDate) })}`}
        {showsAccount && accountId !== null && (
          <>
            {' · '}
            <Link href={`/accounts/${accountId}`}>{accountNumber}</Link>
          </>
        )}
      </span>
    </>
  );
}

const PAGES: Partial<Record<Kind, string>> = {
  payment: '/payments',
  reversal: '/payments',
  invoice: '/invoices',
  invoice_void: '/invoices',
};

function titleOf({ kind, resourceId, previousStatus, status }: Entry): ReactNode {
  if (kind === 'status' && status) {
    const after = tValue('accountStatus', status);
    return previousStatus === undefined
      ? t('history.opened', { to: after })
      : t('history.changed', { from: tValue('accountStatus', previousStatus), to: after });
  }
  const name = tValue('timelineKind', kind);
  const page = PAGES[kind];
  return page ? <Link href={`${page}/${resourceId}`}>{name}</Link> : name;
}

const STATUS_NAMES = {
  payment: 'paymentStatus',
  payment_request: 'paymentRequestStatus',
  approval_request: 'approvalStatus',
  approval_end: 'approvalStatus',
  invoice: 'invoiceStatus',
  identity_check: 'kycStatus',
  call: 'callResult',
  plan_change: 'planChangeKind',
} as const satisfies Partial<Record<Kind, string>>;

function textOfStatus(kind: Kind, status: string): string | undefined {
  if (!(kind in STATUS_NAMES)) return undefined;
  const names = STATUS_NAMES[kind as keyof typeof STATUS_NAMES];
  return hasValue(names, status) ? tValue(names, status) : undefined;
}

function Details({ entry, customerId }: { entry: Entry; customerId: number }) {
  const { kind, id, method, reference, reason, action, otherAccountNumber, note, changes } = entry;
  const { dueDate, isMistake, isNoteHidden, planChange } = entry;
  const parts = [
    isMistake && t('history.byMistake'),
    method && nameOfMethod(kind, method),
    dueDate && t('history.promisedUntil', { date: format.date(dueDate) }),
    reference,
    action && tValue('approvalAction', action),
    otherAccountNumber,
    planChange && describeOutcome(planChange),
    reason && (kind === 'status' || kind === 'plan_change' ? reasonInWords(reason) : reason),
  ].filter((part) => Boolean(part));
  return (
    <>
      {parts.length > 0 && <span>{parts.join(' · ')}</span>}
      {isNoteHidden && <span className="muted">{t('history.note.isHidden')}</span>}
      {changes?.map(({ field, before, after }) => (
        <span key={field}>
          {t('history.change', {
            field: labelOf(field) ?? tValue('changedField', field),
            before: before ?? '–',
            after: after ?? '–',
          })}
        </span>
      ))}
      {note && (
        <>
          {note.text === null ? (
            <span className="muted">{t('history.note.isHidden')}</span>
          ) : (
            <span className="note-text">{note.text}</span>
          )}
          {(!note.isHidden || note.text !== null) && (
            <NoteOf customerId={customerId} noteId={id} note={note} />
          )}
        </>
      )}
    </>
  );
}

function nameOfMethod(kind: Kind, method: string): string {
  if (kind === 'identity_check') return tValue('verificationType', method);
  return kind === 'call' ? tValue('callKind', method) : method;
}

interface NoteOfProps {
  customerId: number;
  noteId: number;
  note: NonNullable<Entry['note']>;
}

/** What can be done with a note is read when the user asks for it. It includes the earlier texts. */
function NoteOf({ customerId, noteId, note }: NoteOfProps) {
  const [isOpen, setIsOpen] = useState(false);
  const path = { id: customerId, noteId };
  const found = api.useQuery(
    'get',
    '/api/customers/{id}/notes/{noteId}',
    { params: { path } },
    { enabled: isOpen },
  );
  if (!isOpen) {
    return (
      <span>
        <Button kind="quiet" onClick={() => setIsOpen(true)}>
          {note.correctionCount > 0
            ? t('history.note.corrected', { count: note.correctionCount })
            : t('history.note.more')}
        </Button>
      </span>
    );
  }
  return (
    <Loaded query={found} explain={explain}>
      {({ data }) => (
        <>
          {data.corrections.map((correction) => (
            <span key={correction.createdAt} className="muted">
              <s className="note-text">{correction.earlierText ?? t('history.note.isHidden')}</s>
              {` ${nameOfActor(correction.actor)} · ${format.dateTime(correction.createdAt)}`}
            </span>
          ))}
          {data.hiddenBy && (
            <span className="muted">{t('history.note.hiddenBy', { actor: nameOfActor(data.hiddenBy) })}</span>
          )}
          <NoteActions note={data} />
        </>
      )}
    </Loaded>
  );
}
