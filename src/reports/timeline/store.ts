import type { DescribedPlanChange } from '../../accounts/plan-changes/store.ts';
import type { Db } from '../../core/database/db.ts';
import { run } from '../../core/database/statements.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { KIND_NAMES, type TimelineKind } from './rules.ts';

/** A row of the timeline. `data` has the fields of `EntryData`, without those that are null. */
export interface TimelineRow {
  kind: TimelineKind;
  id: number;
  recorded_at: string;
  value_date: PlainDate | null;
  actor: string;
  account_id: number | null;
  resource_id: number;
  data: EntryData;
}

export interface EntryData {
  amountMinor?: number;
  status?: string;
  previousStatus?: string;
  reason?: string;
  cause?: string;
  method?: string;
  reference?: string;
  action?: string;
  dueDate?: PlainDate;
  isMistake?: true;
  otherAccountId?: number;
  text?: string;
  pinned?: boolean;
  correctionCount?: number;
  isHidden?: boolean;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
  planChange?: Partial<DescribedPlanChange> & Pick<DescribedPlanChange, RequiredOfPlanChange>;
}

/** The columns that are never null. */
type RequiredOfPlanChange = Exclude<keyof DescribedPlanChange, 'payplan_name' | 'undone_kind' | 'undone_on'>;

interface Branch {
  /** The table of the entries and its condition. The condition uses an index on `customer_id` or `account_id`. */
  from: string;
  where: string;
  /** The time of recording and the id. */
  time: string;
  id: string;
  /** The columns of `TimelineRow`, computed only for the rows of a page: `r` is a row of the table. */
  valueDate?: string;
  user?: string;
  key?: string;
  /** Who did it, if neither a user nor an API key did. */
  otherwise?: string;
  account?: string;
  resourceId: string;
  data: string;
}

const CUSTOMER = '(select customer_id from scope)';
const ACCOUNTS = 'any((select accounts from scope)::bigint[])';

/** The user of an audit entry about another resource, because the row itself does not have it. */
const audited = (column: string, resource: string, action: string) => `(
  select e.${column} from audit_entries e
  where e.resource = '${resource}' and e.resource_id = r.id and e.action = '${action}' order by e.id desc limit 1)`;

const CHANGE = {
  time: 'created_at',
  id: 'id',
  user: 'r.actor_user_id',
  key: 'r.api_key_id',
  otherwise: 'r.actor',
  resourceId: 'r.resource_id',
  data: `'before', r.before, 'after', r.after`,
};
const METHOD = `'method', (select m.name from payment_methods m where m.id = r.payment_method_id)`;
const APPROVAL = `'action', r.action, 'amountMinor', r.amount_minor`;

