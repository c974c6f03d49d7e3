import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField, DateField, Form, FormButtons, SelectField, TextField } from '../../ui/form.tsx';
import { useCatalogue } from './catalogue.ts';
import { keepTyped, type StepProps } from './sales.ts';

/** The money that the customer has paid, if any. */
export function PaymentStep({ sale, onDone, onBack }: StepProps) {
  const { typed, parts } = sale;
  const { plans, methods } = useCatalogue();
  const { currency, currencyDecimals, today } = settings();
  const deposit = plans.data?.data.find(({ id }) => String(id) === typed.payplanId)?.deposit ?? 0;
  const isPaid = Boolean(typed.amount);
  return (
    <Form problem={parts.payment.problem} isSending={false} onSubmit={onDone}>
      <AmountField
        label={t('sale.amount')}
        name="amount"
        unit={currency}
        step={10 ** -currencyDecimals}
        min={10 ** -currencyDecimals}
        value={typed.amount ?? ''}
        onChange={(event) => keepTyped(sale.id, { amount: event.target.value })}
        hint={
          deposit > 0 && (
            <span className="chips">
              <button
                type="button"
                className="chip"
                onClick={() => keepTyped(sale.id, { amount: format.plainAmount(deposit) })}
              >
                {t('sale.amount.deposit', { amount: format.money(deposit) })}
              </button>
            </span>
          )
        }
        isFirst
      />
      {isPaid && (
        <>
          {/* No method is chosen for the user: the first of the list would often be wrong, and nobody would see it. */}
          <SelectField
            label={t('field.paymentMethod')}
            name="paymentMethodId"
            value={typed.paymentMethodId ?? ''}
            onChange={(event) => keepTyped(sale.id, { paymentMethodId: event.target.value })}
            hint={methods.length === 0 && t('sale.methods.notLoaded')}
            required
          >
            <option value="" disabled hidden />
            {methods.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
          <TextField
            label={t('field.reference')}
            name="transactionRef"
            hint={t('account.pay.reference.hint')}
            defaultValue={typed.transactionRef}
            maxLength={100}
            autoComplete="off"
            spellCheck={false}
          />
          <DateField
            label={t('account.pay.date')}
            name="paymentDate"
            defaultValue={typed.paymentDate ?? today}
            max={today}
            required
          />
        </>
      )}
      <FormButtons
        submit={isPaid ? t('sale.next') : t('sale.amount.none')}
        onCancel={onBack}
        cancel={t('action.back')}
      />
    </Form>
  );
}
