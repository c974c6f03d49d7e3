import type { payPlans as en } from '../en/pay-plans.ts';

export const payPlans: Record<keyof typeof en, string> = {
  'payPlans.new': 'Mpango mpya wa malipo',
  'payPlans.new.lead': 'Bidhaa, kiasi, awamu na siku za neema haviwezi kubadilishwa baadaye.',
  'payPlans.fixed': 'Bidhaa, kiasi, awamu na siku za neema haviwezi kubadilishwa. Unda mpango mwingine.',
  'payPlans.anyProduct': 'Bidhaa yoyote',
  'payPlans.autoSuspend': 'Simamisha akaunti zilizochelewa kiotomatiki',
  'payPlans.active': 'Unaweza kuchaguliwa kwa akaunti mpya',
  'field.frequency': 'Marudio',
  'field.graceDays': 'Siku za neema',
  'field.instalmentAmount': 'Kiasi cha awamu',
  'field.instalmentCount': 'Idadi ya awamu',
};
