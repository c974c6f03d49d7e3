/** Codes of the API that both the audit log and other pages show. The message files of these pages include these groups. */
export const approvalActions = {
  'approvalAction.reverse_payment': 'Reverse payment',
  'approvalAction.correct_payment': 'Correct amount',
  'approvalAction.unassign_payment': 'Unassign payment',
  'approvalAction.refund_credit': 'Refund credit',
  'approvalAction.transfer_credit': 'Transfer credit',
  'approvalAction.write_off_account': 'Write off',
  'approvalAction.cancel_account': 'Cancel sale',
  'approvalAction.change_plan': 'Change plan',
  'approvalAction.start_bulk_deferral': 'Defer many accounts',
  'approvalAction.undo_bulk_deferral': 'Undo a bulk deferral',
} as const;

export const disabledReasons = {
  'disabledReason.user': 'Disabled by a user',
  'disabledReason.gone': 'Disabled: the receiver answered 410 (gone)',
  'disabledReason.failing': 'Disabled: deliveries failed for three days',
} as const;

export const matchMethods = {
  'matchMethod.account_number': 'Account number',
  'matchMethod.national_id': 'National ID',
  'matchMethod.phone': 'Phone as reference',
  'matchMethod.account_id': 'Account ID',
  'matchMethod.payer_phone': 'Phone of the payer',
  'matchMethod.learned': 'Earlier assignment of this reference',
  'matchMethod.payment_request': 'Payment request',
  'matchMethod.manual_entry': 'Manual payment',
  'matchMethod.assigned': 'Assigned by staff',
} as const;

export const paymentRequestReasons = {
  'paymentRequestReason.cancelled': 'The customer cancelled',
  'paymentRequestReason.insufficient_funds': 'Not enough money',
  'paymentRequestReason.wrong_pin': 'Wrong PIN',
  'paymentRequestReason.phone_busy': 'The phone has another prompt',
  'paymentRequestReason.refused': 'Refused by the provider',
  'paymentRequestReason.no_answer': 'No answer from the customer',
  'paymentRequestReason.not_sent': 'Could not be sent',
} as const;

export const approvalStatuses = {
  'approvalStatus.pending': 'Waits for approval',
  'approvalStatus.approved': 'Approved',
  'approvalStatus.rejected': 'Rejected',
  'approvalStatus.withdrawn': 'Withdrawn',
  'approvalStatus.obsolete': 'Obsolete',
} as const;

export const phoneProblems = {
  'phoneProblem.invalid': 'Not a valid number',
  'phoneProblem.other_customer': 'Another customer’s number',
  'phoneProblem.other_account': 'Pays for another account',
} as const;

export const paymentSources = {
  'paymentSource.manual': 'Recorded by staff',
  'paymentSource.webhook': 'Notification',
  'paymentSource.import': 'Statement',
  'paymentSource.pull': 'Found by asking the provider',
} as const;

export const callResults = {
  'callResult.no_answer': 'No answer',
  'callResult.wrong_number': 'Wrong number',
  'callResult.reached': 'Reached',
  'callResult.promise': 'Promise',
  'callResult.dispute': 'Dispute',
  'callResult.other': 'Other',
} as const;

export const callKinds = {
  'callKind.call': 'Call',
  'callKind.visit': 'Visit',
} as const;

export const roleHints = {
  'roleHint.admin': 'everything',
  'roleHint.manager': 'sales, catalogue and money',
  'roleHint.finance': 'money and reports',
  'roleHint.agent': 'sales and payments',
  'roleHint.collector': 'read-only access, and calls to late customers',
  'roleHint.viewer': 'read-only access',
} as const;

export const commissionStatuses = {
  'commissionStatus.calculated': 'Calculated',
  'commissionStatus.approved': 'Approved',
  'commissionStatus.paid': 'Paid',
} as const;

export const userEmployees = {
  'users.employee.hint': 'An agent sees the late customers and commissions of this employee.',
  'users.noEmployee': 'Nobody',
} as const;

export const commissionTabs = {
  'commissions.month': 'Month',
  'commissions.unclaimed': 'Sales without commission',
  'commissionRules.title': 'Rules',
} as const;

export const planChangeKinds = {
  'planChangeKind.deferral': 'Instalments deferred',
  'planChangeKind.revision': 'Plan revised',
  'planChangeKind.discount': 'Discount',
  'planChangeKind.price_correction': 'Price corrected',
  'planChangeKind.price_rise': 'Price raised',
  'planChangeKind.sale_correction': 'Sale corrected',
  'planChangeKind.payoff': 'Early payoff',
  'planChangeKind.undo': 'Change undone',
  'planChangeKind.imported': 'Imported with its changes',
  'planChanges.effective': 'Since',
  'planChanges.kind': 'Change',
  'planChanges.price': 'Price',
  'planChanges.undone': 'Undone',
  'planOutcome.moved': 'Instalments moved: {count}, the first from {from} to {to}',
  'planOutcome.made': 'New instalments: {count}, from {first} to {last}',
  'planOutcome.arrears': 'Overdue and moved: {amount}',
} as const;

export const planChangeRequests = {
  'changePlan.kind.deferral': 'Defer instalments',
  'changePlan.kind.discount': 'Give a discount',
  'changePlan.kind.price_correction': 'Correct the price downwards',
  'changePlan.kind.revision': 'Revise the remaining instalments',
  'changePlan.kind.price_rise': 'Raise the price',
  'changePlan.kind.sale_correction': 'Correct the sale: another plan',
  'changePlan.kind.undo': 'Undo the last change',
} as const;
