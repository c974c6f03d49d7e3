import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { amountOf, type Currency } from '../../core/context.ts';
import { minorToNumber } from '../../core/values/money.ts';
import { QUANTITY_DECIMALS } from './rules.ts';
import type { InvoiceRow, InvoiceWithItems } from './store.ts';

export function toInvoice({ invoice, items }: InvoiceWithItems, currency: Currency) {
  return {
    ...toInvoiceSummary(invoice, currency),
    items: items.map((item) => ({
      description: item.description,
      quantity: minorToNumber(BigInt(item.quantity_milli), QUANTITY_DECIMALS),
      unitPrice: amountOf(item.unit_price_minor, currency),
      lineTotal: amountOf(item.line_total_minor, currency),
    })),
  };
}

export function toInvoiceSummary(invoice: InvoiceRow, currency: Currency) {
  return {
    id: invoice.id,
    number: invoice.number,
    accountId: invoice.account_id,
    accountNumber: formatAccountNumber(invoice.account_id),
    customerName: invoice.customer_name,
    total: amountOf(invoice.total_minor, currency),
    currency: currency.code,
    status: invoice.status,
    issuedOn: invoice.issued_on,
    dueDate: invoice.due_on,
    voidedAt: invoice.voided_at,
    voidReason: invoice.void_reason,
    createdAt: invoice.created_at,
    updatedAt: invoice.updated_at,
  };
}
