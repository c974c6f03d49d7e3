import { ACCOUNT_ACTIONS } from './accounts/commands.ts';
import type { ApprovableActions } from './approvals/commands.ts';
import { CREDIT_ACTIONS } from './credit/commands.ts';
import { PAYMENT_ACTIONS } from './payments/approval-commands.ts';

/** The functions that do the actions after their approval. The features import `approvals/`, so `approvals/` cannot import them. */
export const APPROVABLE_ACTIONS: ApprovableActions = {
  ...PAYMENT_ACTIONS,
  ...CREDIT_ACTIONS,
  ...ACCOUNT_ACTIONS,
};
