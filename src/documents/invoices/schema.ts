import { type Static, Type } from 'typebox';
import { ExpandedAccountOrCustomer, expandAccountOrCustomer } from '../../accounts/schema.ts';
import {
  AmountFromZero,
  CalendarDate,
  Choice,
  DateText,
  DecimalAboveZero,
  Id,
  Money,
  Nullable,
  Text,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { Totals } from '../../core/lists/totals.ts';
import { INVOICE_STATUSES, QUANTITY_DECIMALS } from './rules.ts';

/** With three decimals, this number has twelve digits, so every quantity is an exact JSON number. */
const MAX_QUANTITY = 999_999_999;

const itemProperties = {
  description: Text(500),
  quantity: DecimalAboveZero(QUANTITY_DECIMALS, MAX_QUANTITY),
};

export const NewInvoice = Type.Object(
  {
    accountId: Id,
    items: Type.Array(Type.Object({ ...itemProperties, unitPrice: AmountFromZero }), {
      minItems: 1,
      maxItems: 200,
    }),
    dueDate: Type.Optional(
      CalendarDate({
        format: 'calendar-date',
        description: 'Printed on the invoice. Must not be before the day of issue. Default: none.',
      }),
    ),
  },
  {
    title: 'NewInvoice',
    examples: [
      {
        accountId: 1,
        items: [
          { description: 'Deposit, home system 40 W', quantity: 1, unitPrice: 2000 },
          { description: 'Cable, metres', quantity: 2.5, unitPrice: 80 },
        ],
        // There is no dueDate, because a date in the past is refused.
      },
    ],
  },
);
export type NewInvoice = Static<typeof NewInvoice>;

export const Voiding = Type.Object(
  { reason: Text(500) },
  { title: 'Voiding', examples: [{ reason: 'Wrong account' }] },
);

const invoiceProperties = {
  id: Id,
  number: Type.String({ description: 'The numbers of a year have no gaps.', example: 'INV-2026-000001' }),
  accountId: Id,
  accountNumber: Type.String(),
  customerName: Type.String({ description: 'The customer’s name on the day of issue.' }),
  total: Money,
  currency: Type.String(),
  status: Choice('InvoiceStatus', INVOICE_STATUSES),
  issuedOn: DateText,
  dueDate: Nullable(DateText),
  voidedAt: Nullable(Timestamp),
  voidReason: Nullable(Type.String()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
const INVOICE = {
  id: 1,
  number: 'INV-2026-000001',
  accountId: 1,
  accountNumber: 'ACC10000012',
  customerName: 'Wanjiru Kamau',
  total: 2200,
  currency: 'KES',
  status: 'issued',
  issuedOn: '2026-11-02',
  dueDate: null,
  voidedAt: null,
  voidReason: null,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

export const InvoiceSummary = Type.Object(
  { ...invoiceProperties, ...ExpandedAccountOrCustomer },
  {
    title: 'InvoiceSummary',
    description: 'An invoice without its lines (`items`). `GET /invoices/{id}` returns the lines.',
    examples: [INVOICE],
  },
);

export const Invoice = Type.Object(
  {
    ...invoiceProperties,
    ...ExpandedAccountOrCustomer,
    items: Type.Array(
      Type.Object({
        description: Type.String(),
        quantity: Type.Number(),
        unitPrice: Money,
        lineTotal: Type.Number({ description: 'quantity × unitPrice, rounded half up.' }),
      }),
    ),
  },
  {
    title: 'Invoice',
    examples: [
      {
        ...INVOICE,
        items: [
          { description: 'Deposit, home system 40 W', quantity: 1, unitPrice: 2000, lineTotal: 2000 },
          { description: 'Cable, metres', quantity: 2.5, unitPrice: 80, lineTotal: 200 },
        ],
      },
    ],
  },
);

export const invoiceList = defineList(
  {
    id: { kind: 'id', column: 'i.id' },
    number: { kind: 'text', column: 'i.number' },
    accountId: { kind: 'id', column: 'i.account_id' },
    customerName: { kind: 'text', column: 'i.customer_name' },
    total: { kind: 'money', column: 'i.total_minor' },
    status: { kind: 'enum', column: 'i.status', values: INVOICE_STATUSES },
    issuedOn: { kind: 'date', column: 'i.issued_on' },
    dueDate: { kind: 'date', column: 'i.due_on', nullable: true },
    voidedAt: { kind: 'timestamp', column: 'i.voided_at', nullable: true },
    createdAt: { kind: 'timestamp', column: 'i.created_at' },
    updatedAt: { kind: 'timestamp', column: 'i.updated_at' },
  },
  { expand: expandAccountOrCustomer },
  undefined,
  { hasTotals: true },
);
export const InvoiceTotals = Totals('InvoiceTotals', {
  total: Type.Number({ description: 'Without void invoices.' }),
});
