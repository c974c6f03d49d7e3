import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount } from '../../i18n/index.ts';

/**
 * The instalments of a pay plan. Examples: "52 × KES 400.00, weekly", "18 × KES 2,350.00, the last KES 2,050.00, every 2 months, none in
 * May", "4 instalments, each year on 15 Mar (60%), 30 Sept (40%)".
 */
export function describePlanInstalments(plan: Schemas['PayPlan']): string {
  const { instalmentAmount, lastInstalmentAmount, dueCount, harvest } = plan;
  const facts = { count: format.number(dueCount), amount: format.money(instalmentAmount) };
  const last = format.money(lastInstalmentAmount);
  const isEqual = lastInstalmentAmount === instalmentAmount;
  const instalments = harvest
    ? t('plan.count', facts)
    : isEqual
      ? t('plan.of', facts)
      : t('plan.rest', { ...facts, last });
  return t('plan.rhythm', { instalments, rhythm: harvest ? describeHarvest(harvest) : describeRhythm(plan) });
}

const RHYTHMS = { daily: 'every.daily', weekly: 'every.weekly', monthly: 'every.monthly' } as const;

/** Examples: "weekly", "every 2 months, none in May, June". */
export function describeRhythm({
  frequency,
  every,
  monthsWithoutDues,
}: Pick<Schemas['PayPlan'], 'frequency' | 'every' | 'monthsWithoutDues'>): string {
  const rhythm = tCount(RHYTHMS[frequency], every);
  const months = monthsWithoutDues.map(format.monthName).join(', ');
  return months === '' ? rhythm : t('plan.without', { rhythm, months });
}

export function describeHarvest({ entries }: Pick<Schemas['Harvest'], 'entries'>): string {
  const days = entries.map(({ month, day, shareBasisPoints }) =>
    t('plan.share', { day: format.dayOfYear(month, day), share: format.rate(shareBasisPoints) }),
  );
  return t('plan.harvest', { days: days.join(', ') });
}
