import { sql } from 'kysely';
import type { Db } from '../../core/database/db.ts';
import { lookUp } from '../../core/database/statements.ts';
import type { PlainDate } from '../../core/values/dates.ts';

/** A payment with an account, with what its receipt shows. */
export interface ReceiptRow {
  payment_id: number;
  account_id: number;
  amount_minor: number;
  payment_date: PlainDate;
  transaction_ref: string | null;
  status: 'matched' | 'reversed';
  reversed_at: string | null;
  corrects_payment_id: number | null;
  corrected_by_id: number | null;
  first_printed_at: string | null;
  method: string;
  customer: string;
  /** The name of the user who recorded the payment. Null for an API key and a provider. */
  receiver: string | null;
}

/** @returns undefined if there is no such payment, or if it has no account. */
export async function findReceipt(db: Db, paymentId: number): Promise<ReceiptRow | undefined> {
  const [row] = await lookUp(
    db,
    sql<ReceiptRow>`select p.id as payment_id, p.account_id, p.amount_minor, p.payment_date, p.transaction_ref, p.status, p.reversed_at,
      p.corrects_payment_id, n.id as corrected_by_id, f.first_printed_at, m.name as method,
      c.first_name || ' ' || c.last_name as customer,
      case when p.source = 'manual' then u.first_name || ' ' || u.last_name end as receiver
    from payments p
      join accounts a on a.id = p.account_id
      join customers c on c.id = a.customer_id
      join payment_methods m on m.id = p.payment_method_id
      left join users u on u.id = p.created_by
      left join payments n on n.corrects_payment_id = p.id
      left join payment_receipts f on f.payment_id = p.id
    where p.id = ${paymentId}`,
  );
  return row;
}

/**
 * The row of the payment is locked, so that a print waits for the undo of an import that deletes the payment.
 * @returns undefined if there is no such payment any more.
 */
export async function setPrinted(db: Db, paymentId: number): Promise<'first' | 'again' | undefined> {
  const { rows } = await sql<{ is_first: boolean }>`
    with payment as materialized (select id from payments where id = ${paymentId} for key share),
      first as (
        insert into payment_receipts (payment_id) select id from payment on conflict (payment_id) do nothing returning payment_id)
    select exists (select from first) as is_first from payment`.execute(db);
  return rows[0] && (rows[0].is_first ? 'first' : 'again');
}

export async function paymentExists(db: Db, paymentId: number): Promise<boolean> {
  return (await lookUp(db, sql`select id from payments where id = ${paymentId}`)).length > 0;
}
