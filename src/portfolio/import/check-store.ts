import { type RawBuilder, sql } from 'kysely';
import { firstDueOf } from '../../accounts/schedule/store.ts';
import { ACCOUNT_STATUSES, needsReason } from '../../accounts/status/rules.ts';
import { LONGEST_PERIOD_BESIDE_MONTHS } from '../../catalogue/pay-plans/rules.ts';
import type { Tx } from '../../core/database/db.ts';
import { literalList } from '../../core/database/literal-list.ts';
import { LARGEST_EXACT_MINOR } from '../../core/values/money.ts';
import { type Column, FILE_NAMES, type FileName, FORMAT } from '../format-rules.ts';
import { allowedReference } from './cell-rules.ts';
import { stagingTable } from './staging-rules.ts';

// SQL checks of imported rows. They compare a cell with other cells of its row, with other rows, with the database or with today.

export interface ImportCheck {
  /** Default: error. */
  severity?: 'warning';
  file: FileName;
  column: string;
  /** The file to whose rows the column refers. If the file is unreadable, the check does not run. */
  refersTo?: FileName;
  /** The other column that the check compares. If one of the two cells is unreadable, the check adds no problem. */
  pairedWith?: string;
  /** Selects `line`, `value` and `detail`. `detail` is the argument of `problem`. */
  select: RawBuilder<unknown>;
  problem(detail: string): string;
  allowed: string;
}

export interface CheckSettings {
  /** The current business day. */
  today: string;
  timeZone: string;
  /** The number of decimals of the currency. */
  decimals: number;
}

const MAX_LISTED = 10_000;

/** The first rows that break a check, in the order of the file, and the number of all such rows. */
export async function findBroken(
  tx: Tx,
  { select }: ImportCheck,
): Promise<{ total: number; rows: { line: number | null; value: string | null; detail: string | null }[] }> {
  const { rows } = await sql<{
    line: number | null;
    value: string | null;
    detail: string | null;
    total: number;
  }>`select *, count(*) over () as total from (${select}) broken order by line limit ${MAX_LISTED}`.execute(
    tx,
  );
  return { total: rows[0]?.total ?? 0, rows };
}

/** The database columns with the keys of each file. Accounts are missing: an import cannot refer to accounts of the database. */
const KEY_COLUMNS: Readonly<Partial<Record<FileName, string>>> = {
  payment_methods: 'payment_methods.code',
  employees: 'employees.external_id',
  products: 'products.sku',
  pay_plans: 'pay_plans.name',
  customers: 'customers.external_id',
};

/** Columns whose values must not be in the database yet. `staged` is the staging column to compare with `key`. Default: `column`. */
const TAKEN: readonly { file: FileName; column: string; staged?: string; table: string; key: string }[] = [
  { file: 'employees', column: 'external_id', table: 'employees', key: 'external_id' },
  { file: 'products', column: 'sku', table: 'products', key: 'sku' },
  { file: 'products', column: 'external_id', table: 'products', key: 'external_id' },
  { file: 'pay_plans', column: 'name', table: 'pay_plans', key: 'name' },
  { file: 'customers', column: 'external_id', table: 'customers', key: 'external_id' },
  { file: 'customers', column: 'email', staged: 'email_key', table: 'customers', key: 'email_key' },
  {
    file: 'customers',
    column: 'national_id',
    staged: 'national_id_key',
    table: 'customers',
    key: 'national_id_key',
  },
  { file: 'accounts', column: 'external_id', table: 'accounts', key: 'external_id' },
  { file: 'accounts', column: 'account_number', table: 'accounts', key: 'id' },
  { file: 'payments', column: 'external_id', table: 'payments', key: 'external_id' },
];

/** The staging columns that are compared to find repeated values of a unique column. Default: the column itself. */
const COMPARED: Readonly<Record<string, string>> = {
  'employees.external_id': 'without_quotes(external_id)',
  'products.external_id': 'without_quotes(external_id)',
  'customers.external_id': 'without_quotes(external_id)',
  'accounts.external_id': 'without_quotes(external_id)',
  'payments.external_id': 'without_quotes(external_id)',
  'customers.email': 'email_key',
  'customers.national_id': 'national_id_key',
  'payments.provider_transaction_id': 'provider, transaction_key',
};

