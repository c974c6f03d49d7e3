import type { moneyWork as en } from '../en/money-work.ts';

export const moneyWork: Record<keyof typeof en, string> = {
  'correction.open': 'Sahihisha kiasi',
  'correction.column': 'Kitendo',
  'correction.title': 'Sahihisha kiasi cha {amount}',
  'correction.text':
    'Malipo haya yanabatilishwa, na malipo ya kiasi sahihi yanaandikwa mahali pake, yenye tarehe, njia na kumbukumbu ile ile.',
  'correction.amount': 'Kiasi sahihi',
  'correction.submit': 'Sahihisha kiasi',
  'correction.done': 'Kiasi kimesahihishwa',
  'receipt.print': 'Chapisha risiti',
  'share.account': 'Tuma namba ya akaunti',
  'share.share': 'Tuma',
  'share.copyYourself': 'Nakili maandishi haya, kisha yabandike kwenye ujumbe.',
  'share.copied': 'Imenakiliwa. Unaweza kuibandika kwenye ujumbe.',
  'field.items': 'Vipengee',
  'invoice.quantity': 'Idadi',
  'invoice.unitPrice': 'Bei ya moja',
  'invoice.dueDate': 'Kulipwa kufikia',
};
