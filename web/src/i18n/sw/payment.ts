import type { payment as en } from '../en/payment.ts';
import { providerAnswer } from './provider-answer.ts';

export const payment: Record<keyof typeof en, string> = {
  ...providerAnswer,
  'payment.title': 'Malipo {id}',
  'payment.details': 'Maelezo',
  'payment.source': 'Chanzo',
  'payment.match': 'Akaunti ilipatikana kwa',
  'payment.reconciled': 'Yalisuluhishwa tarehe',
  'payment.reversedAt': 'Yalibatilishwa',
  'payment.recordedAt': 'Yaliingizwa',
  'payment.reverse': 'Batilisha malipo',
  'payment.reverse.title': 'Batilisha malipo ya {amount}',
  'payment.reverse.text': 'Deni la akaunti litaongezeka tena. Malipo yataendelea kuonekana.',
  'payment.reverse.done': 'Malipo yamebatilishwa',
  'matchMethod.account_number': 'Namba ya akaunti',
  'matchMethod.national_id': 'Kitambulisho cha taifa',
  'matchMethod.phone': 'Simu kama kumbukumbu',
  'matchMethod.account_id': 'Kitambulisho cha akaunti',
  'matchMethod.payer_phone': 'Simu ya mlipaji',
  'matchMethod.learned': 'Kumbukumbu iliyotumika awali',
  'matchMethod.payment_request': 'Ombi la malipo',
  'matchMethod.manual_entry': 'Malipo yaliyoingizwa kwa mkono',
  'matchMethod.assigned': 'Yaliwekwa kwenye akaunti na mfanyakazi',
};