export function importChecks(settings: CheckSettings): ImportCheck[] {
  return [
    ...FILE_NAMES.flatMap((file) =>
      FORMAT[file].columns.flatMap((column: Column) => [
        ...(column.unique ? [repeated(file, column.name)] : []),
        ...(column.kind === 'reference' ? [unknownReference(file, column.name, column.file)] : []),
      ]),
    ),
    ...TAKEN.map(taken),
    ...planChecks(settings),
    ...accountChecks(settings),
    ...changeChecks(settings),
    ...paymentChecks(settings),
    ...moveChecks(settings),
  ];
}

function shownValue(file: FileName, column: string): RawBuilder<unknown> {
  const kind = FORMAT[file].columns.find(({ name }) => name === column)?.kind;
  return kind === 'account_number' ? sql`account_number(${sql.ref(column)})` : sql`${sql.ref(column)}::text`;
}

function repeated(file: FileName, column: string): ImportCheck {
  const compared = sql.raw(COMPARED[`${file}.${column}`] ?? column);
  return {
    ...{ file, column },
    select: selectRepeats({
      ...{ file, compared, value: shownValue(file, column) },
      where: sql`${sql.ref(column)} is not null`,
    }),
    problem: (line) => `is also on line ${line}`,
    allowed: 'each value once',
  };
}

/** Selects rows that repeat the values of an earlier row. Groups the rows first, so that only repeated values are sorted. */
function selectRepeats({
  file,
  compared,
  value,
  where,
}: Record<'compared' | 'value' | 'where', RawBuilder<unknown>> & { file: FileName }): RawBuilder<unknown> {
  const table = sql.table(stagingTable(file));
  return sql`
    select line, value, first_line::text as detail from (
      select line, ${value} as value, first_value(line) over same as first_line, row_number() over same as repeat
      from ${table}
      where ${where} and (${compared}) in (
        select ${compared} from ${table} where ${where} group by ${compared} having count(*) > 1)
      window same as (partition by ${compared} order by position)) numbered
    where repeat > 1`;
}

/** Files that usually have few rows, so that a message can list their keys. */
const SHORT_FILES: ReadonlySet<FileName> = new Set(['payment_methods', 'products', 'pay_plans']);
const MAX_KEYS_SHOWN = 10;

