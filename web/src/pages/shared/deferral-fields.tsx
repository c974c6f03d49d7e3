import { useState } from 'react';
import { settings } from '../../api/settings.ts';
import { format, nameOfKey, t } from '../../i18n/index.ts';
import { DateField, type FormValues, SelectField, TextAreaField, TextField } from '../../ui/form.tsx';

/** The first instalment that moves, and how far. */
export function DeferralFields({ from, hasHarvests }: { from?: string | undefined; hasHarvests: boolean }) {
  const [step, setStep] = useState<'periods' | 'days'>('periods');
  return (
    <>
      <DateField
        label={t('changePlan.from')}
        name="from"
        min={format.addDays(settings().today, 1)}
        max="2999-12-31"
        defaultValue={from}
        hint={t('changePlan.from.hint')}
        required
      />
      <SelectField
        label={t('changePlan.step')}
        name="step"
        value={step}
        onChange={({ target }) => setStep(target.value === 'days' ? 'days' : 'periods')}
        required
      >
        <option value="periods">{t('changePlan.step.periods')}</option>
        <option value="days">{t('changePlan.step.days')}</option>
      </SelectField>
      <TextField
        label={t(step === 'days' ? 'field.days' : 'field.periods')}
        name={step}
        type="number"
        min={1}
        max={10_000}
        hint={step === 'periods' && hasHarvests && t('changePlan.periods.hint')}
        required
      />
    </>
  );
}

export function readDeferral(values: FormValues) {
  const step = values.text('step') === 'days' ? 'days' : 'periods';
  return { from: values.text('from'), [step]: values.number(step) };
}

/** Why a plan is changed. */
export function PlanReasonFields() {
  const { planChangeReasons } = settings();
  return (
    <>
      {planChangeReasons.length > 0 && (
        <SelectField label={t('field.reasonCode')} name="reasonCode" defaultValue="">
          <option value="" />
          {planChangeReasons.map((code) => (
            <option key={code} value={code}>
              {nameOfKey(code)}
            </option>
          ))}
        </SelectField>
      )}
      <TextAreaField
        label={t('field.reason')}
        name="reason"
        maxLength={500}
        hint={t('changePlan.reason.hint')}
        required
      />
    </>
  );
}

export function readPlanReason(values: FormValues) {
  const reasonCode = values.optional('reasonCode');
  return { reason: values.text('reason'), ...(reasonCode !== undefined && { reasonCode }) };
}
