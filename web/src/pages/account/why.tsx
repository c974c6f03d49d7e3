import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { loaded, type RowsQuery } from '../shared/table-panel.tsx';

type Run = Schemas['AccountSchedule']['runs'][number];
type Coverage = Schemas['PaymentCoverage'];
type CoverRun = Coverage['coverRuns'][number];

/** Why the customer owes what the key figures show: the instalments, and the payments with what each covered. */
export function Why({ overview }: { overview: Schemas['AccountOverview'] }) {
  const { account, schedule, coverage, payments } = overview;
  // The overview of an account with thousands of payments does not have the latest ones. The user can ask for all of them.
  const latest = coverage ?? (payments && { rows: [], total: payments.total });
  return (
    <Panel title={t('account.why')}>
      <Facts rows={[...schedule.runs].reverse().map((run) => [nameOf(run), stateOf(run)])} />
      {latest && latest.total > 0 && <Payments accountId={account.id} latest={latest} />}
    </Panel>
  );
}

/** For example: Instalments 4 to 13 (1 Mar 2026 to 10 Mar 2026). */
function nameOf({
  firstItem,
  lastItem,
  firstDueDate,
  lastDueDate,
}: Omit<CoverRun, 'amount' | 'isWhole'>): string {
  if (firstItem !== lastItem) {
    const days = { from: format.date(firstDueDate), to: format.date(lastDueDate) };
    return t('account.why.instalments', { first: firstItem, last: lastItem, ...days });
  }
  const name = firstItem === 0 ? t('field.deposit') : t('account.timeline.item', { number: firstItem });
  return t('account.why.item', { name, date: format.date(firstDueDate) });
}

function stateOf({ amount, paid, state }: Run): string {
  const isPartlyPaid = paid !== 0 && state !== 'paid';
  const part = { paid: format.money(paid), amount: format.money(amount) };
  const sum = isPartlyPaid ? t('account.why.partlyPaid', part) : format.money(amount);
  return `${sum} · ${tValue('itemState', state)}`;
}

/** The payments and credit moves, newest first, each with what it covers. All of them are read on request. */
function Payments({
  accountId,
  latest,
}: {
  accountId: number;
  latest: NonNullable<Schemas['AccountOverview']['coverage']>;
}) {
  const [isExpanded, setIsExpanded] = useState(false);
  const all = api.useQuery(
    'get',
    '/api/accounts/{id}/statement',
    { params: { path: { id: accountId } } },
    { enabled: isExpanded, select: (answer) => ({ data: moneyOf(answer), pagination: {} }) },
  );
  const query: RowsQuery<Coverage> = isExpanded ? all : loaded(latest);
  const root = useLostFocus<HTMLDivElement>(isExpanded && all.data !== undefined, '.table-scroll');
  return (
    <div ref={root}>
      <Loaded query={query} explain={explain} skeleton={<Skeleton lines={6} />}>
        {({ data }) =>
          data.length > 0 && (
            <Table
              caption={t('account.why.payments')}
              columns={columnsOf()}
              rows={data}
              keyOf={({ paymentId, creditMoveId }) => `${paymentId} ${creditMoveId}`}
            />
          )
        }
      </Loaded>
      {!isExpanded && latest.total > latest.rows.length && (
        <Button kind="quiet" onClick={() => setIsExpanded(true)}>
          {t('account.why.more', { total: format.number(latest.total) })}
        </Button>
      )}
    </div>
  );
}

/** The rows of a statement that are money, newest first. The answer is a string only for CSV and PDF. */
function moneyOf(answer: string | { data: Schemas['AccountStatement'] }): Coverage[] {
  const rows = typeof answer === 'string' ? [] : answer.data.rows;
  return rows.flatMap((row) => (isMoney(row) ? [row] : [])).reverse();
}

type StatementRow = Schemas['AccountStatement']['rows'][number];

function isMoney(row: StatementRow): row is StatementRow & Pick<Coverage, 'type'> {
  return ['payment', 'transfer_in', 'transfer_out', 'refund'].includes(row.type);
}

function columnsOf(): Column<Coverage>[] {
  return [
    { name: 'date', label: t('field.date'), show: ({ date }) => format.date(date) },
    { name: 'payment', label: t('account.why.payment'), onPhone: 'plain', show: describePayment },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: ({ amount, paid, reversedOn }) =>
        reversedOn === null ? format.amount(paid) : <s>{format.amount(amount)}</s>,
    },
    { name: 'covered', label: t('account.why.covered'), show: describeCoverage },
  ];
}

function describePayment({ type, paymentMethod, transactionRef }: Coverage): string {
  const name = type === 'payment' ? paymentMethod : tValue('statementRow', type);
  return [name, transactionRef].filter(Boolean).join(' · ');
}

/** For example: Instalments 4 to 13 (1 Mar 2026 to 10 Mar 2026); Instalment 14 (11 Mar 2026): 20.00. */
function describeCoverage({ coverRuns, credit, reversedOn }: Coverage): string {
  if (reversedOn !== null) return t('account.why.reversed', { date: format.date(reversedOn) });
  const parts = coverRuns.map((run) =>
    run.isWhole
      ? nameOf(run)
      : t('account.why.part', { amount: format.amount(run.amount), name: nameOf(run) }),
  );
  if (credit) parts.push(t('account.why.credit', { amount: format.amount(credit) }));
  return parts.join('; ') || '–';
}