function knownKeys(keys: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select string_agg('"' || key || '"', ', ' order by key) filter (where at <= ${sql.lit(MAX_KEYS_SHOWN)})
      || case when count(*) > ${sql.lit(MAX_KEYS_SHOWN)} then ' and others' else '' end
    from (select key, row_number() over (order by key) as at from (${keys}) k where key is not null) numbered)`;
}

function unknownReference(file: FileName, column: string, target: FileName): ImportCheck {
  const key = FORMAT[target].key ?? '';
  const [table, keyColumn] = KEY_COLUMNS[target]?.split('.') ?? [];
  const inDatabase = table
    ? sql`and not exists (
        select from ${sql.table(table)} t where t.${sql.ref(keyColumn ?? '')} = n.${sql.ref(column)})`
    : sql``;
  const known =
    table && SHORT_FILES.has(target)
      ? knownKeys(sql`
          select ${sql.ref(key)} as key from ${sql.table(stagingTable(target))}
          union select ${sql.ref(keyColumn ?? '')} from ${sql.table(table)}`)
      : sql`null::text`;
  return {
    ...{ file, column, refersTo: target },
    select: sql`
      select line, ${sql.ref(column)} as value, ${known} as detail from ${sql.table(stagingTable(file))} n
      where ${sql.ref(column)} is not null and not exists (
        select from ${sql.table(stagingTable(target))} t where t.${sql.ref(key)} = n.${sql.ref(column)})
      ${inDatabase}`,
    problem: (names) => {
      const places = `the column ${key} of ${target}.csv${table ? ' or in the database' : ''}`;
      return `is not in ${places}${names === '' ? '' : `; the known values are ${names}`}`;
    },
    allowed: allowedReference(target),
  };
}

function taken({ file, column, staged = column, table, key }: (typeof TAKEN)[number]): ImportCheck {
  const isSame =
    key === 'external_id'
      ? sql`(t.external_id = without_quotes(n.compared)
          or t.external_id <> without_quotes(t.external_id) and without_quotes(t.external_id) = without_quotes(n.compared))`
      : sql`t.${sql.ref(key)} = n.compared`;
  return {
    ...{ file, column },
    select: sql`
      select n.line, n.value, t.id::text as detail
      from (select line, ${sql.ref(staged)} as compared, ${shownValue(file, column)} as value from ${sql.table(stagingTable(file))}) n
      join ${sql.table(table)} t on ${isSame}`,
    problem: (id) => `is in the database already (id ${id})`,
    allowed: 'a value that the database does not have; leave out rows that are already in the database',
  };
}

function check(
  file: FileName,
  column: string,
  from: RawBuilder<unknown>,
  problem: string | ((detail: string) => string),
  allowed: string,
  { value = sql`n.${sql.ref(column)}::text`, detail = sql`null` } = {},
): ImportCheck {
  return {
    ...{ file, column },
    select: sql`select n.line, ${value} as value, ${detail}::text as detail from ${sql.table(stagingTable(file))} n ${from}`,
    problem: typeof problem === 'string' ? () => problem : problem,
    allowed,
  };
}

/** Checks only rows with a line. Rows without a line are derived from a column of accounts.csv, which has its own check. */
function notInFuture(file: FileName, column: string, day: RawBuilder<unknown>, today: string): ImportCheck {
  return check(
    file,
    column,
    sql`where ${day} > ${today}::date and n.line is not null`,
    'is later than today',
    'today or an earlier day',
  );
}

/** @param openedOn - the day on which the account was opened. */
function notBeforeOpening(
  file: FileName,
  column: string,
  from: RawBuilder<unknown>,
  openedOn: RawBuilder<unknown>,
  allowed = 'the day of the opening or a later day',
): ImportCheck {
  return check(file, column, from, (opened) => `is before the account was opened on ${opened}`, allowed, {
    detail: openedOn,
  });
}

/** Two columns that must both have a value, or both be empty. */
function pair(file: FileName, column: string, other: string): ImportCheck {
  return {
    ...check(
      file,
      column,
      sql`where (n.${sql.ref(column)} is null) <> (n.${sql.ref(other)} is null)`,
      (isEmpty) =>
        isEmpty === 'true' ? `is empty, but ${other} is given` : `is given, but ${other} is empty`,
      'both cells filled, or both empty',
      { detail: sql`(n.${sql.ref(column)} is null)` },
    ),
    pairedWith: other,
  };
}

const NEEDS_REASON = literalList(ACCOUNT_STATUSES.filter(needsReason));
const LARGEST = sql.lit(Number(LARGEST_EXACT_MINOR));

/** SQL that shows minor units in units of the currency. */
function amountText(minor: RawBuilder<unknown>, decimals: number) {
  return sql`(${minor}::numeric / 10 ^ ${sql.lit(decimals)})::numeric(20, ${sql.lit(decimals)})::text`;
}

/** Whether an account n has equal instalments that are not those of its pay plan p with a price, another rhythm or months without any. */
const IS_EQUAL_BESIDE_PLAN = sql`(n.schedule is null and n.follows_plan is false
  and (p.every <> 1 or p.months_without_dues <> '{}' or n.deposit + n.instalment::numeric * n.instalment_count <> p.price))`;

/** Whether the instalments of an account n can be compared with those of its pay plan p. */
const HAS_COMPARABLE_INSTALMENTS = sql`n.schedule is null and p.price is null`;

/** The terms in which an account n differs from its pay plan p. */
function otherTerms(decimals: number): RawBuilder<unknown> {
  const amounts = ['deposit', 'instalment'];
  const ofInstalments = ['instalment', 'instalment_count', 'frequency'];
  const texts = ['deposit', ...ofInstalments, 'grace_days'].map((term) => {
    const [account, plan] = ['n', 'p'].map((row) => {
      const value = sql.ref(`${row}.${term}`);
      return amounts.includes(term) ? amountText(value, decimals) : sql`${value}::text`;
    });
    const isCompared = ofInstalments.includes(term) ? HAS_COMPARABLE_INSTALMENTS : sql`true`;
    return sql`case when ${isCompared} and ${sql.ref(`n.${term}`)} is distinct from ${sql.ref(`p.${term}`)}
      then ${sql.lit(term)} || ' is ' || ${plan} || ', and ' || ${account} || ' for the account' end`;
  });
  const shape = sql`case when ${IS_EQUAL_BESIDE_PLAN}
    then 'the instalments of the plan have a price, another rhythm or months without any, and those of the account are equal' end`;
  return sql`concat_ws('; ', ${sql.join([...texts, shape])})`;
}

function planChecks({ decimals }: CheckSettings): ImportCheck[] {
  const rest = sql`(n.price - n.deposit)`;
  return [
    pair('pay_plans', 'rounding_unit', 'price'),
    check(
      'pay_plans',
      'price',
      sql`where ${rest} <= 0`,
      'is not above the deposit',
      'the whole price, including the deposit',
      { value: amountText(sql`n.price`, decimals) },
    ),
    check(
      'pay_plans',
      'instalment_count',
      sql`where ${rest} > n.instalment::numeric * n.instalment_count`,
      'is too low: the instalments do not pay the price',
      'the number of instalments that pay the price, or a higher number',
    ),
    pair('pay_plans', 'harvest_cycles', 'harvest'),
    pair('pay_plans', 'lead_days', 'harvest'),
    pair('pay_plans', 'payoff_min_dues', 'payoff_basis_points'),
    check(
      'pay_plans',
      'payoff_until',
      sql`where n.payoff_until is not null and n.payoff_basis_points is null`,
      'is given, but payoff_basis_points is empty',
      'an empty cell, or a discount in payoff_basis_points',
    ),
    check(
      'pay_plans',
      'harvest',
      sql`where n.harvest is not null and (n.price is null or n.frequency is distinct from 'monthly' or n.every is distinct from 12
        or n.months_without_dues is not null
        or n.instalment_count is distinct from n.harvest_cycles * jsonb_array_length(n.harvest -> 'months'))`,
      'needs a price, the frequency monthly, every 12, no months_without_dues, and an instalment_count of the days times harvest_cycles',
      'these values, or an empty cell',
      { value: sql`null` },
    ),
    check(
      'pay_plans',
      'harvest',
      sql`where (select min(share::bigint) from jsonb_array_elements_text(n.harvest -> 'shares') s (share)) * ${rest}
        < 10000 * n.harvest_cycles * n.rounding_unit`,
      'has a share whose instalment is below rounding_unit',
      'larger shares, fewer harvest_cycles or a smaller rounding_unit',
      { value: sql`null` },
    ),
    check(
      'pay_plans',
      'months_without_dues',
      sql`where n.months_without_dues is not null and case n.frequency
        when 'monthly' then exists (
          select from generate_series(1, 12) start where not exists (
            select from generate_series(0, 11) k
            where (start - 1 + k * coalesce(n.every, 1)) % 12 + 1 <> all (n.months_without_dues)))
        else coalesce(n.every, 1) * case n.frequency when 'weekly' then 7 else 1 end > ${LONGEST_PERIOD_BESIDE_MONTHS} end`,
      'leaves no month for the instalments of an account that begins in some month',
      'months that leave one for the instalments of each account',
      { value: sql`array_to_string(n.months_without_dues, ' ')` },
    ),
    check(
      'pay_plans',
      'instalment_count',
      sql`cross join lateral (
          select coalesce(cardinality(n.months_without_dues), 0) as months,
            n.instalment_count / 365.0 * coalesce(n.every, 1)
              * case n.frequency when 'daily' then 1 when 'weekly' then 7 else 31 end as years
        ) s where years * 12 / (12 - months) > 1000 or years * 12 / (12 - months) * least(months, 12 - months) > 230`,
      'makes the plan too long, or interrupts it too often',
      'a lower number of instalments, fewer months without dues, or a lower every',
    ),
  ];
}

function accountChecks({ today, timeZone, decimals }: CheckSettings): ImportCheck[] {
  const day = sql`${today}::date`;
  const openedOn = sql`(n.opened_at at time zone ${timeZone})::date`;
  const hasChanges = sql`exists (select from new_account_changes c where c.account = n.external_id and c.line is not null)`;
  return [
    notInFuture('accounts', 'opened_at', openedOn, today),
    check(
      'accounts',
      'pay_plan',
      sql`join plans p on p.name = n.pay_plan where p.product <> n.product`,
      (product) => `is only for the product ${product}`,
      'a pay plan for the product of the account',
      { detail: sql`p.product` },
    ),
    {
      severity: 'warning',
      ...check(
        'accounts',
        'pay_plan',
        sql`join plans p on p.name = n.pay_plan
          where n.plan_changed_on is null and (
            (n.deposit, n.grace_days) is distinct from (p.deposit, p.grace_days)
            or ${HAS_COMPARABLE_INSTALMENTS} and (n.instalment, n.instalment_count, n.frequency)
              is distinct from (p.instalment, p.instalment_count, p.frequency)
            or ${IS_EQUAL_BESIDE_PLAN})`,
        (terms) => `has terms that differ from those of the account: ${terms}`,
        'the terms on which the account was sold; to use the terms of the pay plan, leave the term columns empty',
        { detail: otherTerms(decimals) },
      ),
    },
    check(
      'accounts',
      'instalment',
      sql`where n.schedule is null and n.deposit + n.instalment::numeric * n.instalment_count > ${LARGEST}`,
      'gives a total of 10^15 minor units or more',
      'a smaller deposit, instalment or instalment_count',
      { value: amountText(sql`n.instalment`, decimals) },
    ),
    check(
      'accounts',
      'schedule',
      sql`where n.deposit + (select sum((r ->> 'amount')::numeric * (r ->> 'count')::integer)
        from jsonb_array_elements(n.schedule) r) > ${LARGEST}`,
      'gives a total of 10^15 minor units or more',
      'smaller amounts or counts',
    ),
    check(
      'accounts',
      'schedule',
      sql`where (n.instalment, n.instalment_count) <> ((n.schedule -> 0 ->> 'amount')::bigint,
        (select sum((r ->> 'count')::integer) from jsonb_array_elements(n.schedule) r))`,
      'does not have the first amount of the column instalment, and the number of instalments of the column instalment_count',
      'a schedule with this amount and number',
    ),
    check(
      'accounts',
      'schedule',
      sql`where ${firstDueOf('n.schedule')} < n.activation_date`,
      (date) => `begins before the activation date ${date}`,
      'instalments from the activation date on',
      { detail: sql`n.activation_date` },
    ),
    check(
      'accounts',
      'opening_paid',
      sql`where n.opening_paid is not null and exists (
        select from new_payments p where p.account = n.external_id and p.line is not null)`,
      'is given, but payments.csv has payments of the account, and the same money would count twice',
      'opening_paid or payments, not both',
      { value: amountText(sql`n.opening_paid`, decimals) },
    ),
    pair('accounts', 'opening_paid_on', 'opening_paid'),
    notBeforeOpening('accounts', 'opening_paid_on', sql`where n.opening_paid_on < ${openedOn}`, openedOn),
    notInFuture('accounts', 'opening_paid_on', sql`n.opening_paid_on`, today),
    notInFuture('accounts', 'plan_changed_on', sql`n.plan_changed_on`, today),
    notBeforeOpening('accounts', 'plan_changed_on', sql`where n.plan_changed_on < ${openedOn}`, openedOn),
    pair('accounts', 'restructured_on', 'restructured'),
    check(
      'accounts',
      'restructured_on',
      sql`where n.restructured_on is not null and (n.restructured_on <= n.plan_changed_on) is not true`,
      'is after plan_changed_on, or that is empty',
      'a day up to plan_changed_on, the day of the last change',
    ),
    notInFuture('accounts', 'status_since', sql`n.status_since`, today),
    notBeforeOpening('accounts', 'status_since', sql`where n.status_since < ${openedOn}`, openedOn),
    check(
      'accounts',
      'status_since',
      sql`where n.status_since is not null and ${hasChanges}`,
      'is given, but account_changes.csv has the changes of the account',
      'an empty cell, because the last row of account_changes.csv has the date',
    ),
    check(
      'accounts',
      'status_reason',
      sql`where n.status in ${NEEDS_REASON} and n.status_reason is null and not ${hasChanges}`,
      'is empty, but the status needs a reason',
      'a reason of at most 500 characters',
    ),
    check(
      'accounts',
      'source_as_of',
      sql`where n.source_as_of > ${day} or n.source_as_of < ${openedOn}`,
      'is later than today, or before the account was opened',
      'a day between the opening and today',
    ),
  ];
}

function changeChecks({ today, timeZone }: CheckSettings): ImportCheck[] {
  const openedOn = sql`(a.opened_at at time zone ${timeZone})::date`;
  return [
    notInFuture('account_changes', 'changed_on', sql`n.changed_on`, today),
    notBeforeOpening(
      'account_changes',
      'changed_on',
      sql`join new_accounts a on a.external_id = n.account where n.line is not null and n.changed_on < ${openedOn}`,
      openedOn,
    ),
    check(
      'account_changes',
      'reason',
      sql`where n.status in ${NEEDS_REASON} and n.reason is null and n.line is not null`,
      'is empty, but the status needs a reason',
      'a reason of at most 500 characters',
    ),
  ];
}

function paymentChecks({ today, timeZone }: CheckSettings): ImportCheck[] {
  const day = sql`${today}::date`;
  const openedOn = sql`(a.opened_at at time zone ${timeZone})::date`;
  const receivedOn = sql`greatest(n.payment_date, (n.received_at at time zone ${timeZone})::date)`;
  return [
    notInFuture('payments', 'payment_date', sql`n.payment_date`, today),
    notBeforeOpening(
      'payments',
      'payment_date',
      sql`join new_accounts a on a.external_id = n.account where n.line is not null and ${receivedOn} < ${openedOn}`,
      openedOn,
      'the day on which the account was opened, or a later day. If opened_at is wrong, change it',
    ),
    pair('payments', 'provider', 'provider_transaction_id'),
    check(
      'payments',
      'transaction_ref',
      sql`where n.provider is not null and n.transaction_ref is null`,
      'is empty, but the payment has a provider',
      'the reference of the payment',
    ),
    {
      ...check(
        'payments',
        'transaction_ref',
        sql`where n.provider is not null and n.reference_key <> n.transaction_key`,
        (id) => `is not the provider_transaction_id ${id}`,
        'the same value in both columns: a notification of the provider finds the payment by this value',
        { detail: sql`n.provider_transaction_id` },
      ),
      pairedWith: 'provider_transaction_id',
    },
    pair('payments', 'reversal_reason', 'reversed_at'),
    check(
      'payments',
      'reversed_at',
      sql`where n.reversed_at < greatest(n.received_at, n.assigned_at, n.payment_date::timestamp at time zone ${timeZone})
        or (n.reversed_at at time zone ${timeZone})::date > ${day}`,
      'is before the payment was received or assigned, or later than today',
      'a moment between the payment and today',
    ),
    check(
      'payments',
      'assigned_at',
      sql`where n.assigned_at is not null and n.account is null or n.assigned_at < n.received_at
        or (n.assigned_at at time zone ${timeZone})::date > ${day}`,
      'needs an account, and must be between received_at and today',
      'an empty cell, or the moment at which the payment was moved to its account',
    ),
    {
      refersTo: 'accounts',
      ...check(
        'payments',
        'earlier_assignments',
        sql`cross join lateral jsonb_to_recordset(n.earlier_assignments) as e (account text)
          where not exists (select from new_accounts a where a.external_id = e.account)`,
        (account) => `names the account ${account}, which is not in the column external_id of accounts.csv`,
        'accounts that have a row in accounts.csv',
        { value: sql`null`, detail: sql`e.account` },
      ),
    },
    check(
      'payments',
      'earlier_assignments',
      sql`cross join lateral (select n.earlier_assignments -> 0 as first, n.earlier_assignments -> -1 as last) e
        cross join lateral (select (last ->> 'unassigned_at')::timestamptz as ended_at) l
        where n.earlier_assignments is not null and (coalesce(first ->> 'assigned_at', first ->> 'unassigned_at')::timestamptz
            < coalesce(n.received_at, n.payment_date::timestamp at time zone ${timeZone})
          or l.ended_at > coalesce(n.assigned_at, n.reversed_at) or (l.ended_at at time zone ${timeZone})::date > ${day}
          or n.account is not null and n.assigned_at is null)`,
      'must not begin before the payment was received; must end by today, and by assigned_at (if assigned_at is empty: by reversed_at); if the payment has an account, assigned_at must not be empty',
      'an empty cell, or the earlier assignments of the payment, without the current assignment',
    ),
    notInFuture('payments', 'received_at', sql`(n.received_at at time zone ${timeZone})::date`, today),
    check(
      'payments',
      'reconciled_on',
      sql`where n.reconciled_on < n.payment_date or n.reconciled_on > ${day}`,
      'is before the payment, or later than today',
      'a day between payment_date and today',
    ),
    {
      ...{ file: 'payments', column: 'transaction_ref' },
      select: selectRepeats({
        file: 'payments',
        compared: sql`reference_key, payment_method, coalesce(provider, '')`,
        value: sql`transaction_ref`,
        where: sql`reference_key is not null and reversed_at is null`,
      }),
      problem: (line) => `is also on line ${line}, with the same method`,
      allowed: 'each reference once, except for reversed payments',
    },
    check(
      'payments',
      'transaction_ref',
      sql`join new_payments p on p.reference_key = n.reference_key
        where n.provider is null and n.reversed_at is null and p.provider is not null and p.reversed_at is null
        group by n.line, n.transaction_ref`,
      (line) =>
        `is also the reference of a provider's payment on line ${line}, so the payment would count twice`,
      'each transaction once',
      { detail: sql`min(p.line)` },
    ),
    check(
      'payments',
      'transaction_ref',
      sql`join payments p on p.reference_key = n.reference_key and p.status <> 'reversed'
        join payment_methods m on m.id = p.payment_method_id
        where n.reversed_at is null and (m.code = n.payment_method and p.provider is not distinct from n.provider
          or (p.provider is null) <> (n.provider is null))`,
      (id) => `is the reference of a payment in the database (id ${id})`,
      'a reference that no payment in the database has. If the row is this payment, delete the row',
      { detail: sql`p.id` },
    ),
    check(
      'payments',
      'provider_transaction_id',
      sql`join payments p on p.provider_trans_id = n.transaction_key and p.provider = n.provider`,
      (id) => `is the transaction of a payment in the database (id ${id})`,
      'a transaction that no payment in the database has. If the row is this payment, delete the row',
      { detail: sql`p.id` },
    ),
    check(
      'payments',
      'transaction_ref',
      sql`where n.provider is null and n.reference_key is not null and is_reported_transaction(n.reference_key)`,
      'is a transaction that a provider has reported to this service',
      'a reference that no provider has reported. If the provider reported this payment, delete the row',
    ),
  ];
}

