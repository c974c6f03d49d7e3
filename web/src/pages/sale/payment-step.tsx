import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField, DateField, Form, FormButtons } from '../../ui/form.tsx';
import { PaymentMethodField, ReferenceField, useRecordableMethods } from '../shared/payment-fields.tsx';
import { useCatalogue } from './catalogue.ts';
import { keepTyped, type StepProps } from './sales.ts';

/** The first payment of the customer, if any. */
export function PaymentStep({ sale, onDone, onBack }: StepProps) {
  const { typed, parts } = sale;
  const { plans, methods } = useCatalogue();
  const { today } = settings();
  const { earliest } = useRecordableMethods();
  const plan = plans.data?.find(({ id }) => String(id) === typed.payplanId);
  const deposit = plan?.deposit ?? 0;
  const hasAmount = Boolean(typed.amount);
  return (
    <Form problem={parts.payment.problem} isSending={false} onSubmit={onDone}>
      <AmountField
        label={t('sale.amount')}
        name="amount"
        min={format.smallestAmount()}
        max={plan?.total}
        value={typed.amount ?? ''}
        onChange={(event) => keepTyped(sale.id, { amount: event.target.value })}
        hint={
          deposit > 0 && (
            <span className="chips">
              <button
                type="button"
                className="chip"
                onClick={() => keepTyped(sale.id, { amount: String(deposit) })}
              >
                {t('sale.amount.deposit', { amount: format.money(deposit) })}
              </button>
            </span>
          )
        }
        isFirst
      />
      {hasAmount && (
        <>
          <PaymentMethodField
            value={typed.paymentMethodId ?? ''}
            onChange={(event) => keepTyped(sale.id, { paymentMethodId: event.target.value })}
            hint={methods.length === 0 ? t('sale.methods.notLoaded') : undefined}
          />
          <ReferenceField defaultValue={typed.transactionRef} />
          <DateField
            label={t('account.pay.date')}
            name="paymentDate"
            defaultValue={typed.paymentDate ?? today}
            min={earliest}
            max={today}
            required
          />
        </>
      )}
      <FormButtons
        submit={hasAmount ? t('sale.next') : t('sale.amount.none')}
        onCancel={onBack}
        cancel={t('action.back')}
      />
    </Form>
  );
}
