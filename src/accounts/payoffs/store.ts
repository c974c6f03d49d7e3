import { sql } from 'kysely';
import { type Currency, readAmount } from '../../core/context.ts';
import type { Db, Tx } from '../../core/database/db.ts';
import { insertRows, rowsAsJson } from '../../core/database/rows.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { RECORDED_COLUMNS } from '../schedule/rules.ts';
import { CHANGE_COUNTS } from '../schedule/store.ts';
import type { LockedAccount, OfferFacts, OfferOfPlan, PayoffFacts, PlanMove } from './posting-rules.ts';
import type { PayoffOffer } from './rules.ts';

/** The column `early_payoff` of an account: what its pay plan offers. */
export const OFFER_OF_PLAN = `(
  select json_build_object('discountBasisPoints', p.payoff_basis_points, 'until', p.payoff_until, 'minDues', p.payoff_min_dues,
    'roundingMinor', p.rounding_minor)
  from pay_plans p where p.id = a.payplan_id and p.payoff_basis_points is not null)`;

function payoffOfferOf(offer: OfferOfPlan, currency: Currency): PayoffOffer {
  const { discountBasisPoints: basisPoints, until, minDues, roundingMinor } = offer;
  return {
    ...{ basisPoints, until, minDues },
    roundingMinor: roundingMinor === null ? readAmount(1, currency) : BigInt(roundingMinor),
  };
}

/** The payments and credit moves of money events. Their rows can be written before or after the events are posted. */
interface OwnMoney {
  paymentIds: readonly number[];
  creditMoveIds: readonly number[];
}

interface FoundFacts extends Omit<PayoffFacts, 'offer' | 'money'> {
  id: number;
  money: Record<PlainDate, string> | null;
}

/** Reads what decides about the early payoffs of accounts that the transaction has locked. */
export async function findPayoffFacts(
  tx: Tx,
  accounts: readonly LockedAccount[],
  currency: Currency,
  own: OwnMoney = { paymentIds: [], creditMoveIds: [] },
): Promise<Map<number, PayoffFacts>> {
  if (accounts.length === 0) return new Map();
  const rows = await readFacts(
    tx,
    accounts.map(({ id }) => id),
    own,
  );
  const offers = new Map(accounts.map(({ id, early_payoff: offer }) => [id, offer]));
  return new Map(
    rows.map(({ id, money, ...facts }) => {
      const offer = offers.get(id);
      return [
        id,
        { ...facts, offer: offer ? payoffOfferOf(offer, currency) : undefined, money: toMoney(money) },
      ];
    }),
  );
}

function toMoney(money: FoundFacts['money']): PayoffFacts['money'] {
  return new Map(
    Object.entries(money ?? {}).map(([date, minor]) => [date as PlainDate, BigInt(minor)] as const),
  );
}

/** The money of an account `a` on each date, as an object with texts. */
const MONEY_BY_DATE = (own: OwnMoney) => sql`(
  select json_object_agg(day, amount) from (
    select day, sum(amount)::text as amount from (
      select payment_date as day, amount_minor as amount from payments
      where account_id = a.id and status <> 'reversed' and id <> all(${[...own.paymentIds]}::bigint[])
      union all
      select value_date, -amount_minor from credit_moves
      where account_id = a.id and id <> all(${[...own.creditMoveIds]}::bigint[])
      union all
      select value_date, amount_minor from credit_moves
      where to_account_id = a.id and id <> all(${[...own.creditMoveIds]}::bigint[])
    ) moves group by day) days)`;

const LATEST_CHANGE = sql`
  select max(c.effective_on) from plan_changes c where c.account_id = a.id and ${CHANGE_COUNTS}`;

/** The original terms before a change. */
const ORIGINAL_BEFORE = (change: string) => sql`(
  select row_to_json(o) from original_terms o
  where o.account_id = ${sql.ref(`${change}.account_id`)} and o.version = ${sql.ref(`${change}.version`)} - 1)`;