function moveChecks({ today }: CheckSettings): ImportCheck[] {
  return [
    notInFuture('credit_moves', 'moved_on', sql`n.moved_on`, today),
    check(
      'credit_moves',
      'to_account',
      sql`where n.to_account = n.account`,
      'is the account that gave the credit',
      'another account, or an empty cell for a refund',
    ),
    check(
      'credit_moves',
      'payment_method',
      sql`where (n.to_account is null) = (n.payment_method is null)`,
      'must be given for a refund, and must be empty for a transfer',
      'the code of the method for a refund, or an empty cell for a transfer',
    ),
    check(
      'credit_moves',
      'transaction_ref',
      sql`where n.to_account is not null and n.transaction_ref is not null`,
      'belongs to a refund, but the row is a transfer',
      'an empty cell for a transfer',
    ),
    {
      ...{ file: 'credit_moves', column: 'transaction_ref' },
      select: selectRepeats({
        file: 'credit_moves',
        compared: sql`reference_key, payment_method`,
        value: sql`transaction_ref`,
        where: sql`reference_key is not null`,
      }),
      problem: (line) => `is also on line ${line}, with the same method`,
      allowed: 'each reference once',
    },
    check(
      'credit_moves',
      'transaction_ref',
      sql`join credit_moves c on c.reference_key = n.reference_key
        join payment_methods m on m.id = c.payment_method_id and m.code = n.payment_method`,
      (id) => `is the reference of a refund in the database (id ${id})`,
      'a reference that no refund in the database has. If it is the same refund, delete the row',
      { detail: sql`c.id` },
    ),
  ];
}
