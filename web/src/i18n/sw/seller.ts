import type { seller as en } from '../en/seller.ts';
import { commissionStatuses } from './codes.ts';

export const seller: Record<keyof typeof en, string> = {
  ...commissionStatuses,
  'seller.late': 'Wateja wangu waliochelewa',
  'seller.late.all': 'Wateja wangu wote waliochelewa',
  'seller.late.none': 'Hakuna mteja wako aliyechelewa.',
  'seller.commission': 'Kamisheni yangu',
  'seller.commission.all': 'Kamisheni zangu zote',
  'seller.commission.none': 'Haijakokotolewa bado',
  'seller.commission.more.one': 'Uuzaji {count} bila kamisheni.',
  'seller.commission.more.other': 'Mauzo {count} bila kamisheni.',
  'seller.commission.expected': 'Inatarajiwa: {amount}',
  'seller.unlinked': 'Akaunti yako ya mtumiaji haijaunganishwa na mfanyakazi',
  'seller.unlinked.text':
    'Msimamizi huiunganisha kwenye ukurasa wa Watumiaji. Kisha wateja wako waliochelewa na kamisheni yako vitaonekana hapa.',
};
