import { useState } from 'react';
import { Link } from 'wouter';
import { api, client, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { daysOf } from '../../i18n/days.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded, Notice } from '../../ui/feedback.tsx';
import { CheckField, SelectField, TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { createdColumn, moneyColumn, rowFilter, statusColumn, statusFilter } from '../shared/columns.tsx';
import { CommissionTabs } from '../shared/commission-tabs.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { COMMISSION_TONES } from '../shared/tones.ts';
import { WriteNotice } from '../shared/write-notice.tsx';

type Commission = Schemas['CommissionSummary'];

const MOST_EARLIER_SALES = 100;
const CONFIRMED = { confirmation: { codes: ['month_not_ended' as const] } };
const NEXT_STATUS = { calculated: 'approved', approved: 'paid', paid: undefined } as const;

export function Page() {
  const employees = useEmployees();
  const nameOf = (id: number) => employees.find((employee) => employee.id === id)?.name ?? '';
  const list = useList({ name: 'createdAt', isDescending: true }, [
    statusFilter(COMMISSION_TONES, (status) => tValue('commissionStatus', status)),
    rowFilter('employeeId', t('field.employee'), employees),
  ]);
  const commissions = api.useQuery(
    'get',
    '/api/commissions/payments',
    { params: { query: list.query } },
    KEEPS_LAST,
  );
  const columns: Column<Commission>[] = [
    { name: 'employeeId', label: t('field.employee'), show: ({ employeeId }) => nameOf(employeeId) },
    {
      name: 'period',
      label: t('field.period'),
      onPhone: 'plain',
      canSort: true,
      show: ({ period }) => format.month(period, 'long'),
    },
    statusColumn(COMMISSION_TONES, (status) => tValue('commissionStatus', status)),
    createdColumn('hidden'),
    moneyColumn('total', t('field.total'), ({ total }) => total, { canSort: true }),
  ];
  return (
    <ResourcePage
      title={t('nav.commissions')}
      list={list}
      query={commissions}
      file={{ path: '/api/commissions/payments.csv' }}
      columns={columns}
      sums={{
        labels: { total: t('field.total') },
        read: () => client.GET('/api/commissions/payments', { params: { query: list.totalsQuery } }),
      }}
      {...(may('commissions:calculate') && {
        create: {
          label: t('commissions.calculate'),
          dialog: (close) => <CalculateDialog employees={employees} onClose={close} />,
        },
      })}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/commissions/payments', {
          params: { query: { 'filter[id]': { eq: id } } },
        })
      }
      dialogOf={({ id, employeeId }, close) => (
        <CommissionDialog id={id} employee={nameOf(employeeId)} onClose={close} />
      )}
    >
      <CommissionTabs />
    </ResourcePage>
  );
}

function CalculateDialog({ employees, onClose }: { employees: Schemas['Employee'][]; onClose(): void }) {
  const calculate = useWrite('post', '/api/commissions/calculate');
  const [employeeId, setEmployeeId] = useState('');
  // The present month still gets sales.
  const [period, setPeriod] = useState(daysOf('lastMonth', settings().today).from.slice(0, 7));
  return (
    <FormDialog
      title={t('commissions.calculate')}
      lead={t('commissions.calculate.lead')}
      write={calculate}
      submit={t('commissions.calculate.submit')}
      done={t('commissions.calculated')}
      onClose={onClose}
      onSubmit={(values) =>
        calculate.send({
          body: {
            employeeId: values.number('employeeId'),
            period: values.text('period'),
            includeDerived: true,
            salesData: values.all('sales').map((id) => ({ accountId: Number(id) })),
          },
        })
      }
    >
      <SelectField
        label={t('field.employee')}
        name="employeeId"
        value={employeeId}
        onChange={(event) => setEmployeeId(event.target.value)}
        required
        isFirst
      >
        <option value="" disabled hidden />
        {employees.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t('field.period')}
        name="period"
        hint={t('commissions.period.hint')}
        value={period}
        onChange={(event) => setPeriod(event.target.value)}
        pattern="\d{4}-\d{2}"
        required
      />
      {employeeId !== '' && isMonth(period) && <EarlierSales employeeId={employeeId} period={period} />}
    </FormDialog>
  );
}

function isMonth(text: string): boolean {
  return /^\d{4}-(0[1-9]|1[0-2])$/.test(text);
}

