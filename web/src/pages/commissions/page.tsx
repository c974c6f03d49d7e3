import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import type { Tone } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/feedback.tsx';
import { SelectField, TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { createdColumn, moneyColumn, rowFilter, statusColumn, statusFilter } from '../shared/columns.tsx';
import { CommissionTabs } from '../shared/commission-tabs.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { WriteNotice } from '../shared/write-notice.tsx';

type Commission = Schemas['CommissionSummary'];

const TONES: Record<Schemas['CommissionStatus'], Tone> = {
  calculated: 'warning',
  approved: 'info',
  paid: 'good',
};
const NEXT_STATUS = { calculated: 'approved', approved: 'paid', paid: undefined } as const;

export function Page() {
  const employees = useEmployees();
  const nameOf = (id: number) => employees.find((employee) => employee.id === id)?.name ?? '';
  const list = useList({ name: 'createdAt', isDescending: true }, [
    statusFilter(TONES, (status) => tValue('commissionStatus', status)),
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
    statusColumn(TONES, (status) => tValue('commissionStatus', status)),
    createdColumn('hidden'),
    moneyColumn('total', t('field.total'), ({ total }) => total, { canSort: true }),
  ];
  return (
    <ResourcePage
      title={t('nav.commissions')}
      list={list}
      query={commissions}
      columns={columns}
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
          body: { employeeId: values.number('employeeId'), period: values.text('period') },
        })
      }
    >
      <SelectField label={t('field.employee')} name="employeeId" defaultValue="" required isFirst>
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
        defaultValue={settings().today.slice(0, 7)}
        pattern="\d{4}-\d{2}"
        required
      />
    </FormDialog>
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
  return (
    <Dialog
      title={employee}
      lead={commission.data && format.month(commission.data.data.period, 'long')}
      canClose={!change.isSending}
      onClose={onClose}
    >
      <Loaded query={commission} explain={explain}>
        {({ data: { lines, total, status, paidAt } }) => (
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
              ]}
            />
            <WriteNotice problem={change.problem} title={t('form.failed')} />
            {NEXT_STATUS[status] && may('commissions:approve') && (
              <Actions>
                <Button
                  kind="primary"
                  isBusy={change.isSending}
                  onClick={async () => {
                    const body = { status: NEXT_STATUS[status] ?? status };
                    const changed = await change.send({ params: { path: { id } }, body });
                    if (changed) toast({ text: tValue('commissionStatus', changed.status) });
                  }}
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
