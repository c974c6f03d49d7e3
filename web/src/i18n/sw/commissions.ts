import type { commissions as en } from '../en/commissions.ts';

export const commissions: Record<keyof typeof en, string> = {
  'commissions.calculate': 'Kokotoa kamisheni',
  'commissions.calculate.lead':
    'Hutumia mauzo ya mfanyakazi katika mwezi huo. Hesabu ya awali inabadilishwa. Kamisheni iliyolipwa haiwezi kubadilishwa.',
  'commissions.calculate.submit': 'Kokotoa',
  'commissions.calculated': 'Kamisheni imekokotolewa',
  'commissions.period.hint': 'Mwaka na mwezi, kama 2026-11.',
  'commissions.line': '{rate} ya {base}',
  'commissions.line.shared': '{rate} ya {base}, sehemu ya mfanyakazi: {share}',
  'commissions.paidAt': 'Ililipwa',
  'commissions.approve': 'Idhinisha',
  'commissions.pay': 'Weka kuwa imelipwa',
  'commissionStatus.calculated': 'Imekokotolewa',
  'commissionStatus.approved': 'Imeidhinishwa',
  'commissionStatus.paid': 'Imelipwa',
  'field.period': 'Mwezi',
};
