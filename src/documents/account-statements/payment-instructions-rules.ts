import type { Language } from '../../core/http/fields.ts';

interface Instructed {
  companyName: string;
  accountNumber: string;
  /** Null if the company has no paybill number. */
  paybillNumber: string | null;
}

/** How to pay, as a message to the customer. `how-to-pay` in templates/common.typ prints the same words. */
export function paymentInstructions(
  { companyName, accountNumber, paybillNumber }: Instructed,
  language: Language,
): string {
  const say = (english: string, swahili: string) => (language === 'sw' ? swahili : english);
  const lines = [
    companyName,
    `${say('Account number', 'Namba ya akaunti')}: ${accountNumber}`,
    ...(paybillNumber === null
      ? [
          say(
            'Give this account number as the reference with every payment.',
            'Taja namba hii ya akaunti kama kumbukumbu kwa kila malipo.',
          ),
        ]
      : [
          `${say('Paybill number', 'Namba ya paybill')}: ${paybillNumber}`,
          say(
            'In the mobile-money menu of your phone choose Pay bill, then enter these numbers exactly as they stand here.',
            'Kwenye menyu ya pesa ya simu yako chagua Lipa bili (Pay bill), kisha weka namba hizi kama zilivyo hapa.',
          ),
        ]),
  ];
  return lines.join('\n');
}
