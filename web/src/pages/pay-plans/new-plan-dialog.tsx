import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField, CheckField, type FormValues, SelectField, TextField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { RhythmFields, readRhythm, useHarvest } from '../shared/plan-fields.tsx';
import { EarlyPayoffFields, readEarlyPayoff } from './early-payoff-fields.tsx';

type NewPayPlan = Schemas['NewPayPlan'];

/** How the instalments are computed. All kinds but `equal` have a price. */
const KINDS = ['equal', 'count', 'amount', 'harvest'] as const;
type Kind = (typeof KINDS)[number];

export function NewPlanDialog({ products, onClose }: { products: Schemas['Product'][]; onClose(): void }) {
  const create = useWrite('post', '/api/payplans');
  const [kind, setKind] = useState<Kind>('equal');
  const harvest = useHarvest();
  return (
    <FormDialog
      title={t('payPlans.new')}
      lead={t('payPlans.new.lead')}
      write={create}
      submit={t('action.create')}
      done={t('list.created')}
      onClose={onClose}
      onSubmit={async (values) => {
        const terms = readTerms(values, kind);
        if (kind !== 'harvest') return create.send({ body: { ...terms, ...readRhythm(values) } });
        const days = harvest.read(values);
        return days && create.send({ body: { ...terms, harvest: days } });
      }}
    >
      <TextField label={t('field.name')} name="name" maxLength={200} required isFirst />
      <SelectField label={t('field.product')} name="productId">
        <option value="">{t('payPlans.anyProduct')}</option>
        {products
          .filter(({ active }) => active)
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
      </SelectField>
      <SelectField
        label={t('payPlans.kind')}
        name="kind"
        value={kind}
        onChange={({ target }) => setKind(KINDS.find((one) => one === target.value) ?? 'equal')}
        required
      >
        {KINDS.map((one) => (
          <option key={one} value={one}>
            {t(`payPlans.kind.${one}`)}
          </option>
        ))}
      </SelectField>
      {kind !== 'equal' && (
        <AmountField
          label={t('field.price')}
          name="price"
          min={format.smallestAmount()}
          hint={t('payPlans.price.hint')}
          required
        />
      )}
      <AmountField label={t('field.deposit')} name="deposit" required />
      {(kind === 'equal' || kind === 'amount') && (
        <AmountField label={t('field.instalmentAmount')} name="instalmentAmount" required />
      )}
      {(kind === 'equal' || kind === 'count') && (
        <TextField
          label={t('field.instalmentCount')}
          name="instalmentCount"
          type="number"
          min={1}
          max={10_000}
          hint={kind === 'count' && t('payPlans.count.hint')}
          required
        />
      )}
      {kind !== 'equal' && (
        <AmountField
          label={t('field.roundingUnit')}
          name="roundingUnit"
          min={format.smallestAmount()}
          hint={t('payPlans.rounding.hint', { amount: format.money(1) })}
        />
      )}
      {kind === 'harvest' ? harvest.fields : <RhythmFields />}
      <TextField
        label={t('field.graceDays')}
        name="graceDays"
        type="number"
        min={0}
        max={365}
        defaultValue={0}
        required
      />
      <CheckField label={t('payPlans.autoSuspend')} name="autoSuspend" defaultChecked />
      <EarlyPayoffFields initial={null} />
    </FormDialog>
  );
}

/** The request body without the rhythm. Fields of other kinds are not in the form, and must not be sent. */
function readTerms(values: FormValues, kind: Kind): NewPayPlan {
  const roundingUnit = values.optional('roundingUnit');
  return {
    name: values.text('name'),
    productId: Number(values.text('productId')) || null,
    deposit: values.number('deposit'),
    ...(kind !== 'equal' && { price: values.number('price') }),
    ...((kind === 'equal' || kind === 'amount') && { instalmentAmount: values.number('instalmentAmount') }),
    ...((kind === 'equal' || kind === 'count') && { instalmentCount: values.number('instalmentCount') }),
    ...(roundingUnit !== undefined && { roundingUnit: Number(roundingUnit) }),
    graceDays: values.number('graceDays'),
    autoSuspend: values.isChecked('autoSuspend'),
    earlyPayoff: readEarlyPayoff(values),
  };
}
