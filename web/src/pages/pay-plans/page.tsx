import { api, client, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { CheckField, TextField } from '../../ui/form.tsx';
import { Facts } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { useProducts } from '../shared/catalogue.ts';
import { activeColumn, activeFilter, choiceFilter, moneyColumn, rowFilter } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { FREQUENCIES } from '../shared/plan-fields.tsx';
import { describePlanInstalments } from '../shared/plan-terms.ts';
import { EarlyPayoffFields, readEarlyPayoff } from './early-payoff-fields.tsx';
import { NewPlanDialog } from './new-plan-dialog.tsx';

type PayPlan = Schemas['PayPlan'];

export function Page() {
  const products = useProducts();
  const list = useList({ name: 'name', isDescending: false }, [
    activeFilter(),
    choiceFilter('frequency', t('field.frequency'), FREQUENCIES, (value) => tValue('frequency', value)),
    rowFilter('productId', t('field.product'), products),
  ]);
  const plans = api.useQuery('get', '/api/payplans', { params: { query: list.query } }, KEEPS_LAST);
  const productNameOf = ({ productId }: PayPlan) =>
    productId === null ? t('payPlans.anyProduct') : (products.find(({ id }) => id === productId)?.name ?? '');
  const columns: Column<PayPlan>[] = [
    { name: 'name', label: t('field.name'), canSort: true, show: ({ name }) => name },
    { name: 'productId', label: t('field.product'), onPhone: 'plain', show: productNameOf },
    moneyColumn('deposit', t('field.deposit'), ({ deposit }) => deposit, { onPhone: 'detail' }),
    {
      name: 'instalments',
      label: t('field.instalments'),
      onPhone: 'plain',
      show: describePlanInstalments,
    },
    moneyColumn('total', t('field.total'), ({ total }) => total, { onPhone: 'detail' }),
    activeColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.payPlans')}
      list={list}
      query={plans}
      columns={columns}
      permission="catalogue:write"
      create={{
        label: t('payPlans.new'),
        dialog: (close) => <NewPlanDialog products={products} onClose={close} />,
      }}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/payplans', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(plan, close) => (
        <LatestVersion
          title={plan.name}
          read={() => client.GET('/api/payplans/{id}', { params: { path: { id: plan.id } } })}
          onClose={close}
        >
          {(latest, etag) => (
            <PlanDialog plan={latest} etag={etag} productName={productNameOf(plan)} onClose={close} />
          )}
        </LatestVersion>
      )}
    />
  );
}

interface PlanDialogProps {
  plan: PayPlan;
  etag: string;
  productName: string;
  onClose(): void;
}

function PlanDialog({ plan, etag, productName, onClose }: PlanDialogProps) {
  const change = useWrite('put', '/api/payplans/{id}');
  return (
    <FormDialog
      title={plan.name}
      lead={t('payPlans.fixed')}
      write={change}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          params: { path: { id: plan.id }, header: { 'If-Match': etag } },
          body: {
            name: values.text('name'),
            active: values.isChecked('active'),
            autoSuspend: values.isChecked('autoSuspend'),
            earlyPayoff: readEarlyPayoff(values),
          },
        })
      }
    >
      <Facts
        rows={[
          [t('field.product'), productName],
          [t('field.deposit'), format.money(plan.deposit)],
          [t('field.instalments'), describePlanInstalments(plan)],
          [t('field.total'), format.money(plan.total)],
          [t('field.graceDays'), tCount('account.days', plan.graceDays)],
        ]}
      />
      <TextField
        label={t('field.name')}
        name="name"
        maxLength={200}
        defaultValue={plan.name}
        required
        isFirst
      />
      <CheckField label={t('payPlans.autoSuspend')} name="autoSuspend" defaultChecked={plan.autoSuspend} />
      <EarlyPayoffFields initial={plan.earlyPayoff} />
      <CheckField label={t('payPlans.active')} name="active" defaultChecked={plan.active} />
    </FormDialog>
  );
}
