import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount } from '../../i18n/index.ts';

/**
 * The instalments of an account. Examples: "52 × KES 400.00, weekly", "18 instalments, the first KES 2,350.00, every 2 weeks", "4
 * instalments, the first KES 600.00, each year on 15 Mar, 30 Sept".
 */
export function describeInstalments(
  { instalmentCount, instalmentAmount, rhythm }: Schemas['Account'],
  items: Schemas['AccountSchedule']['items'],
): string {
  const facts = { count: format.number(instalmentCount), amount: format.money(instalmentAmount) };
  // Also if a deferral has interrupted their rhythm.
  const areEqual = items.every(({ number, amount }) => number === 0 || amount === instalmentAmount);
  const instalments = t(areEqual ? 'plan.of' : 'account.plan.unequal', facts);
  return rhythm ? t('plan.rhythm', { instalments, rhythm: describeRhythm(rhythm) }) : instalments;
}

function describeRhythm({ frequency, every, days }: NonNullable<Schemas['Rhythm']>): string {
  if (frequency !== 'yearly') return tCount(`every.${frequency}`, every);
  return t('plan.harvest', { days: days.map(({ month, day }) => format.dayOfYear(month, day)).join(', ') });
}
