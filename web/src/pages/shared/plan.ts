import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';

type Instalments = Pick<
  Schemas['PayPlan'],
  'instalmentCount' | 'instalmentAmount' | 'frequency' | 'hasEqualInstalments'
> &
  Partial<Pick<Schemas['PayPlan'], 'dueCount'>>;

/** Examples: "52 × KES 400.00, weekly", "18 instalments, the first KES 2,350.00". */
export function describeInstalments(plan: Instalments): string {
  const { instalmentAmount, frequency, hasEqualInstalments } = plan;
  const count = format.number(plan.dueCount ?? plan.instalmentCount);
  const amount = format.money(instalmentAmount);
  return hasEqualInstalments
    ? t('account.plan.text', { count, amount, frequency: tValue('frequency', frequency) })
    : t('account.plan.unequal', { count, amount });
}
