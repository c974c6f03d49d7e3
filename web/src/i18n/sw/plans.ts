import type * as en from '../en/plans.ts';

export const plans: Record<keyof typeof en.plans, string> = {
  'plan.of': '{count} × {amount}',
  'plan.count': 'awamu {count}',
  'plan.rest': '{count} × {amount}, ya mwisho {last}',
  'plan.rhythm': '{instalments}, {rhythm}',
  'plan.without': '{rhythm}, isipokuwa {months}',
  'plan.harvest': 'kila mwaka tarehe {days}',
  'plan.share': '{day} ({share})',
  'every.daily.one': 'kila siku',
  'every.daily.other': 'kila siku {count}',
  'every.weekly.one': 'kila wiki',
  'every.weekly.other': 'kila wiki {count}',
  'every.monthly.one': 'kila mwezi',
  'every.monthly.other': 'kila miezi {count}',
};

export const planEffect: Record<keyof typeof en.planEffect, string> = {
  'account.credit': 'Salio la ziada',
  'account.paidUntil': 'Imelipwa hadi',
};

export const planFields: Record<keyof typeof en.planFields, string> = {
  'planField.rhythm': 'Mara chache zaidi, au si miezi yote',
  'planField.every.daily': 'Siku kati ya awamu na inayofuata',
  'planField.every.weekly': 'Wiki kati ya awamu na inayofuata',
  'planField.every.monthly': 'Miezi kati ya awamu na inayofuata',
  'planField.harvest.add': 'Ongeza siku ya mavuno',
  'planField.harvest.remove': 'Ondoa siku ya mavuno {number}',
  'planField.harvest.item': 'Siku ya mavuno {number}',
  'planField.harvest.month': 'Mwezi',
  'planField.harvest.day': 'Siku',
  'planField.harvest.share': 'Asilimia',
  'planField.harvest.sum': 'Sehemu kwa pamoja: {sum}',
  'planField.harvest.wrongSum': 'Sehemu lazima ziwe {whole} kwa pamoja, lakini ni {sum}.',
  'planField.harvest.cycles': 'Idadi ya miaka',
  'planField.harvest.lead': 'Siku kabla ya awamu ya kwanza',
  'planField.harvest.lead.hint': 'Siku ya mavuno iliyo karibu zaidi na kuanza kwa akaunti inaachwa.',
  'field.frequency': 'Marudio',
  'field.monthsWithoutDues': 'Miezi isiyo na awamu',
  'field.harvest.entries': 'Siku za mavuno',
};
