import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import type { InvoiceItems, Invoices } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';
import { type Line, statusesBefore } from './rules.ts';

export type InvoiceRow = Selectable<Invoices>;
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
 * Finds the customer of the account, and locks the account. Without this lock, the foreign key of the invoice would lock the
 * account later: the insert could then wait for the account while it holds the lock on the year's counter.
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
 * Takes the year's next number and inserts the invoice. Other invoices of the year wait for the lock on the counter. To hold this
 * lock for a short time, one statement does both. If the transaction fails, the next invoice gets the number.
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
  if (!issued) throw new Error('Inserting an invoice returned no row.');
  return { invoice: issued, items: await findItems(tx, issued.id) };
}

export async function findInvoice(db: Db, id: number): Promise<InvoiceWithItems | undefined> {
  const invoice = await db.selectFrom('invoices').selectAll().where('id', '=', id).executeTakeFirst();
  return invoice && { invoice, items: await findItems(db, id) };
}

/** @returns undefined if the invoice does not exist or its status does not allow the change. */
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
    .where('status', 'in', statusesBefore('void'))
    .returningAll()
    .executeTakeFirst();
}

export function listInvoices(db: Db, plan: ListPlan) {
  return fetchPage<InvoiceRow, 'total'>(db, plan, {
    select: sql`select i.* from invoices i`,
    from: sql`from invoices i`,
    sums: { total: sql`sum(i.total_minor) filter (where i.status <> 'void')` },
  });
}

function findItems(db: Db, invoiceId: number): Promise<ItemRow[]> {
  return db
    .selectFrom('invoice_items')
    .selectAll()
    .where('invoice_id', '=', invoiceId)
    .orderBy('position')
    .execute();
}
