import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type ProofData = Schemas['Proof'];
type Method = ProofData['day']['byMethod'][number];
type Check = ProofData['checks'][number];

/**
 * Compares the payments of a day with the ledger, and runs all checks of the books. This can take long, so it runs only when the
 * user asks for it. The query key is not a path of the API, so an event such as a payment does not repeat the proof.
 */
export function Proof() {
  const { today } = settings();
  const [date, setDate] = useState(today);
  const [provedDate, setProvedDate] = useState('');
  const proof = useQuery({
    queryKey: ['proof', provedDate],
    queryFn: async () => {
      const { data, error } = await client.GET('/api/reports/proof', {
        params: { query: { date: provedDate } },
      });
      if (error) throw error;
      return data.data;
    },
    enabled: provedDate !== '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isRunning = proof.isFetching;
  return (
    <>
      <form
        className="view-options"
        onSubmit={(event) => {
          event.preventDefault();
          if (provedDate === date) void proof.refetch();
          setProvedDate(date);
        }}
      >
        <label className="view-option">
          {t('providerStatements.proof.day')}
          <input
            className="input"
            type="date"
            max={today}
            required
            value={date}
            onChange={({ target }) => setDate(target.value)}
          />
        </label>
        <Button kind="primary" type="submit" isBusy={isRunning}>
          {t(isRunning ? 'providerStatements.proof.running' : 'providerStatements.proof.run')}
        </Button>
      </form>
      {provedDate === '' ? (
        <p className="muted">{t('providerStatements.proof.hint')}</p>
      ) : (
        <Loaded query={proof} explain={explain} skeleton={<Skeleton lines={6} />}>
          {(data) => <Result proof={data} />}
        </Loaded>
      )}
    </>
  );
}

function Result({ proof }: { proof: ProofData }) {
  const { holds, day, checks, date, readAt } = proof;
  const broken = checks.filter((check) => !check.holds);
  return (
    <div className="column">
      <div className={`verdict ${holds ? 'good' : 'bad'}`} role="status">
        <strong>
          {t(holds ? 'providerStatements.proof.holds' : 'providerStatements.proof.fails', {
            day: format.date(date),
          })}
        </strong>
        <span>
          {t('providerStatements.proof.checks', {
            passed: format.number(checks.length - broken.length),
            all: format.number(checks.length),
            time: format.dateTime(readAt),
          })}
        </span>
      </div>
      {broken.map((check) => (
        <Violations key={check.check} check={check} />
      ))}
      <Panel title={t('providerStatements.proof.payments', { day: format.date(date) })} isFlush>
        <Table
          caption={t('providerStatements.proof.payments', { day: format.date(date) })}
          columns={dayColumns()}
          rows={[
            ...day.byMethod,
            { ...day, paymentMethodId: 0, paymentMethod: t('providerStatements.proof.all') },
          ]}
          keyOf={({ paymentMethodId }) => paymentMethodId}
        />
      </Panel>
      <Panel title={t('providerStatements.proof.rules')} isFlush>
        <Table
          caption={t('providerStatements.proof.rules')}
          columns={checkColumns()}
          rows={checks}
          keyOf={({ check }) => check}
        />
      </Panel>
    </div>
  );
}

function Violations({ check: { rule, violationCount, violations } }: { check: Check }) {
  return (
    <Notice tone="bad" title={rule}>
      <p>{tCount('providerStatements.proof.violations', violationCount)}</p>
      {violations.slice(0, 10).map(({ table, id, what, expected, found }) => (
        <p key={`${table} ${id} ${what}`}>
          {t('providerStatements.proof.violation', { row: `${table} ${id ?? ''}`, what, expected, found })}
        </p>
      ))}
    </Notice>
  );
}

function dayColumns(): Column<Method>[] {
  const amountColumn = (
    name: 'received' | 'matched' | 'unmatched' | 'reversed' | 'refunded',
  ): Column<Method> => ({
    name,
    label: t(`providerStatements.proof.${name}`),
    isNumber: true,
    show: (row) => (row[name].count === 0 && name !== 'received' ? '–' : money(row[name].amount)),
  });
  return [
    {
      name: 'paymentMethod',
      label: t('account.payment.method'),
      show: ({ paymentMethod }) => paymentMethod,
    },
    amountColumn('received'),
    amountColumn('matched'),
    amountColumn('unmatched'),
    amountColumn('reversed'),
    amountColumn('refunded'),
    {
      name: 'ledger',
      label: t('providerStatements.proof.ledger'),
      isNumber: true,
      show: ({ ledger }) => money(ledger.net),
    },
    {
      name: 'holds',
      label: t('field.status'),
      onPhone: 'value',
      show: ({ holds }) => <CheckBadge holds={holds} />,
    },
  ];
}

function checkColumns(): Column<Check>[] {
  return [
    { name: 'rule', label: t('providerStatements.proof.rule'), onPhone: 'plain', show: ({ rule }) => rule },
    {
      name: 'checkedRowCount',
      label: t('providerStatements.proof.rows'),
      isNumber: true,
      show: ({ checkedRowCount }) => format.number(checkedRowCount),
    },
    {
      name: 'holds',
      label: t('field.status'),
      onPhone: 'value',
      show: ({ holds }) => <CheckBadge holds={holds} />,
    },
  ];
}

function CheckBadge({ holds }: { holds: boolean }) {
  return (
    <Badge tone={holds ? 'good' : 'bad'}>
      {t(holds ? 'providerStatements.proof.ok' : 'providerStatements.proof.wrong')}
    </Badge>
  );
}

/** @param amount - null for a damaged amount that is too large for a number. */
function money(amount: number | null): string {
  return amount === null ? '?' : format.money(amount);
}
