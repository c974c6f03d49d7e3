import { sql } from 'kysely';
import { DERIVED_TYPES } from '../../changes/events/catalogue-schema.ts';
import { literalList } from '../../core/database/literal-list.ts';
import type { Check } from './store.ts';

/** The events up to this id are deleted, so the audit entries up to this id are not checked. */
const DELETED_TO = sql`(select deleted_to_id from event_feed)`;
const DERIVED = literalList(DERIVED_TYPES);

export const EVENT_CHECKS: readonly Check[] = [
  {
    name: 'events_of_changes',
    rule: 'Every audit entry of the last 30 days has exactly one event, with the same subject. Only events that follow from another change, such as account.credit_changed, have no audit entry.',
    checked: sql`
      select coalesce(a.id, e.id) as id, a.id as entry_id, e.id as event_id, coalesce(e.type, a.action) as type,
        e.type in ${DERIVED} as is_derived, a.resource as changed, a.resource_id as changed_id, e.resource, e.resource_id
      from (select id, action, resource, resource_id from audit_entries where has_event and id > ${DELETED_TO}) a
      full join (select id, type, resource, resource_id from events where id > ${DELETED_TO}) e on e.id = a.id`,
    figures: sql`select count(*) as checked_row_count from checked`,
    violations: sql`
      select v.of_table, id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        (event_id is null, 'audit_entries', 'event of ' || type, 'one', 'none'),
        (event_id is not null and is_derived <> (entry_id is null), 'events', 'audit entry of ' || type,
          case when is_derived then 'none' else 'one' end, case when entry_id is null then 'none' else 'one' end),
        (event_id is not null and entry_id is not null
          and (changed, changed_id) is distinct from (resource, resource_id), 'events', 'subject of ' || type,
          concat_ws(' ', changed, changed_id), concat_ws(' ', resource, resource_id))
      ) as v (is_broken, of_table, what, expected, found)
      where v.is_broken`,
  },
  {
    name: 'events_of_accounts',
    rule: 'The events of every account are numbered without gaps. The latest events about next due date and credit have the present values of the account.',
    checked: sql`
      select a.id, a.event_count, a.next_due_date, a.credit_minor, e.last_version, e.broken_id, e.broken_version,
        e.expected_version, e.due_data, e.credit_data
      from accounts a join (
        select account_id, max(account_version) as last_version,
          min(id) filter (where account_version <> expected) as broken_id,
          (array_agg(account_version order by id) filter (where account_version <> expected))[1] as broken_version,
          (array_agg(expected order by id) filter (where account_version <> expected))[1] as expected_version,
          (array_agg(data order by id desc) filter (where type = 'account.paid_until_changed'))[1] as due_data,
          (array_agg(data order by id desc) filter (where type = 'account.credit_changed'))[1] as credit_data
        from (
          select id, account_id, account_version, type, data,
            lag(account_version) over (partition by account_id order by id) + 1 as expected
          from events where account_id is not null and id > ${DELETED_TO}
        ) numbered
        group by account_id
      ) e on e.account_id = a.id`,
    figures: sql`select count(*) as checked_row_count from checked`,
    violations: sql`
      select v.of_table, v.row_id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        ('events', broken_id, 'account_version', expected_version::text, broken_version::text),
        ('accounts', id, 'event_count', last_version::text, event_count::text),
        ('accounts', id, 'next_due_date of its latest event',
          case when due_data is null then '' else coalesce(next_due_date::text, 'none') end,
          case when due_data is null then '' else coalesce(due_data->>'nextDueDate', 'none') end),
        ('accounts', id, 'credit_minor of its latest event',
          case when credit_data is null then '' else credit_minor::text end, coalesce(credit_data->>'creditMinor', ''))
      ) as v (of_table, row_id, what, expected, found)
      where v.expected <> v.found`,
  },
];
