import { type RawBuilder, sql } from 'kysely';
import { expect } from 'vitest';
import type { Context } from '../src/core/context.ts';

/**
 * The laws of the ledger, each a query for what breaks it. They are written anew in SQL, so that they
 * do not share a mistake with the code that they judge.
 */
const BREACHES: Record<string, RawBuilder<unknown>> = {
  'the entries of every event sum to zero': sql`
    select event_id, sum(amount_minor) from ledger_entries group by event_id having sum(amount_minor) <> 0`,

  'the balances of every account equal its entries, its payments and its moves of credit': sql`
    select a.id, a.status, a.paid_minor, p.paid, a.receivable_minor, e.receivable, a.credit_minor, e.credit,
      a.written_off_minor, e.bad_debt
    from accounts a
    cross join lateral (
      select coalesce(sum(amount_minor), 0) as paid from account_money where account_id = a.id) p
    cross join lateral (
      select
        coalesce(sum(amount_minor) filter (where ledger_account = 'receivable'), 0) as receivable,
        coalesce(-sum(amount_minor) filter (where ledger_account = 'customer_credit'), 0) as credit,
        coalesce(sum(amount_minor) filter (where ledger_account = 'bad_debt'), 0) as bad_debt
      from ledger_entries where account_id = a.id) e
    where (a.paid_minor, a.receivable_minor, a.credit_minor, a.written_off_minor)
      is distinct from (p.paid, e.receivable, e.credit, e.bad_debt)`,

  'every account owes, or has in credit, what its total and its payments say': sql`
    select a.id, a.status, a.total_minor, a.paid_minor, a.receivable_minor, a.credit_minor, e.*
    from accounts a
    cross join lateral (
      select
        coalesce(-sum(amount_minor) filter (where ledger_account = 'sales'), 0) as sales,
        coalesce(sum(amount_minor) filter (where ledger_account in ('bad_debt', 'recovery')), 0) as lost
      from ledger_entries where account_id = a.id) e
    where case when a.status = 'cancelled'
      then (e.sales, a.receivable_minor, a.credit_minor, e.lost)
        is distinct from (0, greatest(0, -a.paid_minor), greatest(0, a.paid_minor), 0)
      else (e.sales, a.receivable_minor + e.lost, a.credit_minor) is distinct from
        (a.total_minor, greatest(0, a.total_minor - a.paid_minor), greatest(0, a.paid_minor - a.total_minor))
      end`,

  'the money of every method equals its payments that were not reversed, less its refunds': sql`
    select m.code, e.cleared, p.received, r.refunded
    from payment_methods m
    cross join lateral (
      select coalesce(sum(amount_minor), 0) as cleared from ledger_entries
      where payment_method_id = m.id and ledger_account = 'clearing') e
    cross join lateral (
      select coalesce(sum(amount_minor), 0) as received from payments
      where payment_method_id = m.id and status <> 'reversed') p
    cross join lateral (
      select coalesce(sum(amount_minor), 0) as refunded from credit_moves
      where payment_method_id = m.id) r
    where e.cleared <> p.received - r.refunded`,

  'every move of credit stands in the ledger: off its giver, and onto its receiver or out by its method': sql`
    select m.id, m.amount_minor, e.*
    from credit_moves m
    cross join lateral (
      select
        coalesce(sum(amount_minor) filter (where account_id = m.account_id and ledger_account = 'customer_credit'), 0)
          as given,
        coalesce(-sum(amount_minor) filter (where account_id = m.to_account_id), 0) as received,
        coalesce(-sum(amount_minor) filter (where payment_method_id = m.payment_method_id), 0) as refunded
      from ledger_entries where credit_move_id = m.id) e
    where (e.given, e.received, e.refunded) is distinct from (m.amount_minor,
      case when m.to_account_id is null then 0 else m.amount_minor end,
      case when m.to_account_id is null then m.amount_minor else 0 end)`,

  'what stands as unmatched equals the unmatched payments': sql`
    select e.amount, p.amount as payments
    from (select coalesce(-sum(amount_minor), 0) as amount from ledger_entries
      where ledger_account = 'unmatched') e,
      (select coalesce(sum(amount_minor), 0) as amount from payments where status = 'unmatched') p
    where e.amount <> p.amount`,

  'every payment stands in the ledger with its amount, or with nothing once reversed': sql`
    select p.id, p.status, p.amount_minor, e.cleared
    from payments p
    cross join lateral (
      select coalesce(sum(amount_minor), 0) as cleared from ledger_entries
      where payment_id = p.id and ledger_account = 'clearing') e
    where e.cleared <> case when p.status = 'reversed' then 0 else p.amount_minor end`,

  'the provider was credited once for each of its transactions': sql`
    select trans_id, count(*) from notifications
    where outcome in ('matched', 'unmatched', 'linked')
    group by provider, trans_id having count(*) > 1`,
};

/** Asserts every law on the whole database; a breach is shown with its rows. */
export async function expectBooksToBalance({ db }: Pick<Context, 'db'>): Promise<void> {
  const broken: Record<string, unknown[]> = {};
  for (const [law, breaches] of Object.entries(BREACHES)) {
    const { rows } = await breaches.execute(db);
    if (rows.length > 0) broken[law] = rows;
  }
  expect(broken).toEqual({});
}
