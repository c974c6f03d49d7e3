import { approvalActions, approvalStatuses, planChangeRequests } from './codes.ts';

export const approvals = {
  'approvals.none': 'Nothing was sent for approval yet.',
  'approvals.action': 'Action',
  'approvals.title': '{action}: {amount}',
  'approvals.requestedBy': 'Requested by',
  'approvals.me': 'Me',
  'approvals.payment': 'Payment',
  'approvals.receiver': 'Goes to account',
  'approvals.counted': 'Amount compared with the limit',
  'approvals.decidedBy': 'Decided by',
  'approvals.decisionReason': 'Why it was rejected',
  'approvals.endedAt': 'Ended',
  'approvals.approve': 'Approve',
  'approvals.approved': 'Approved and done',
  'approvals.reject': 'Reject',
  'approvals.reject.title': 'Reject this request',
  'approvals.rejected': 'Request rejected',
  'approvals.withdraw': 'Withdraw request',
  'approvals.withdrawn': 'Request withdrawn',
  'approvals.own': 'You sent this request. Another user has to approve it.',
  'approvals.changed': 'Changed since the request',
  'approvals.changed.hint':
    'This request can no longer be approved, and ends within a minute. If the action is still needed, send a new request.',
  'approvals.change': '{fact}: {before} → {now}',
  'approvals.effect.reverse_payment':
    'The payment is undone. If it has an account, the credit is reduced first, and the rest is owed again.',
  'approvals.effect.correct_payment':
    'The payment is reversed, and a payment of this amount is recorded in its place, with the same date, method and reference.',
  'approvals.effect.unassign_payment':
    'The payment leaves the account and goes back to the unmatched payments.',
  'approvals.effect.refund_credit':
    'The credit of the account decreases. The money was or will be paid to the customer.',
  'approvals.effect.transfer_credit': 'The credit goes to the other account, like a payment.',
  'approvals.effect.write_off_account': 'The balance becomes a loss, and the account is closed.',
  'approvals.effect.cancel_account':
    'The sale is undone: the balance is no longer owed, and all that was paid becomes credit.',
  'approvals.effect.change_plan': 'The instalments or the price of the account change from today on.',
  'approvals.effect.start_bulk_deferral':
    'The instalments of all these accounts are due later. Accounts that change before are left out.',
  'approvals.effect.undo_bulk_deferral':
    'The accounts have their earlier instalments again, unless their plan was changed since.',
  ...approvalActions,
  ...approvalStatuses,
  ...planChangeRequests,
  'approvalFact.paymentStatus': 'Status of the payment',
  'approvalFact.paymentAccountId': 'Account of the payment',
  'approvalFact.reconciliationId': 'Reconciliation of the payment',
  'approvalFact.accountStatus': 'Status of the account',
  'approvalFact.toAccountStatus': 'Status of the other account',
  'approvalFact.balance': 'Balance',
  'approvalFact.credit': 'Credit',
  'approvalFact.planVersion': 'Number of plan changes',
  'approvalFact.paid': 'Paid',
} as const;
