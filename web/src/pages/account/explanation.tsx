import { useState } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';

type Row = Schemas['AccountStatement']['rows'][number];

/** The rows of the account statement, newest first. They are read when the user asks for them, because they can be many. */
export function Explanation({ accountId }: { accountId: number }) {
  const [isShown, setIsShown] = useState(false);
  return (
    <Panel
      title={t('account.explain')}
      isFlush={isShown}
      actions={!isShown && <Button onClick={() => setIsShown(true)}>{t('account.explain.show')}</Button>}
    >
      {isShown && <Rows accountId={accountId} />}
    </Panel>
  );
}

function Rows({ accountId }: { accountId: number }) {
  const statement = api.useQuery(
    'get',
    '/api/accounts/{id}/statement',
    { params: { path: { id: accountId } } },
    { select: (answer) => (answer as Exclude<typeof answer, string>).data }, // The answer is a string only for CSV and PDF.
  );
  const root = useLostFocus<HTMLDivElement>(statement.data !== undefined, '.table-scroll');
  const columns: Column<Row>[] = [
    { name: 'date', label: t('field.date'), show: (row) => format.date(row.date) },
    { name: 'type', label: t('account.explain.what'), onPhone: 'plain', show: nameOf },
    amountColumn('charged', t('account.explain.charged')),
    amountColumn('paid', t('account.explain.paid')),
    amountColumn('dueSoFar', t('account.explain.due'), true),
    amountColumn('owedInTotal', t('account.explain.owed'), true),
  ];
  return (
    <div ref={root}>
      <Loaded query={statement} explain={explain} skeleton={<Skeleton lines={6} />}>
        {({ rows }) => (
          <Table
            caption={t('account.explain')}
            columns={columns}
            rows={[...rows].reverse()}
            keyOf={({ date, type, item, paymentId, creditMoveId, planChangeId }) =>
              [date, type, item, paymentId, creditMoveId, planChangeId].join(' ')
            }
          />
        )}
      </Loaded>
    </div>
  );
}

function amountColumn(name: 'charged' | 'paid' | 'dueSoFar' | 'owedInTotal', label: string, isTotal = false) {
  // What a customer has paid ahead is not due.
  const amountOf = (row: Row) => (name === 'dueSoFar' ? Math.max(0, row.dueSoFar) : row[name]);
  const show = (row: Row) => (amountOf(row) === 0 && !isTotal ? '' : format.amount(amountOf(row)));
  return { name, label, isNumber: true, show };
}

function nameOf(row: Row): string {
  const name = tValue('statementRow', row.type);
  if (row.type === 'instalment') return `${name} ${row.item}`;
  const detail = row.transactionRef ?? row.reason;
  return detail === null ? name : `${name} · ${detail}`;
}
