import { sql } from 'kysely';
import type { Check } from './store.ts';

/** The audit action that each approvable action writes. */
const DONE_BY = sql`(values
  ('reverse_payment', 'payment.reverse'), ('correct_payment', 'payment.correct'), ('unassign_payment', 'payment.unassign'), ('refund_credit', 'credit.refund'),
  ('transfer_credit', 'credit.transfer'), ('write_off_account', 'account.status'), ('cancel_account', 'account.status'), ('change_plan', 'account.change_plan'),
  ('start_bulk_deferral', 'bulk_deferral.start'), ('undo_bulk_deferral', 'bulk_deferral.undo')
) as done_by (action, audited)`;

export const APPROVAL_CHECKS: readonly Check[] = [
  {
    name: 'approvals',
    rule: 'Every approved request was done exactly once, as requested. No request was done without approval. Nobody decided on their own request.',
    checked: sql`
      with audited as materialized (
        select action, resource, resource_id, (after->>'approvalId')::bigint as approval_id
        from audit_entries where after ? 'approvalId')
      select r.id, r.status, r.amount_minor, coalesce(e.done, 0) as done, coalesce(e.entries, 0) as entries,
        r.decided_by is not null and r.decided_by in (r.requested_by, r.responsible_user_id) as is_own,
        r.credit_move_id, count(*) over (partition by r.credit_move_id) as requests_of_move,
        (m.account_id, coalesce(m.to_account_id, 0), m.amount_minor)
          is distinct from (r.account_id, coalesce(r.to_account_id, 0), r.amount_minor) as is_other_move,
        r.action::text in ('reverse_payment', 'correct_payment') and p.status <> 'reversed' as is_not_reversed
      from approvals r
      join ${DONE_BY} on done_by.action = r.action::text
      left join lateral (
        select count(*) as entries, count(*) filter (where a.action = done_by.audited and a.resource_id
          = case a.resource when 'payment' then r.payment_id when 'account' then r.account_id
            when 'bulk_deferral' then r.bulk_deferral_id else a.resource_id end
        ) as done
        from audited a where a.approval_id = r.id
      ) e on true
      left join credit_moves m on m.id = r.credit_move_id
      left join payments p on p.id = r.payment_id`,
    figures: sql`
      select count(*) as checked_row_count, sum(amount_minor) filter (where status = 'approved') as approved from checked`,
    violations: sql`
      select 'approvals', id, v.what, v.expected, v.found, null::date
      from checked cross join lateral (values
        (status = 'approved' and done <> 1, 'times done', '1', done::text),
        (status <> 'approved' and entries > 0, 'changes by a request that is ' || status, '0', entries::text),
        (is_own, 'decided by', 'another user', 'the requester'),
        (credit_move_id is not null and is_other_move, 'credit move', 'as requested', 'another'),
        (credit_move_id is not null and requests_of_move > 1, 'number of requests with this credit move', '1', requests_of_move::text),
        (status = 'approved' and is_not_reversed, 'status of the payment', 'reversed', 'not reversed')
      ) as v (is_broken, what, expected, found)
      where v.is_broken`,
  },
];
