import type { AccountRow } from '../../src/accounts/ledger/rules.ts';
import type { PlainDate } from '../../src/core/values/dates.ts';

/** An active account of 3,600 in total, with weekly instalments from 19 October 2026. Nothing is paid. */
export function accountRow(fields: Partial<AccountRow> = {}): AccountRow {
  return {
    id: 7,
    customer_id: 1,
    product_id: 1,
    payplan_id: 1,
    employee_id: null,
    external_id: null,
    import_id: null,
    metadata: {},
    status: 'active',
    status_reason: null,
    activation_date: '2026-10-19' as PlainDate,
    frequency: 'weekly',
    deposit_minor: 2000,
    instalment_minor: 400,
    instalment_count: 4,
    grace_days: 3,
    total_minor: 3600,
    paid_minor: 0,
    receivable_minor: 3600,
    credit_minor: 0,
    written_off_minor: 0,
    written_off_on: null,
    paid_month: null,
    paid_month_minor: 0,
    next_due_date: '2026-10-19' as PlainDate,
    reprieved_on: null,
    event_count: 5,
    created_at: '2026-10-19T08:00:00.000Z',
    updated_at: '2026-10-19T08:00:00.000Z',
    ...fields,
  };
}