const BRANCHES: Record<TimelineKind, Branch> = {
  payment: {
    from: 'payments',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    valueDate: 'r.payment_date',
    user: 'r.created_by',
    key: 'r.api_key_id',
    otherwise: `coalesce('provider ' || r.provider, 'system')`,
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'amountMinor', r.amount_minor, 'status', r.status, 'reference', r.transaction_ref, ${METHOD}`,
  },
  reversal: {
    from: 'payments',
    where: `account_id = ${ACCOUNTS} and reversed_at is not null`,
    time: 'reversed_at',
    id: 'id',
    valueDate: `(select l.value_date from ledger_entries l where l.payment_id = r.id and l.event = 'payment_reversed' limit 1)`,
    user: audited('actor_user_id', 'payment', 'payment.reverse'),
    key: audited('api_key_id', 'payment', 'payment.reverse'),
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'amountMinor', r.amount_minor, 'reason', r.reversal_reason, 'reference', r.transaction_ref, ${METHOD}`,
  },
  payment_request: {
    from: 'payment_requests',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    user: 'r.created_by',
    key: 'r.api_key_id',
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'amountMinor', r.amount_minor, 'status', r.status, 'reason', r.reason`,
  },
  credit_move: {
    from: 'credit_moves',
    where: `(account_id = ${ACCOUNTS} or to_account_id = ${ACCOUNTS})`,
    time: 'created_at',
    id: 'id',
    valueDate: 'r.value_date',
    user: 'r.created_by',
    account: 'r.account_id',
    resourceId: 'r.account_id',
    data: `'amountMinor', r.amount_minor, 'reason', r.reason, 'reference', r.transaction_ref, 'otherAccountId', r.to_account_id, ${METHOD}`,
  },
  status: {
    from: 'account_status_changes',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    valueDate: 'r.changed_on',
    user: 'r.actor_user_id',
    key: 'r.api_key_id',
    account: 'r.account_id',
    resourceId: 'r.account_id',
    data: `'previousStatus', r.from_status, 'status', r.to_status, 'reason', r.reason, 'cause', r.cause`,
  },
  plan_change: {
    from: 'plan_changes',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    valueDate: 'r.effective_on',
    user: 'r.actor_user_id',
    key: 'r.api_key_id',
    account: 'r.account_id',
    resourceId: 'r.account_id',
    data: `'status', r.kind, 'reason', r.reason, 'amountMinor', nullif(r.price_change_minor, 0), 'planChange', jsonb_build_object(
      'kind', r.kind, 'price_change_minor', r.price_change_minor, 'arrears_moved_minor', r.arrears_moved_minor,
      'body', r.body, 'before', r.before, 'after', r.after,
      'payplan_name', (select name from pay_plans where id = (r.body->>'payplanId')::bigint),
      'undone_kind', (select kind from plan_changes where id = r.undoes),
      'undone_on', (select effective_on from plan_changes where id = r.undoes))`,
  },
  approval_request: {
    from: 'approvals',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    user: 'r.requested_by',
    key: 'r.api_key_id',
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `${APPROVAL}, 'status', r.status, 'reason', r.reason`,
  },
  approval_end: {
    from: 'approvals',
    where: `account_id = ${ACCOUNTS} and ended_at is not null`,
    time: 'ended_at',
    id: 'id',
    user: `case when r.status = 'withdrawn' then r.requested_by else r.decided_by end`,
    key: `case when r.status = 'withdrawn' then r.api_key_id end`,
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `${APPROVAL}, 'status', r.status, 'reason', r.decision_reason`,
  },
  invoice: {
    from: 'invoices',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    valueDate: 'r.issued_on',
    user: audited('actor_user_id', 'invoice', 'invoice.issue'),
    key: audited('api_key_id', 'invoice', 'invoice.issue'),
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'amountMinor', r.total_minor, 'reference', r.number, 'status', r.status`,
  },
  invoice_void: {
    from: 'invoices',
    where: `account_id = ${ACCOUNTS} and voided_at is not null`,
    time: 'voided_at',
    id: 'id',
    user: audited('actor_user_id', 'invoice', 'invoice.void'),
    key: audited('api_key_id', 'invoice', 'invoice.void'),
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'amountMinor', r.total_minor, 'reference', r.number, 'reason', r.void_reason`,
  },
  call: {
    from: 'calls',
    where: `account_id = ${ACCOUNTS}`,
    time: 'created_at',
    id: 'id',
    user: 'r.created_by',
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'method', r.kind, 'status', r.result,
      'reason', case when not exists (select from hidden_call_notes h where h.call_id = r.id) then r.note end,
      'isHidden', (select true from hidden_call_notes h where h.call_id = r.id),
      'amountMinor', (select p.amount_minor from promises p where p.call_id = r.id),
      'dueDate', (select p.due_on from promises p where p.call_id = r.id),
      'isMistake', (select true from call_mistakes m where m.call_id = r.id)`,
  },
  note: {
    from: 'notes',
    where: `customer_id = ${CUSTOMER} and (account_id is null or account_id = ${ACCOUNTS})`,
    time: 'created_at',
    id: 'id',
    user: 'r.created_by',
    key: 'r.api_key_id',
    account: 'r.account_id',
    resourceId: 'r.id',
    data: `'text', r.text, 'pinned', r.pinned, 'correctionCount', r.correction_count, 'isHidden', r.hidden_at is not null,
      'reason', r.hidden_reason`,
  },
  identity_check: {
    from: 'kyc_records',
    where: `customer_id = ${CUSTOMER}`,
    time: 'created_at',
    id: 'id',
    user: 'r.created_by',
    resourceId: 'r.customer_id',
    data: `'method', r.verification_type, 'status', r.verification_status`,
  },
  customer_change: {
    ...CHANGE,
    from: 'audit_entries',
    where: `resource = 'customer' and resource_id = ${CUSTOMER} and action = 'customer.change'`,
  },
  account_change: {
    ...CHANGE,
    from: 'audit_entries',
    where: `resource = 'account' and resource_id = ${ACCOUNTS} and action = 'account.change'`,
    account: 'r.resource_id',
  },
};