/** Check boxes for the sales that earn nothing unless the user adds them, such as those that were entered after their month was paid. */
function EarlierSales({ employeeId, period }: { employeeId: string; period: string }) {
  const sales = api.useQuery('get', '/api/commissions/unclaimed-sales', {
    params: {
      query: {
        'filter[employeeId]': { eq: Number(employeeId) },
        'filter[activationDate]': { lt: `${period}-01` },
        sort: 'activationDate:desc',
        limit: MOST_EARLIER_SALES,
      },
    },
  });
  const { data: found = [], pagination: { total = 0 } = {} } = sales.data ?? {};
  if (found.length === 0) return null;
  return (
    <fieldset className="checks">
      <legend>{t('commissions.earlier')}</legend>
      {found.map(({ id, accountNumber, activationDate, total }) => (
        <CheckField
          key={id}
          name="sales"
          value={id}
          label={t('commissions.earlier.sale', {
            number: accountNumber,
            date: format.date(activationDate),
            amount: format.money(total),
          })}
        />
      ))}
      {total > found.length && (
        <p className="muted">
          {t('list.some', { shown: format.number(found.length), total: format.number(total) })}
        </p>
      )}
    </fieldset>
  );
}

interface CommissionDialogProps {
  id: number;
  employee: string;
  onClose(): void;
}

function CommissionDialog({ id, employee, onClose }: CommissionDialogProps) {
  const commission = api.useQuery('get', '/api/commissions/payments/{id}', { params: { path: { id } } });
  const change = useWrite('put', '/api/commissions/payments/{id}');
  const products = useProducts();
  const isUnconfirmed = change.problem?.details.warnings !== undefined;
  const become = async (status: Schemas['CommissionStatus'], more: typeof CONFIRMED | object = {}) => {
    const changed = await change.send({ params: { path: { id } }, body: { status, ...more } });
    if (changed) toast({ text: tValue('commissionStatus', changed.status) });
  };
  return (
    <Dialog
      title={employee}
      lead={commission.data && format.month(commission.data.data.period, 'long')}
      canClose={!change.isSending}
      onClose={onClose}
    >
      <Loaded query={commission} explain={explain}>
        {({ data: { employeeId, lines, leftOut, total, status, paidAt, paymentReference } }) => (
          <>
            <ul className="rows">
              {lines.map((line, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: A line has no id, and a new calculation replaces all lines.
                <li key={at}>
                  <span>
                    <span>{products.find((product) => product.id === line.productId)?.name ?? '–'}</span>
                    <span className="muted">
                      {t(line.shareBasisPoints < 10_000 ? 'commissions.line.shared' : 'commissions.line', {
                        rate: format.rate(line.rateBasisPoints),
                        base: format.money(line.base),
                        share: format.rate(line.shareBasisPoints),
                      })}
                    </span>
                  </span>
                  <span className="amount">{format.money(line.amount)}</span>
                </li>
              ))}
            </ul>
            <Facts
              rows={[
                [t('field.total'), <strong key="total">{format.money(total)}</strong>],
                [t('field.status'), tValue('commissionStatus', status)],
                [t('commissions.paidAt'), paidAt && format.dateTime(paidAt)],
                [t('field.reference'), paymentReference],
              ]}
            />
            {leftOut.inPeriod + leftOut.earlier > 0 && (
              <Notice tone="info">
                <p>{tCount('commissions.leftOut', leftOut.inPeriod + leftOut.earlier)}</p>
                {may('commissions:read') && (
                  <Link href={`/commissions/unclaimed-sales?employeeId=${employeeId}`}>
                    {t('commissions.leftOut.show')}
                  </Link>
                )}
              </Notice>
            )}
            {isUnconfirmed ? (
              <Notice tone="warning" title={t('commissions.notEnded')}>
                <p>{t('commissions.notEnded.text')}</p>
                <Button kind="danger" isBusy={change.isSending} onClick={() => become('paid', CONFIRMED)}>
                  {t('commissions.pay.confirm')}
                </Button>
              </Notice>
            ) : (
              <WriteNotice problem={change.problem} title={t('form.failed')} />
            )}
            {NEXT_STATUS[status] && may('commissions:approve') && (
              <Actions>
                <Button
                  kind="primary"
                  isBusy={change.isSending}
                  onClick={() => become(NEXT_STATUS[status] ?? status)}
                >
                  {t(status === 'calculated' ? 'commissions.approve' : 'commissions.pay')}
                </Button>
              </Actions>
            )}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
