import { format, t } from '../../i18n/index.ts';
import { AmountField } from '../../ui/form.tsx';

/** The amount of a refund or a transfer. The default is the whole credit. */
export function CreditAmountField({ credit, isFirst }: { credit: number; isFirst?: true }) {
  return (
    <AmountField
      label={t('field.amount')}
      name="amount"
      min={format.smallestAmount()}
      defaultValue={credit}
      hint={t('account.credit.available', { amount: format.money(credit) })}
      required
      {...(isFirst && { isFirst })}
    />
  );
}
