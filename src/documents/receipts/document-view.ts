import type { Context } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { printedAmount } from '../../core/values/money.ts';
import type { PrintedDocument, Printer } from '../../platform/printing/printer.ts';
import { printedSpelling } from '../account-statements/wording-rules.ts';
import type { ReceiptRow } from './store.ts';
import { toReceipt } from './view.ts';

/** What templates/receipt.typ prints. Dates are YYYY-MM-DD. */
interface ReceiptDocument extends PrintedDocument {
  language: Language;
  paper: 'roll' | 'a4';
  number: string;
  isCopy: boolean;
  reversedOn: string | null;
  correctsNumber: string | null;
  correctedByNumber: string | null;
  paymentDate: string;
  customer: string;
  accountNumber: string;
  currency: string;
  amount: string;
  method: string;
  reference: string | null;
  receiver: string | null;
}

interface Asked {
  paper: 'roll' | 'a4';
  language: Language;
  isCopy: boolean;
}

export function toReceiptDocument(
  context: Pick<Context, 'config' | 'currency'>,
  { company }: Pick<Printer, 'company'>,
  row: ReceiptRow,
  { paper, language, isCopy }: Asked,
): ReceiptDocument {
  const { number, accountNumber, reversedOn, correctsNumber, correctedByNumber } = toReceipt(context, row);
  return {
    language,
    company,
    paper,
    ...{ number, isCopy, reversedOn, correctsNumber, correctedByNumber, accountNumber },
    paymentDate: row.payment_date,
    customer: row.customer,
    currency: context.currency.code,
    amount: printedAmount(BigInt(row.amount_minor), context.currency.decimals),
    method: row.method,
    reference: row.transaction_ref,
    receiver: row.receiver,
  };
}

/** The receipt as plain text, for a message to the customer. */
export function receiptText({ language, company, ...receipt }: Omit<ReceiptDocument, 'paper'>): string {
  const { date } = printedSpelling(0, language);
  const { number, reversedOn, correctsNumber, correctedByNumber, reference, receiver } = receipt;
  const say = (english: string, swahili: string) => (language === 'sw' ? swahili : english);
  const lines = [
    company.name,
    `${say('Receipt', 'Risiti')} ${number}${receipt.isCopy ? ` (${say('COPY', 'NAKALA')})` : ''}`,
    reversedOn !== null &&
      `${say('REVERSED on', 'IMEBATILISHWA tarehe')} ${date(reversedOn as PlainDate)}: ${say('this receipt is not valid', 'risiti hii si halali')}`,
    correctedByNumber !== null &&
      `${say('Replaced by receipt', 'Imebadilishwa na risiti')} ${correctedByNumber}`,
    correctsNumber !== null && `${say('Corrects receipt', 'Inasahihisha risiti')} ${correctsNumber}`,
    `${say('Received', 'Imepokelewa')}: ${receipt.currency} ${receipt.amount}`,
    `${say('Date', 'Tarehe')}: ${date(receipt.paymentDate as PlainDate)}`,
    `${say('From', 'Kutoka kwa')}: ${receipt.customer}`,
    `${say('Account', 'Akaunti')}: ${receipt.accountNumber}`,
    `${say('Paid by', 'Njia ya malipo')}: ${receipt.method}${reference === null ? '' : `, ${reference}`}`,
    receiver !== null && `${say('Received by', 'Amepokea')}: ${receiver}`,
  ];
  return `${lines.filter((line) => line !== false).join('\n')}\n`;
}
