import { ACCOUNT_ACTIONS } from './accounts/commands.ts';
import type { ApprovableActions } from './approvals/commands.ts';
import { CREDIT_ACTIONS } from './credit/commands.ts';
import { PAYMENT_ACTIONS } from './payments/approval-commands.ts';

/**
 * The functions that run approved actions. `approvals/` cannot import them, because the features that contain them import
 * `approvals/`.
 */
export const APPROVABLE_ACTIONS: ApprovableActions = {
  ...PAYMENT_ACTIONS,
  ...CREDIT_ACTIONS,
  ...ACCOUNT_ACTIONS,
};
