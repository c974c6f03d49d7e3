import { Link } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { useListState } from '../../ui/list-state.ts';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import {
  DIFFERENCES,
  linesOf,
  RESULTS,
  type Result,
  type Statement,
} from '../shared/provider-statement-results.ts';
import { TablePanel } from '../shared/table-panel.tsx';

type Line = Schemas['ProviderStatementLine'];

const PAGE_SIZE = 25;
const DIFFERENCE_NAMES: ReadonlySet<Result> = new Set(DIFFERENCES);

/** A table with the number of lines of each result, and the lines of the chosen result. */
export function Lines({ statement }: { statement: Statement }) {
  const { filters, page, setPage } = useListState(['result'], { name: 'id', isDescending: false });
  const shown = RESULTS.filter((result) => result === 'matched' || linesOf(statement, result).lines > 0);
  const result = shown.find((name) => name === filters.result) ?? shown[0] ?? 'matched';
  return (
    <div className="column">
      <Panel title={t('providerStatements.results')} isFlush>
        <Table
          caption={t('providerStatements.results')}
          columns={resultColumns(statement, result)}
          rows={shown}
          keyOf={(name) => name}
          {...(may('payers:read') && {
            hrefOf: (name: Result) => `/statements/${statement.id}?result=${name}`,
          })}
        />
      </Panel>
      {may('payers:read') && (
        <ResultLines key={result} statement={statement} result={result} page={page} onPage={setPage} />
      )}
    </div>
  );
}

function resultColumns(statement: Statement, current: Result): Column<Result>[] {
  return [
    {
      name: 'result',
      label: t('providerStatements.result'),
      show: (result) => (
        <span aria-current={result === current || undefined}>{tValue('lineResult', result)}</span>
      ),
    },
    {
      name: 'meaning',
      label: t('providerStatements.meaning'),
      onPhone: 'plain',
      show: (result) => <span className="muted">{t(`providerStatements.meaning.${result}`)}</span>,
    },
    {
      name: 'lines',
      label: t('providerStatements.lineCount'),
      isNumber: true,
      onPhone: 'value',
      show: (result) => {
        const { lines } = linesOf(statement, result);
        const isDifference = DIFFERENCE_NAMES.has(result);
        return isDifference ? <Badge tone="warning">{format.number(lines)}</Badge> : format.number(lines);
      },
    },
    moneyColumn('total', t('field.amount'), (result) => linesOf(statement, result).total, {
      onPhone: 'plain',
    }),
  ];
}

interface ResultLinesProps {
  statement: Statement;
  result: Result;
  page: number;
  onPage(page: number): void;
}

function ResultLines({ statement, result, page, onPage }: ResultLinesProps) {
  const query = { 'filter[result]': { eq: result }, sort: 'id:asc', limit: PAGE_SIZE, page };
  const lines = api.useQuery(
    'get',
    '/api/reconciliations/statements/{id}/lines',
    { params: { path: { id: statement.id }, query } },
    KEEPS_LAST,
  );
  return (
    <TablePanel
      title={tValue('lineResult', result)}
      actions={
        result === 'conflict' && (
          <Link href="/unmatched?view=conflicts">{t('providerStatements.toConflicts')}</Link>
        )
      }
      query={lines}
      columns={lineColumns(result)}
      none={t('providerStatements.noLines')}
      pager={{ page, onPage }}
    />
  );
}

function lineColumns(result: Result): Column<Line>[] {
  const columns: (Column<Line> & { isShown?: boolean })[] = [
    {
      name: 'receipt',
      label: t('providerStatements.receipt'),
      show: ({ receipt, lineNumber }) => (
        <span className="mono">{receipt ?? t('providerStatements.line', { number: lineNumber ?? '–' })}</span>
      ),
    },
    {
      name: 'completedAt',
      label: t('account.pay.date'),
      onPhone: 'plain',
      show: ({ completedAt, paymentDate }) =>
        completedAt ? format.dateTime(completedAt) : paymentDate && format.date(paymentDate),
    },
    {
      name: 'payer',
      label: t('providerStatements.payer'),
      onPhone: 'plain',
      show: ({ payerName, payer }) => [payerName, payer].filter(Boolean).join(' · '),
    },
    {
      name: 'reference',
      label: t('field.reference'),
      onPhone: 'plain',
      show: ({ reference }) => <span className="mono">{reference}</span>,
    },
    {
      name: 'problem',
      label: t('providerStatements.problem'),
      onPhone: 'plain',
      isShown: ['unreadable', 'contradictory', 'reversed_at_provider'].includes(result ?? ''),
      show: ({ problem, details }) => [problem, details].filter(Boolean).join(' · '),
    },
    {
      name: 'paymentId',
      label: t('providerStatements.inBooks'),
      isNumber: true,
      isShown: result !== 'missing_in_books',
      show: ({ paymentId, paymentAmount }) =>
        paymentId !== null && (
          <Link href={`/payments/${paymentId}`}>
            {paymentAmount === null ? paymentId : format.money(paymentAmount)}
          </Link>
        ),
    },
    {
      name: 'reconciliationId',
      label: t('providerStatements.reconciledCount'),
      onPhone: 'plain',
      isShown: result === 'matched',
      show: ({ reconciliationId }) =>
        reconciliationId !== null && <Badge tone="good">{t('providerStatements.isReconciled')}</Badge>,
    },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: ({ amount }) => (amount === null ? '' : format.money(amount)),
    },
  ];
  return columns.filter(({ isShown = true }) => isShown);
}
