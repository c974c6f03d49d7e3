import { useState } from 'react';
import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import {
  AmountField,
  CheckField,
  DateField,
  type FormValues,
  SelectField,
  TextAreaField,
  TextField,
  useForgetProblems,
} from '../../ui/form.tsx';
import { GroupField } from '../../ui/group-field.tsx';
import { useAllRows } from '../shared/catalogue.ts';
import { DeferralFields, readDeferral } from '../shared/deferral-fields.tsx';
import { RhythmFields, readRhythm, useHarvest } from '../shared/plan-fields.tsx';

export const KINDS = [
  'deferral',
  'discount',
  'price_correction',
  'revision',
  'price_rise',
  'sale_correction',
  'undo',
] as const;
export type Kind = (typeof KINDS)[number];

type Terms = Omit<Schemas['NewPlanChange'], 'kind' | 'reason' | 'confirm'>;

const LATEST = '2999-12-31';

/**
 * The fields of a kind of change, with the names of the API. `read` returns the request body of the form. It returns undefined if
 * the form is wrong, and the fields then say why.
 */
export function usePlanChangeFields(
  account: Schemas['Account'],
  nextUpcoming: string | undefined,
  kind: Kind,
) {
  const tomorrow = format.addDays(settings().today, 1);
  const [spread, setSpread] = useState<Spread>('instalmentCount');
  const harvest = useHarvest();
  const dues = useDues();
  const [movesArrears, setMovesArrears] = useState(false);
  const arrearsField = (label: string) =>
    account.arrears > 0 && (
      <CheckField
        label={label}
        name="movesArrears"
        checked={movesArrears}
        onChange={({ target }) => setMovesArrears(target.checked)}
      />
    );
  const arrears = { amount: format.money(account.arrears) };
  switch (kind) {
    case 'deferral':
      return {
        fields: (
          <>
            <DeferralFields from={nextUpcoming} hasHarvests={!account.hasEqualInstalments} />
            {arrearsField(t('changePlan.arrears.behind', arrears))}
            {movesArrears && !account.hasEqualInstalments && dues.fields}
          </>
        ),
        read: (values: FormValues): Terms => ({
          ...readDeferral(values),
          ...(values.isChecked('movesArrears') && { arrears: 'behind' as const, ...dues.read(values) }),
        }),
      };
    case 'discount':
    case 'price_correction':
      return {
        fields: (
          <AmountField label={t('field.amount.price')} name="amount" min={format.smallestAmount()} required />
        ),
        read: (values: FormValues): Terms => ({ amount: values.number('amount') }),
      };
    case 'revision':
      return {
        fields: (
          <>
            <DateField
              label={t('field.firstDueDate')}
              name="firstDueDate"
              min={tomorrow}
              max={LATEST}
              defaultValue={nextUpcoming}
              required
            />
            <SelectField
              label={t('changePlan.spread')}
              name="spread"
              value={spread}
              onChange={({ target }) =>
                setSpread(SPREADS.find((one) => one === target.value) ?? 'instalmentCount')
              }
              required
            >
              {SPREADS.map((one) => (
                <option key={one} value={one}>
                  {t(`changePlan.spread.${one}`)}
                </option>
              ))}
            </SelectField>
            {spread === 'instalmentCount' && (
              <TextField
                label={t('field.instalmentCount')}
                name="instalmentCount"
                type="number"
                min={1}
                max={10_000}
                required
              />
            )}
            {spread === 'instalmentAmount' && (
              <AmountField
                label={t('field.instalmentAmount')}
                name="instalmentAmount"
                min={format.smallestAmount()}
                required
              />
            )}
            {spread === 'harvest' ? harvest.fields : <RhythmFields initial={account.frequency} />}
            {arrearsField(t('changePlan.arrears.move', arrears))}
          </>
        ),
        read: (values: FormValues): Terms | undefined => {
          const common = {
            firstDueDate: values.text('firstDueDate'),
            ...(values.isChecked('movesArrears') && { arrears: 'move' as const }),
          };
          if (spread !== 'harvest')
            return { ...common, [spread]: values.number(spread), ...readRhythm(values) };
          const days = harvest.read(values);
          return days && { ...common, harvest: days };
        },
      };
    case 'price_rise':
      return {
        fields: (
          <>
            <AmountField
              label={t('field.amount.price')}
              name="amount"
              min={format.smallestAmount()}
              required
            />
            <TextAreaField
              label={t('field.consent')}
              name="consent"
              maxLength={500}
              hint={t('changePlan.consent.hint')}
              required
            />
            {dues.fields}
          </>
        ),
        read: (values: FormValues): Terms => ({
          amount: values.number('amount'),
          consent: values.text('consent'),
          ...dues.read(values),
        }),
      };
    case 'sale_correction':
      return {
        fields: <PlanField account={account} />,
        read: (values: FormValues): Terms => ({ payplanId: values.number('payplanId') }),
      };
    case 'undo':
      return { fields: null, read: (): Terms => ({}) };
  }
}

const SPREADS = ['instalmentCount', 'instalmentAmount', 'harvest'] as const;
type Spread = (typeof SPREADS)[number];

/** The active plans for the product of the account. */
function PlanField({ account }: { account: Schemas['Account'] }) {
  const plans = useAllRows(['/api/payplans', 'active'], (page, signal) =>
    client.GET('/api/payplans', {
      signal,
      params: { query: { ...page, 'filter[active]': { eq: true }, sort: 'name:asc' } },
    }),
  );
  return (
    <SelectField label={t('field.payplan')} name="payplanId" defaultValue="" required>
      <option value="" disabled hidden />
      {plans.data
        ?.filter(({ productId }) => productId === null || productId === account.productId)
        .map(({ id, name, total }) => (
          <option key={id} value={id}>
            {t('changePlan.plan', { name, total: format.money(total) })}
          </option>
        ))}
    </SelectField>
  );
}

/** The dates and amounts of a price rise, which most rises do not need. */
function useDues() {
  const [keys, setKeys] = useState<number[]>([]);
  return {
    fields: <DueFields keys={keys} onChange={setKeys} />,
    /** The list of the fields that are in the form. */
    read: (values: FormValues) =>
      values.text('dues[0].date') !== '' && {
        dues: keys.map((_, at) => ({
          date: values.text(`dues[${at}].date`),
          amount: values.number(`dues[${at}].amount`),
        })),
      },
  };
}

/** A key is never used again, so the fields of a due keep their values when another due is removed. */
function DueFields({ keys, onChange }: { keys: number[]; onChange(keys: number[]): void }) {
  const forget = useForgetProblems();
  return (
    <GroupField label={t('changePlan.dues')} name="dues" hint={t('changePlan.dues.hint')}>
      {keys.map((key, at) => (
        <fieldset key={key} className="form-fields">
          <legend className="muted">{t('account.timeline.item', { number: at + 1 })}</legend>
          <DateField label={t('field.date')} name={`dues[${at}].date`} max={LATEST} required />
          <AmountField
            label={t('field.amount')}
            name={`dues[${at}].amount`}
            min={format.smallestAmount()}
            required
          />
          <Button
            kind="quiet"
            onClick={() => {
              forget('dues'); // The later dues move to the places of others.
              onChange(keys.filter((other) => other !== key));
            }}
          >
            {t('changePlan.dues.remove', { number: at + 1 })}
          </Button>
        </fieldset>
      ))}
      <Button icon="plus" onClick={() => onChange([...keys, Math.max(-1, ...keys) + 1])}>
        {t('changePlan.dues.add')}
      </Button>
    </GroupField>
  );
}
