import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';

type Instalments = Pick<Schemas['PayPlan'], 'instalmentCount' | 'instalmentAmount' | 'frequency'>;

/** Example: "52 × KES 400.00, weekly". */
export function describeInstalments({ instalmentCount, instalmentAmount, frequency }: Instalments): string {
  return t('account.plan.text', {
    count: format.number(instalmentCount),
    amount: format.money(instalmentAmount),
    frequency: tValue('frequency', frequency),
  });
}
