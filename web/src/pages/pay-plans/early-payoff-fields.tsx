import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { t } from '../../i18n/index.ts';
import { DateField, type FormValues, TextField } from '../../ui/form.tsx';

type Offer = Schemas['PayPlan']['earlyPayoff'];

/** The discount that the plan offers for an early payoff. Without a discount, there is no offer. */
export function EarlyPayoffFields({ initial }: { initial: Offer }) {
  const [discount, setDiscount] = useState(initial ? String(initial.discountBasisPoints / 100) : '');
  return (
    <>
      <TextField
        label={t('payPlans.payoff')}
        name="earlyPayoff.discountBasisPoints"
        type="number"
        min={0.01}
        max={99.99}
        step="0.01"
        value={discount}
        onChange={({ target }) => setDiscount(target.value)}
        hint={t('payPlans.payoff.hint')}
      />
      {discount !== '' && (
        <>
          <DateField
            label={t('payPlans.payoff.until')}
            name="earlyPayoff.until"
            min={initial?.until ?? settings().today}
            defaultValue={initial?.until ?? ''}
            hint={t('payPlans.payoff.until.hint')}
          />
          <TextField
            label={t('payPlans.payoff.minDues')}
            name="earlyPayoff.minDues"
            type="number"
            min={1}
            max={10_000}
            defaultValue={initial?.minDues ?? ''}
            hint={t('payPlans.payoff.minDues.hint')}
          />
        </>
      )}
    </>
  );
}

/** The value of the form, in the fields of the API. */
export function readEarlyPayoff(values: FormValues): Schemas['NewPayPlan']['earlyPayoff'] {
  const discount = values.optional('earlyPayoff.discountBasisPoints');
  const minDues = values.optional('earlyPayoff.minDues');
  return discount === undefined
    ? null
    : {
        discountBasisPoints: Math.round(Number(discount) * 100),
        until: values.optional('earlyPayoff.until') ?? null,
        ...(minDues !== undefined && { minDues: Number(minDues) }),
      };
}
