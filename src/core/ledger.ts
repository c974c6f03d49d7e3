import { type RawBuilder, sql } from 'kysely';
import type { PlainDate } from './dates.ts';
import type { Tx } from './db.ts';
import type { Minor } from './money.ts';
import type { LedgerAccount, LedgerEvent } from './tables.ts';

/** One line of a money event: debit positive, credit negative, in minor units; zero lines are dropped. */
export interface LedgerLine {
  ledgerAccount: LedgerAccount;
  amountMinor: Minor;
  /** Only, and always, for clearing: which of the clearing accounts. */
  paymentMethodId?: number;
  /** Where the line belongs to another account than the rest of its event: the giver of a transfer. */
  accountId?: number;
}

interface LedgerPosting {
  event: LedgerEvent;
  accountId: number | null;
  /** Or, in SQL, that of a payment which the same statement inserts. */
  paymentId: number | RawBuilder<number> | null;
  creditMoveId?: number;
  /** The business day that the event counts for. */
  valueDate: PlainDate;
  lines: LedgerLine[];
}

/**
 * Adds the entries of one money event. A trigger refuses entries that do not sum to zero, and any
 * later change of them.
 */
export async function postToLedger(tx: Tx, posting: LedgerPosting): Promise<void> {
  if (posting.lines.some((line) => line.amountMinor !== 0n)) await insertEntries(posting).execute(tx);
}

/** The statement that adds the entries, for use within a larger one. */
export function insertEntries(posting: LedgerPosting): RawBuilder<unknown> {
  const lines = posting.lines.filter((line) => line.amountMinor !== 0n);
  return sql`
    with event as (select nextval('ledger_event_ids') as id)
    insert into ledger_entries
      (event_id, event, account_id, payment_id, credit_move_id, value_date, ledger_account, amount_minor,
        payment_method_id)
    select event.id, ${posting.event}::ledger_event, line.account_id, ${posting.paymentId}::bigint,
      ${posting.creditMoveId ?? null}::bigint, ${posting.valueDate}::date,
      line.ledger_account::ledger_account, line.amount_minor, line.payment_method_id
    from event, unnest(
      ${lines.map((line) => line.ledgerAccount)}::text[],
      ${lines.map((line) => line.amountMinor)}::bigint[],
      ${lines.map((line) => line.paymentMethodId ?? null)}::bigint[],
      ${lines.map((line) => line.accountId ?? posting.accountId)}::bigint[]
    ) as line (ledger_account, amount_minor, payment_method_id, account_id)`;
}
