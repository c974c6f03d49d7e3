import { type Static, Type } from 'typebox';
import { Choice, DateText, DocumentLanguage, Id, Money, Nullable } from '../../core/http/fields.ts';

const Paper = Type.Enum(['roll', 'a4', 'text'], {
  description: '`roll`: a PDF for rolls of 80 mm. `a4`: a PDF. `text`: plain text to share.',
});

export const ReceiptPrint = Type.Object(
  { paper: Paper, lang: DocumentLanguage },
  { title: 'ReceiptPrint', examples: [{ paper: 'text', lang: 'en' }] },
);
export type ReceiptPrint = Static<typeof ReceiptPrint>;

export const ReceiptParams = Type.Object({
  number: Type.String({
    maxLength: 40,
    description:
      'The number, such as R13. Spaces, punctuation, lower-case letters and a missing R do not matter.',
    examples: ['R13'],
  }),
});

export const Receipt = Type.Object(
  {
    number: Type.String({ description: 'R, the id of the payment, and a check digit. Numbers have gaps.' }),
    paymentId: Id,
    amount: Money,
    currency: Type.String(),
    paymentDate: DateText,
    accountId: Id,
    accountNumber: Type.String(),
    status: Choice('ReceiptStatus', ['valid', 'reversed']),
    reversedOn: Nullable(DateText),
    correctsNumber: Nullable(Type.String({ description: 'The receipt whose amount this one corrects.' })),
    correctedByNumber: Nullable(Type.String({ description: 'The receipt with the right amount.' })),
    isPrinted: Type.Boolean({ description: 'Whether the receipt was handed out. The next print is a copy.' }),
  },
  {
    title: 'Receipt',
    examples: [
      {
        number: 'R13',
        paymentId: 1,
        amount: 400,
        currency: 'KES',
        paymentDate: '2026-11-02',
        accountId: 1,
        accountNumber: 'ACC10000012',
        status: 'valid',
        reversedOn: null,
        correctsNumber: null,
        correctedByNumber: null,
        isPrinted: false,
      },
    ],
  },
);

export const ReceiptText = Type.String({
  examples: [
    'Sun Pumps\nReceipt R13\nReceived: KES 400.00\nDate: 2 Nov 2026\nFrom: Wanjiru Kamau\nAccount: ACC10000012\nPaid by: M-Pesa, SFK1ABCDEF\n',
  ],
});
