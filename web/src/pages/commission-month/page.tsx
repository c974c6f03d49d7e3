import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { daysOf } from '../../i18n/days.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { Loaded, Notice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { useEmployees } from '../shared/catalogue.ts';
import { moneyColumn, statusColumn } from '../shared/columns.tsx';
import { CommissionTabs } from '../shared/commission-tabs.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { COMMISSION_TONES } from '../shared/tones.ts';
import { WriteNotice } from '../shared/write-notice.tsx';

type Month = Schemas['CommissionMonth'];
type Commission = Schemas['CommissionSummary'];

/** The commissions of all employees for one month: calculate, look, approve, pay. */
export function Page() {
  const employees = useEmployees();
  const [parameters] = useSearchParams();
  const period = parameters.get('period') ?? daysOf('lastMonth', settings().today).from.slice(0, 7);
  const list = useList({ name: 'total', isDescending: true }, [
    {
      name: 'period',
      label: t('field.period'),
      choices: monthsUpTo(settings().today).map((month) => [month, format.month(month, 'long')]),
      query: () => ({ period }),
      unset: format.month(period, 'long'),
    },
  ]);
  const month = api.useQuery(
    'get',
    '/api/commissions/months/{period}',
    { params: { path: { period } } },
    KEEPS_LAST,
  );
  const commissions = api.useQuery(
    'get',
    '/api/commissions/payments',
    { params: { query: { ...list.query, period } } },
    KEEPS_LAST,
  );
  const columns: Column<Commission>[] = [
    {
      name: 'employeeId',
      label: t('field.employee'),
      onPhone: 'title',
      show: ({ employeeId }) => employees.find(({ id }) => id === employeeId)?.name ?? '',
    },
    statusColumn(COMMISSION_TONES, (status) => tValue('commissionStatus', status)),
    {
      name: 'paymentReference',
      label: t('field.reference'),
      onPhone: 'plain',
      show: ({ paymentReference }) => paymentReference,
    },
    moneyColumn('total', t('field.total'), ({ total }) => total, { canSort: true }),
  ];
  return (
    <ResourcePage
      title={t('nav.commissions')}
      list={list}
      query={commissions}
      file={{ path: '/api/commissions/payments.csv' }}
      columns={columns}
      hrefOf={({ id }) => `/commissions?open=${id}`}
      none={t('commissions.month.none')}
    >
      <CommissionTabs />
      <Loaded query={month} explain={explain}>
        {({ data }) => <MonthPanel month={data} />}
      </Loaded>
    </ResourcePage>
  );
}

/** The present month and the eleven before it, the latest first. */
function monthsUpTo(day: string): string[] {
  const [year = 0, month = 0] = day.split('-').map(Number);
  return Array.from({ length: 12 }, (_, back) => {
    const at = year * 12 + month - 1 - back;
    return `${Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`;
  });
}

function MonthPanel({ month }: { month: Month }) {
  const { period, uncalculated, calculated, approved, paid } = month;
  const params = { path: { period } };
  const calculate = useWrite('post', '/api/commissions/months/{period}/calculate');
  const approve = useWrite('post', '/api/commissions/months/{period}/status');
  const [isPaying, setIsPaying] = useState(false);
  const sumOf = ({ count, total }: Month['paid']) =>
    t('commissions.month.sum', { count: format.number(count), total: format.money(total) });
  return (
    <section className="panel" aria-label={format.month(period, 'long')}>
      <div className="panel-body">
        <Facts
          rows={[
            [tValue('commissionStatus', 'calculated'), sumOf(calculated)],
            [tValue('commissionStatus', 'approved'), sumOf(approved)],
            [tValue('commissionStatus', 'paid'), sumOf(paid)],
          ]}
        />
        {uncalculated > 0 && (
          <Notice tone="info">{tCount('commissions.month.uncalculated', uncalculated)}</Notice>
        )}
        <WriteNotice problem={calculate.problem ?? approve.problem} title={t('form.failed')} />
        <Actions>
          {may('commissions:calculate') && (
            <Button
              kind={calculated.count + approved.count === 0 ? 'primary' : 'secondary'}
              isBusy={calculate.isSending}
              onClick={() => calculate.send({ params })}
            >
              {t('commissions.month.calculate')}
            </Button>
          )}
          {may('commissions:approve') && calculated.count > 0 && (
            <Button
              kind="primary"
              isBusy={approve.isSending}
              onClick={() => approve.send({ params, body: { status: 'approved', total: calculated.total } })}
            >
              {t('commissions.month.approve', { total: format.money(calculated.total) })}
            </Button>
          )}
          {may('commissions:approve') && approved.count > 0 && (
            <Button kind="primary" onClick={() => setIsPaying(true)}>
              {t('commissions.month.pay', { total: format.money(approved.total) })}
            </Button>
          )}
        </Actions>
        {isPaying && <PayDialog month={month} onClose={() => setIsPaying(false)} />}
      </div>
    </section>
  );
}

const CONFIRMED = { confirmation: { codes: ['month_not_ended' as const] } };

function PayDialog({ month: { period, approved }, onClose }: { month: Month; onClose(): void }) {
  const pay = useWrite('post', '/api/commissions/months/{period}/status');
  const isUnconfirmed = pay.problem?.details.warnings !== undefined;
  return (
    <FormDialog
      title={t('commissions.month.pay', { total: format.money(approved.total) })}
      lead={isUnconfirmed ? t('commissions.notEnded.text') : format.month(period, 'long')}
      write={pay}
      kind={isUnconfirmed ? 'danger' : 'primary'}
      submit={t(isUnconfirmed ? 'commissions.pay.confirm' : 'commissions.pay')}
      done={tValue('commissionStatus', 'paid')}
      onClose={onClose}
      onSubmit={(values) => {
        const paymentReference = values.text('paymentReference');
        return pay.send({
          params: { path: { period } },
          body: {
            status: 'paid',
            total: approved.total,
            ...(paymentReference !== '' && { paymentReference }),
            ...(isUnconfirmed && CONFIRMED),
          },
        });
      }}
    >
      <TextField label={t('field.reference')} name="paymentReference" maxLength={100} isFirst />
    </FormDialog>
  );
}