/**
 * $1: the customer. $2: the accounts, or null for all accounts of the customer. $3: the kinds. $4: the number of rows. $5, $6 and $7: the
 * time, the kind and the id of the entry before the page, or null for the first page.
 *
 * Each branch finds the rows of the scope by an index, and returns at most a page of them. Everything else is read only for these rows. The
 * text is constant, and a branch that is not wanted is not executed, so one prepared statement serves all filters.
 */
const STATEMENT = `
  with scope as materialized (
    select $1::bigint as customer_id, coalesce($2::bigint[], array(select id from accounts where customer_id = $1)) as accounts)
  select t.kind, t.id, t.recorded_at, t.value_date, coalesce(u.email, 'api key ' || k.name, t.otherwise) as actor, t.account_id,
    t.resource_id, t.data
  from (select * from (${KIND_NAMES.map(branchOf).join(' union all ')}) as b
    order by recorded_at desc, kind collate "C" desc, id desc limit $4) as t
    left join users u on u.id = t.user_id left join api_keys k on k.id = t.key_id
  order by t.recorded_at desc, t.kind collate "C" desc, t.id desc`;

function branchOf(kind: TimelineKind): string {
  const { from, where, time, id, valueDate, user, key, otherwise, account, resourceId, data } =
    BRANCHES[kind];
  return `(
    select '${kind}'::text as kind, r.${id} as id, r.${time} as recorded_at, ${valueDate ?? 'null'}::date as value_date,
      ${user ?? 'null'}::bigint as user_id, ${key ?? 'null'}::bigint as key_id, ${otherwise ?? `'system'`} as otherwise,
      ${account ?? 'null'}::bigint as account_id, ${resourceId} as resource_id,
      jsonb_strip_nulls(jsonb_build_object(${data})) as data
    from (
      select * from ${from}
      where '${kind}' = any($3::text[]) and ${where}
        and ($5::timestamptz is null or (${time}, '${kind}' collate "C", ${id}) < ($5::timestamptz, $6::text collate "C", $7::bigint))
      order by ${time} desc, ${id} desc limit $4
    ) as r)`;
}

export interface TimelineScope {
  customerId: number;
  /** Null: all accounts of the customer. */
  accountIds: readonly number[] | null;
}

export interface TimelinePlace {
  recordedAt: string;
  kind: string;
  id: number;
}

/** The entries after a place, newest first. */
export function findEntries(
  db: Db,
  { customerId, accountIds }: TimelineScope,
  { kinds, limit, after }: { kinds: readonly TimelineKind[]; limit: number; after: TimelinePlace | null },
): Promise<TimelineRow[]> {
  return run<TimelineRow>(db, STATEMENT, [
    customerId,
    accountIds,
    kinds,
    limit,
    after?.recordedAt ?? null,
    after?.kind ?? null,
    after?.id ?? null,
  ]);
}
