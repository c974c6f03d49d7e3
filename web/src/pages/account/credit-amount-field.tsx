import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { AmountField } from '../../ui/form.tsx';

/** The amount of a refund or a transfer: at first all of the credit. */
export function CreditAmountField({ credit, isFirst }: { credit: number; isFirst?: true }) {
  const { currency, currencyDecimals } = settings();
  return (
    <AmountField
      label={t('field.amount')}
      name="amount"
      unit={currency}
      step={10 ** -currencyDecimals}
      min={10 ** -currencyDecimals}
      defaultValue={format.plainAmount(credit)}
      hint={t('account.credit.available', { amount: format.money(credit) })}
      required
      {...(isFirst && { isFirst })}
    />
  );
}