/** The ids are enough for a payoff, and before it for `payoffUndone`: the undo, and an undo and a repetition of each later change. */
async function readFacts(tx: Tx, ids: readonly number[], own: OwnMoney): Promise<FoundFacts[]> {
  const { rows } = await sql<FoundFacts>`
    select a.id, array(
        select nextval(pg_get_serial_sequence('plan_changes', 'id'))
        from generate_series(1, 1 + coalesce(1 + 2 * json_array_length(payoff.since), 0))) as "changeIds", ${MONEY_BY_DATE(own)} as money,
      (${LATEST_CHANGE} and c.id is distinct from payoff.id) as "latestChange",
      (select row_to_json(o) from original_terms o where o.account_id = a.id order by o.version desc limit 1) as original,
      case when payoff.id is not null then json_build_object('id', payoff.id, 'effectiveOn', payoff.effective_on,
        'before', payoff.before, 'originalBefore', ${ORIGINAL_BEFORE('payoff')}, 'since', payoff.since) end as "inEffect"
    from unnest(${[...ids]}::bigint[]) as a (id)
      left join lateral (
        select c.*, coalesce((
            select json_agg(to_jsonb(d) || jsonb_build_object('originalBefore', ${ORIGINAL_BEFORE('d')}) order by d.id)
            from plan_changes d where d.account_id = c.account_id and d.id > c.id), '[]') as since
        from plan_changes c where c.account_id = a.id and c.kind = 'payoff' and ${CHANGE_COUNTS}) payoff on true`.execute(
    tx,
  );
  return rows;
}

/** Reads what decides about the offer to an account. Undefined if its pay plan offers no early payoff. */
export async function findOfferFacts(
  db: Db | Tx,
  accountId: number,
  currency: Currency,
): Promise<OfferFacts | undefined> {
  const { rows } = await sql<Pick<FoundFacts, 'money' | 'latestChange'> & { offer: OfferOfPlan }>`
    select ${sql.raw(OFFER_OF_PLAN)} as offer, ${MONEY_BY_DATE({ paymentIds: [], creditMoveIds: [] })} as money,
      (${LATEST_CHANGE}) as "latestChange"
    from accounts a
    where a.id = ${accountId}
      and exists (select from pay_plans p where p.id = a.payplan_id and p.payoff_basis_points is not null)`.execute(
    db,
  );
  const [row] = rows;
  return row && { ...row, offer: payoffOfferOf(row.offer, currency), money: toMoney(row.money) };
}

const CHANGE_COLUMNS = [
  'id',
  'account_id',
  'version',
  'kind',
  'effective_on',
  'reason_code',
  'reason',
  'body',
  'before',
  'after',
  'price_change_minor',
  'arrears_moved_minor',
  'ahead_moved_minor',
  'undoes',
  'actor_user_id',
  'api_key_id',
  'approval_id',
];

const ORIGINAL_COLUMNS = [
  'account_id',
  'version',
  'effective_on',
  'corrected_minor',
  'total_minor',
  'run_from',
  'run_anchor',
  'run_unit',
  'run_every',
  'run_place',
  'run_count',
  'run_amount_minor',
  'run_before_minor',
];

/** A trigger computes the total. */
const SET_COLUMNS = [...RECORDED_COLUMNS.filter((column) => column !== 'total_minor'), 'plan_version'];

const WRITE_MOVES = `
  with originals as (${insertRows('original_terms', ORIGINAL_COLUMNS, '$1')}),
    changes as (${insertRows('plan_changes', CHANGE_COLUMNS, '$2')})
  update accounts a set ${SET_COLUMNS.map((column) => `${column} = c.${column}`).join(', ')}
  from json_populate_recordset(null::accounts, $3::json) c where a.id = c.id and a.id = any($4::bigint[])`;

/**
 * The statements that change the plans of accounts, before the statement of the ledger: a trigger of that one reads the original terms.
 */
export function planStatements(moves: readonly PlanMove[]) {
  if (moves.length === 0) return [];
  // An account can be changed twice.
  const accounts = new Map(moves.map(({ account }) => [account.id, account]));
  const values = [
    rowsAsJson(moves.map(({ original }) => original)),
    rowsAsJson(moves.map(({ change }) => ({ ...change, arrears_moved_minor: 0, ahead_moved_minor: 0 }))),
    rowsAsJson([...accounts.values()]),
    [...accounts.keys()],
  ];
  return [{ text: WRITE_MOVES, values }];
}
