import type { payPlans as en } from '../en/pay-plans.ts';
import { planFields, plans } from './plans.ts';

export const payPlans: Record<keyof typeof en, string> = {
  ...plans,
  ...planFields,
  'payPlans.new': 'Mpango mpya wa malipo',
  'payPlans.new.lead': 'Bidhaa, kiasi, awamu na siku za neema haviwezi kubadilishwa baadaye.',
  'payPlans.fixed': 'Bidhaa, kiasi, awamu na siku za neema haviwezi kubadilishwa. Unda mpango mwingine.',
  'payPlans.anyProduct': 'Bidhaa yoyote',
  'payPlans.autoSuspend': 'Simamisha akaunti zilizochelewa kiotomatiki',
  'payPlans.active': 'Unaweza kuchaguliwa kwa akaunti mpya',
  'payPlans.kind': 'Aina ya mpango',
  'payPlans.kind.equal': 'Awamu zinazolingana',
  'payPlans.kind.count': 'Bei, kwa idadi ya awamu',
  'payPlans.kind.amount': 'Bei, kwa kiasi cha awamu',
  'payPlans.kind.harvest': 'Bei, inayolipwa siku za mavuno',
  'payPlans.price.hint': 'Pamoja na malipo ya awali. Awamu ya mwisho huchukua kinachobaki.',
  'payPlans.count.hint': 'Kiasi hupandishwa hadi namba kamili, kwa hivyo awamu zinaweza kuwa chache zaidi.',
  'payPlans.rounding.hint': 'Kila awamu hugawanyika kwa kiasi hiki. Ikiachwa wazi: {amount}.',
  'payPlans.payoff': 'Punguzo la kumaliza deni mapema (%)',
  'payPlans.payoff.hint':
    'La awamu ambazo hazijafika tarehe, mteja akilipa yote kwa mara moja. Ukiacha wazi: hakuna.',
  'payPlans.payoff.until': 'Siku ya mwisho ya ofa',
  'payPlans.payoff.until.hint': 'Ukiacha wazi: ofa haina mwisho.',
  'payPlans.payoff.minDues': 'Idadi ya awamu zinazopaswa kubaki',
  'payPlans.payoff.minDues.hint': 'Ukiacha wazi: idadi ya kawaida.',
  'field.graceDays': 'Siku za neema',
  'field.instalmentAmount': 'Kiasi cha awamu',
  'field.instalmentCount': 'Idadi ya awamu',
  'field.price': 'Bei',
  'field.roundingUnit': 'Awamu zizungushwe hadi',
};
