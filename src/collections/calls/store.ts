import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { CallKind, CallResult } from '../../core/database/tables.ts';
import { fetchPage } from '../../core/lists/page.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { ATTEMPTS, CONTACTS } from './rules.ts';

export interface CallRow {
  id: number;
  account_id: number;
  kind: CallKind;
  result: CallResult;
  phone: string | null;
  /** Null also if it is hidden. */
  note: string | null;
  note_hidden_at: string | null;
  note_hidden_by: string | null;
  note_hidden_reason: string | null;
  next_call_on: PlainDate | null;
  promise_id: number | null;
  is_mistake: boolean;
  dispute_closed_at: string | null;
  dispute_closed_reason: string | null;
  called_on: PlainDate;
  created_by: number;
  officer: string;
  created_at: string;
}

const CALLS = sql`
  from calls c
  join users u on u.id = c.created_by
  left join call_mistakes x on x.call_id = c.id
  left join closed_disputes d on d.call_id = c.id
  left join hidden_call_notes h on h.call_id = c.id
  left join promises p on p.call_id = c.id`;
const SELECT_CALLS = sql<CallRow>`
  select c.id, c.account_id, c.kind, c.result, c.phone, case when h.call_id is null then c.note end as note,
    h.created_at as note_hidden_at, h.reason as note_hidden_reason,
    (select m.first_name || ' ' || m.last_name from users m where m.id = h.created_by) as note_hidden_by, c.next_call_on, p.id as promise_id,
    x.call_id is not null as is_mistake, d.created_at as dispute_closed_at, d.reason as dispute_closed_reason,
    c.called_on, c.created_by, u.first_name || ' ' || u.last_name as officer, c.created_at
  ${CALLS}`;

export function listCalls(db: Db, plan: ListPlan) {
  return fetchPage<CallRow>(db, plan, { select: SELECT_CALLS, from: sql`from calls c` });
}

export async function findCall(db: Db, id: number): Promise<CallRow | undefined> {
  const { rows } = await sql<CallRow>`${SELECT_CALLS} where c.id = ${id}`.execute(db);
  return rows[0];
}

/** The latest calls about accounts, the newest first. */
export async function findLatestCalls(
  db: Db,
  accountIds: readonly number[],
  limit: number,
): Promise<CallRow[]> {
  const { rows } = await sql<CallRow>`
    ${SELECT_CALLS} where c.account_id = any(${accountIds}::bigint[]) order by c.id desc limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** The customer of an account, with the phones. */
export async function findCalledCustomer(db: Db, accountId: number) {
  const { rows } = await sql<CalledCustomer>`
    select c.id, c.first_name || ' ' || c.last_name as name, c.phone, c.second_phone as "secondPhone"
    from accounts a join customers c on c.id = a.customer_id where a.id = ${accountId}`.execute(db);
  return rows[0];
}

export interface CalledCustomer {
  id: number;
  name: string;
  phone: string;
  secondPhone: string | null;
}

export function phonesOf({ phone, secondPhone }: CalledCustomer): string[] {
  return [...new Set(secondPhone === null ? [phone] : [phone, secondPhone])].sort();
}

const accountsOfPhones = (phones: readonly string[]) => sql`
  select a.id from accounts a join customers c on c.id = a.customer_id
  where c.phone = any(${phones}::text[]) or c.second_phone = any(${phones}::text[])`;

/**
 * Locks the state of an account, and of all accounts of the phones, in the order of their ids. What follows in the transaction then
 * sees all earlier calls.
 */
export async function lockStates(tx: Tx, accountId: number, phones: readonly string[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into call_states as s (account_id)
    select id from (select ${accountId}::bigint as id union ${accountsOfPhones(phones)}) as accounts order by id
    on conflict (account_id) do update set account_id = excluded.account_id
    returning account_id as id`.execute(tx);
  return rows.map(({ id }) => id);
}

export interface NewCallRow {
  accountId: number;
  kind: CallKind;
  result: CallResult;
  phone: string | null;
  note: string | null;
  nextCallOn: PlainDate | null;
  calledOn: PlainDate;
  createdBy: number;
}

export async function insertCall(tx: Tx, call: NewCallRow): Promise<number> {
  const { id } = await tx
    .insertInto('calls')
    .values({
      account_id: call.accountId,
      kind: call.kind,
      result: call.result,
      phone: call.phone,
      note: call.note,
      next_call_on: call.nextCallOn,
      called_on: call.calledOn,
      created_by: call.createdBy,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

const results = (list: readonly CallResult[]) => literalList(list);

/** The calls that count: those that were not saved by mistake. */
const countedCalls = (condition: RawBuilder<unknown>) => sql`
  from calls c left join call_mistakes x on x.call_id = c.id where x.call_id is null and ${condition}`;

/** Derives the states of accounts from their calls. The caller has locked the states with `lockStates`. */
export async function refreshStates(tx: Tx, accountIds: readonly number[]): Promise<void> {
  await sql`
    update call_states s set
      last_called_at = (select max(c.created_at) ${countedCalls(sql`c.account_id = s.account_id`)}),
      hidden_until = (
        select coalesce(c.next_call_on, (select p.due_on + 1 from promises p where p.call_id = c.id))
        ${countedCalls(sql`c.account_id = s.account_id and c.result in ${results(CONTACTS)}`)}
        order by c.id desc limit 1
      ),
      has_dispute = exists (
        select ${countedCalls(sql`c.account_id = s.account_id and c.result = 'dispute'
          and not exists (select from closed_disputes d where d.call_id = c.id)`)}
      ),
      wrong_phones = (
        select array_agg(called.phone)
        from accounts a join customers k on k.id = a.customer_id,
          unnest(array[k.phone, k.second_phone]) as called (phone)
        where a.id = s.account_id and (
          select c.result ${countedCalls(sql`c.phone = called.phone and c.result <> 'no_answer'`)} order by c.id desc limit 1
        ) = 'wrong_number'
      )
    where s.account_id = any(${accountIds}::bigint[])`.execute(tx);
}

/** How often a phone was tried on a day, without success. */
export async function countAttempts(db: Db, phone: string, day: PlainDate): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count
    ${countedCalls(sql`c.phone = ${phone} and c.called_on = ${day}::date and c.result in ${results(ATTEMPTS)}`)}`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

export async function insertMistake(tx: Tx, callId: number): Promise<void> {
  await tx.insertInto('call_mistakes').values({ call_id: callId }).execute();
}

/** @returns false if the note is hidden already. */
export async function insertHiddenNote(
  tx: Tx,
  { callId, reason, createdBy }: { callId: number; reason: string; createdBy: number },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('hidden_call_notes')
    .values({ call_id: callId, reason, created_by: createdBy })
    .onConflict((conflict) => conflict.doNothing())
    .returning('call_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function insertClosedDispute(
  tx: Tx,
  { callId, reason, createdBy }: { callId: number; reason: string; createdBy: number },
): Promise<void> {
  await tx.insertInto('closed_disputes').values({ call_id: callId, reason, created_by: createdBy }).execute();
}
