import { Link } from 'wouter';
import { t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { moneyColumn } from '../shared/columns.tsx';
import type { Statement } from '../shared/provider-statement-results.ts';

type Check = Statement['checks'][number];

/** The comparisons of the statement's own figures. */
export function Checks({ statement: { checks } }: { statement: Statement }) {
  if (checks.length === 0) return null;
  return (
    <Panel title={t('providerStatements.checks')} isFlush>
      <Table
        caption={t('providerStatements.checks')}
        columns={checkColumns()}
        rows={checks}
        keyOf={({ check }) => check}
      />
    </Panel>
  );
}

function checkColumns(): Column<Check>[] {
  return [
    {
      name: 'check',
      label: t('providerStatements.check'),
      show: ({ check, statementId }) => (
        <>
          {tValue('statementCheck', check)}
          {statementId !== null && (
            <>
              {' '}
              <Link href={`/statements/${statementId}`}>
                {t('providerStatements.number', { id: statementId })}
              </Link>
            </>
          )}
        </>
      ),
    },
    moneyColumn('expected', t('providerStatements.check.expected'), ({ expected }) => expected, {
      onPhone: 'plain',
    }),
    moneyColumn('found', t('providerStatements.check.found'), ({ found }) => found, { onPhone: 'plain' }),
    {
      name: 'isEqual',
      label: t('providerStatements.result'),
      onPhone: 'value',
      show: ({ isEqual }) => (
        <Badge tone={isEqual ? 'good' : 'warning'}>
          {t(isEqual ? 'providerStatements.proof.ok' : 'providerStatements.proof.wrong')}
        </Badge>
      ),
    },
  ];
}
