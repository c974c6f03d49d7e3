import type { Permission, Schemas } from '../../api/paths.ts';

/** The permission that a user needs to decide on a request, in addition to `approvals:decide`. */
export const ACTION_PERMISSIONS: Record<Schemas['ApprovalAction'], Permission> = {
  reverse_payment: 'payments:reverse',
  unassign_payment: 'payments:assign',
  refund_credit: 'credit:refund',
  transfer_credit: 'credit:transfer',
  write_off_account: 'accounts:change-status',
  cancel_account: 'accounts:change-status',
};
