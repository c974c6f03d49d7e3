import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { Context } from '../../core/context.ts';
import type { Language } from '../../core/http/fields.ts';
import { businessDay } from '../../core/values/dates.ts';
import { printedAmount } from '../../core/values/money.ts';
import type { PrintedDocument, Printer } from '../../platform/printing/printer.ts';
import { printedQuantity } from './rules.ts';
import type { InvoiceWithItems } from './store.ts';

// The data of the printed invoice. Its words and layout are in templates/invoice.typ.

interface InvoiceDocument extends PrintedDocument {
  number: string;
  /** YYYY-MM-DD, also the date of the PDF. */
  issuedOn: string;
  /** The date that the issuer chose. It is not part of the account's schedule. */
  dueOn: string | null;
  voidedOn: string | null;
  customer: { name: string; phone: string };
  accountNumber: string;
  currency: string;
  items: { description: string; quantity: string; unitPrice: string; lineTotal: string }[];
  total: string;
  paybill: string | null;
}

export function toInvoiceDocument(
  { config, currency }: Pick<Context, 'config' | 'currency'>,
  { company, paybill }: Pick<Printer, 'company' | 'paybill'>,
  { invoice, items }: InvoiceWithItems,
  language: Language,
): InvoiceDocument {
  const amount = (minor: number) => printedAmount(BigInt(minor), currency.decimals);
  return {
    language,
    number: invoice.number,
    issuedOn: invoice.issued_on,
    dueOn: invoice.due_on,
    voidedOn: invoice.voided_at && businessDay(new Date(invoice.voided_at), config.BUSINESS_TIMEZONE),
    customer: { name: invoice.customer_name, phone: invoice.customer_phone },
    accountNumber: formatAccountNumber(invoice.account_id),
    currency: currency.code,
    items: items.map((item) => ({
      description: item.description,
      quantity: printedQuantity(BigInt(item.quantity_milli)),
      unitPrice: amount(item.unit_price_minor),
      lineTotal: amount(item.line_total_minor),
    })),
    total: amount(invoice.total_minor),
    company,
    paybill,
  };
}
