import { type Selectable, sql } from 'kysely';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import type { InvoiceItems, Invoices } from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { type Minor, minorToNumber } from '../core/values/money.ts';
import { type Line, QUANTITY_DECIMALS } from './rules.ts';

type InvoiceRow = Selectable<Invoices>;
type ItemRow = Selectable<InvoiceItems>;

export interface InvoiceWithItems {
  invoice: InvoiceRow;
  items: ItemRow[];
}

interface NewInvoiceRow {
  accountId: number;
  customerName: string;
  customerPhone: string;
  issuedOn: PlainDate;
  dueOn: PlainDate | null;
  totalMinor: Minor;
  createdBy: number | null;
}

/**
 * Who the invoice goes to. The account's row is held against a change of its key, so that no lock of it
 * has to be waited for once the year's counter is locked.
 */
export function findRecipient(tx: Tx, accountId: number) {
  return tx
    .selectFrom('accounts as a')
    .innerJoin('customers as c', 'c.id', 'a.customer_id')
    .select(['c.first_name', 'c.last_name', 'c.phone'])
    .where('a.id', '=', accountId)
    .forKeyShare('a')
    .executeTakeFirst();
}

/**
 * Takes the year's next number and issues the invoice in one statement: the counter's row, which all
 * invoices of a year wait for, is locked last and for as short as possible. A transaction that fails
 * gives its number back.
 */
export async function insertInvoice(
  tx: Tx,
  invoice: NewInvoiceRow,
  lines: Line[],
): Promise<InvoiceWithItems> {
  const year = Number(invoice.issuedOn.slice(0, 4));
  const { rows } = await sql<InvoiceRow>`
    with taken as (
      insert into invoice_numbers as n (year, last_number) values (${year}, 1)
      on conflict (year) do update set last_number = n.last_number + 1
      returning last_number
    ), issued as (
      insert into invoices
        (year, year_number, account_id, customer_name, customer_phone, issued_on, due_on, total_minor, created_by)
      select ${year}, taken.last_number, ${invoice.accountId}, ${invoice.customerName},
        ${invoice.customerPhone}, ${invoice.issuedOn}::date, ${invoice.dueOn}::date, ${invoice.totalMinor}, ${invoice.createdBy}
      from taken
      returning *
    ), itemised as (
      insert into invoice_items
        (invoice_id, position, description, quantity_milli, unit_price_minor, line_total_minor)
      select issued.id, line.position, line.description, line.quantity_milli, line.unit_price_minor,
        line.line_total_minor
      from issued, unnest(
        ${lines.map((line) => line.description)}::text[],
        ${lines.map((line) => line.quantityMilli)}::bigint[],
        ${lines.map((line) => line.unitPriceMinor)}::bigint[],
        ${lines.map((line) => line.lineTotalMinor)}::bigint[]
      ) with ordinality as line (description, quantity_milli, unit_price_minor, line_total_minor, position)
    )
    select * from issued`.execute(tx);
  const [issued] = rows;
  if (!issued) throw new Error('issuing an invoice returned no row');
  return { invoice: issued, items: await findItems(tx, issued.id) };
}

export async function findInvoice(db: Db, id: number): Promise<InvoiceWithItems | undefined> {
  const invoice = await db.selectFrom('invoices').selectAll().where('id', '=', id).executeTakeFirst();
  return invoice && { invoice, items: await findItems(db, id) };
}

/** @returns undefined when the invoice is not there or is void already. */
export function setVoid(tx: Tx, id: number, reason: string): Promise<InvoiceRow | undefined> {
  return tx
    .updateTable('invoices')
    .set({
      status: 'void',
      void_reason: reason,
      voided_at: sql`business_now()`,
      updated_at: sql`business_now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'issued')
    .returningAll()
    .executeTakeFirst();
}

export async function listInvoices(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<InvoiceRow>(db, plan, {
    select: sql`select i.* from invoices i`,
    from: sql`from invoices i`,
  });
  return { ...page, rows: page.rows.map((invoice) => toInvoiceSummary(invoice, currency)) };
}

function findItems(db: Db, invoiceId: number): Promise<ItemRow[]> {
  return db
    .selectFrom('invoice_items')
    .selectAll()
    .where('invoice_id', '=', invoiceId)
    .orderBy('position')
    .execute();
}

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

function toInvoiceSummary(invoice: InvoiceRow, currency: Currency) {
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
