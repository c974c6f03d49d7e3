import { currentLanguage, tCount, tValue } from '../../i18n/index.ts';

/** The reason of a change of a status or a plan. The service writes the reasons of its own changes in English; those of staff stay as they are. */
export function reasonInWords(reason: string): string {
  if (currentLanguage() === 'en') return reason;
  const lateness = /^(paid: )?(\d+) days? past due, (\d+) days? of grace$/.exec(reason);
  if (lateness) {
    const [, paid, late, grace] = lateness;
    return tValue('statusReason', paid ? 'paid_late' : 'late', {
      late: tCount('account.days', Number(late)),
      grace: tCount('account.days', Number(grace)),
    });
  }
  return OF_SERVICE.includes(reason) ? tValue('statusReason', reason.replaceAll(' ', '_')) : reason;
}

const OF_SERVICE = [
  'paid in full',
  'a payment was reversed',
  'a payment was unassigned',
  'the sum paid fell below the price of the early payoff',
];
