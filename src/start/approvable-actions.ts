import { BULK_DEFERRAL_ACTIONS } from '../accounts/bulk-deferrals/commands.ts';
import { ACCOUNT_ACTIONS } from '../accounts/change-account.ts';
import { CREDIT_ACTIONS } from '../accounts/credit/commands.ts';
import { PLAN_ACTIONS } from '../accounts/plan-changes/change-plan.ts';
import { PAYMENT_ACTIONS } from '../payments/approval-commands.ts';
import type { ApprovableActions } from '../staff/approvals/commands.ts';

/**
 * The functions that run approved actions. `staff/approvals/` cannot import them, because the features that contain them import
 * `staff/approvals/`.
 */
export const APPROVABLE_ACTIONS: ApprovableActions = {
  ...PAYMENT_ACTIONS,
  ...CREDIT_ACTIONS,
  ...ACCOUNT_ACTIONS,
  ...PLAN_ACTIONS,
  ...BULK_DEFERRAL_ACTIONS,
};
