import { type Actor, amountOf, type Currency } from '../../core/context.ts';
import type {
  AccountStatus,
  ApprovalAction,
  ApprovalStatus,
  PaymentStatus,
  Row,
} from '../../core/database/tables.ts';
import { AppError, type FieldProblem, illegalMove } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import { mayDo, type Permission, refusalOf } from '../../rights.ts';

/** The actions that can need approval, and the permission that the requester and the approver need. */
export const ACTION_PERMISSIONS: Readonly<Record<ApprovalAction, Permission>> = {
  reverse_payment: 'payments:reverse',
  correct_payment: 'payments:reverse',
  unassign_payment: 'payments:assign',
  refund_credit: 'credit:refund',
  transfer_credit: 'credit:transfer',
  write_off_account: 'accounts:change-status',
  cancel_account: 'accounts:change-status',
  change_plan: 'accounts:change-plan',
  start_bulk_deferral: 'accounts:change-plan',
  undo_bulk_deferral: 'accounts:change-plan',
};

/**
 * @param approvalLimitMinor - undefined: no action needs approval.
 * @param isAlways - whether the action needs approval at any amount.
 */
export function needsApproval(
  { approvalLimitMinor }: { approvalLimitMinor: Minor | undefined },
  amountMinor: Minor,
  isAlways = false,
): boolean {
  return approvalLimitMinor !== undefined && (isAlways || amountMinor > approvalLimitMinor);
}

/** The statuses of a request, and the statuses that can follow each of them. */
export const APPROVAL_STATUSES: Readonly<Record<ApprovalStatus, readonly ApprovalStatus[]>> = {
  pending: ['approved', 'rejected', 'withdrawn', 'obsolete'],
  approved: [],
  rejected: [],
  withdrawn: [],
  obsolete: [],
};

/** The payment, the accounts or the bulk deferral that a request concerns. */
export interface Subject {
  action: ApprovalAction;
  accountId: number | null;
  paymentId: number | null;
  toAccountId: number | null;
  bulkDeferralId?: number | null;
}

/**
 * The present state of the subject of a request, as the database stores it. A value is null if there is no payment, account or
 * reconciliation to read the value from.
 */
export interface SubjectState {
  paymentStatus: PaymentStatus | null;
  paymentAccountId: number | null;
  reconciliationId: number | null;
  accountStatus: AccountStatus | null;
  toAccountStatus: AccountStatus | null;
  balanceMinor: number | null;
  creditMinor: number | null;
  planVersion: number | null;
  paidMinor: number | null;
}

/** The facts on which a request is decided. A fact that does not matter for the action is null. */
export type Facts = SubjectState;

/**
 * The facts that matter for an action. The balance matters only for a write-off or cancellation. Requests for other actions stay
 * valid if only the balance changes. For a reversal, correction or unassignment, and for a change of a plan, the status and credit of
 * the account do not matter. The version of the plan matters only for its change.
 * @param readsPaid - whether the sum paid matters.
 */
export function factsOf(action: ApprovalAction, state: SubjectState, readsPaid = false): Facts {
  const isForBalance = action === 'write_off_account' || action === 'cancel_account';
  const isForPlan = action === 'change_plan';
  const isOnPayment = ON_PAYMENTS.includes(action);
  return {
    ...state,
    balanceMinor: isForBalance ? state.balanceMinor : null,
    ...((isOnPayment || isForPlan) && { accountStatus: null, creditMinor: null }),
    planVersion: isForPlan ? state.planVersion : null,
    paidMinor: isForPlan && readsPaid ? state.paidMinor : null,
  };
}

/** The present state of the facts that matter for a request. */
export function presentFacts({
  action,
  facts,
  state,
}: Pick<ApprovalRow, 'action' | 'facts' | 'state'>): Facts {
  return factsOf(action, state, typeof facts.paidMinor === 'number');
}

const ON_PAYMENTS: readonly ApprovalAction[] = ['reverse_payment', 'correct_payment', 'unassign_payment'];

export type FactName = keyof Facts;
export const FACT_NAMES = [
  'paymentStatus',
  'paymentAccountId',
  'reconciliationId',
  'accountStatus',
  'toAccountStatus',
  'balanceMinor',
  'creditMinor',
  'planVersion',
  'paidMinor',
] as const satisfies FactName[];

/** A request that an earlier version stored lacks the facts that were added later. They did not matter for it. */
export function changedFacts(requested: Partial<Facts>, now: Partial<Facts>): FactName[] {
  return FACT_NAMES.filter((name) => (requested[name] ?? null) !== (now[name] ?? null));
}

/** The name of a fact in an API answer: without `Minor`, because answers give amounts in units of the currency. */
export function answerName(name: FactName) {
  return name.replace('Minor', '') as AnswerName;
}
type AnswerName = FactName extends infer Name ? (Name extends `${infer Base}Minor` ? Base : Name) : never;

/** The result of a command: the work is done, or a request is stored that a second user has to approve. */
export type DoneOrRequested<T> = { done: T } | { requested: ApprovalRow };

/** A request with the names of its users, its customer and its payment method, and the present state of its subject. */
export type ApprovalRow = Omit<Row<'approvals'>, 'facts' | 'final_facts'> & {
  facts: Facts;
  final_facts: Facts | null;
  requester: string;
  decider: string | null;
  customer: string | null;
  /** The payment method of a refund. */
  payment_method: string | null;
  transaction_ref: string | null;
  /** The pay plan of a sale correction. */
  payplan: string | null;
  state: SubjectState;
};

export function illegalApprovalMove({ status }: Pick<ApprovalRow, 'status'>, to: ApprovalStatus): AppError {
  return illegalMove('A request for approval', status, to, APPROVAL_STATUSES[status]);
}

export function alreadyPending(row: ApprovalRow): AppError {
  const { id, payment_id, account_id, bulk_deferral_id } = row;
  const about =
    bulk_deferral_id !== null
      ? `bulk deferral ${bulk_deferral_id}`
      : payment_id === null
        ? `account ${account_id}`
        : `payment ${payment_id}`;
  return new AppError(
    'DUPLICATE_ENTRY',
    `The request for approval ${id} about ${about} is pending. Approve, reject or withdraw it first.`,
    { details: { resource: 'approval', field: 'id', id } },
  );
}

/** A fact has changed since the request. */
export class OutdatedRequest extends AppError<'VALIDATION_ERROR'> {
  constructor(fields: FieldProblem[]) {
    const changes = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
    super(
      'VALIDATION_ERROR',
      `The request is out of date: ${changes}. Nothing was done. Send a new request if the action is still needed.`,
      { status: 409, details: { fields } },
    );
  }
}

/** @returns undefined if no fact has changed since the request. */
export function outdated(row: ApprovalRow, now: Facts, currency: Currency): OutdatedRequest | undefined {
  const changed = changedFacts(row.facts, now);
  if (changed.length === 0) return undefined;
  const fields = changed.map((name) => {
    const [before, after] = [row.facts[name], now[name]].map((value) => formatFact(name, value, currency));
    return { path: answerName(name), message: `was ${before} when requested, and is now ${after}` };
  });
  return new OutdatedRequest(fields);
}

function formatFact(name: FactName, value: string | number | null, currency: Currency): string {
  if (value === null) return 'none';
  return String(name.endsWith('Minor') ? amountOf(Number(value), currency) : value);
}

/**
 * Refuses a decision on the actor's own request.
 * @param knowsKey - whether the actor has seen the secret of the API key that sent the request.
 * @throws AppError FORBIDDEN if the actor is not allowed to decide on the request.
 */
export function requireDecider(actor: Actor, row: ApprovalRow, knowsKey: boolean): void {
  const refusal = refusalOfDecider(actor, row, knowsKey);
  if (refusal) throw refusal;
}

function refusalOfDecider(actor: Actor, row: ApprovalRow, knowsKey: boolean): AppError | undefined {
  const refusal = refusalOf(actor, ACTION_PERMISSIONS[row.action]);
  if (refusal) return refusal;
  if (actor.userId === null) return new AppError('FORBIDDEN', 'Only a person may decide on a request.');
  if (row.responsible_user_id !== actor.userId && !knowsKey) return undefined;
  return new AppError(
    'FORBIDDEN',
    'You may not decide on your own request, or on a request of an API key that you created or rotated.',
  );
}

/** The statuses to which the actor may change the request. */
export function movesOf(actor: Actor, row: ApprovalRow, knowsKey: boolean): ApprovalStatus[] {
  const mayDecide = mayDo(actor, 'approvals:decide') && !refusalOfDecider(actor, row, knowsKey);
  const mayWithdraw = mayDo(actor, 'approvals:read') && isRequester(row, actor);
  return APPROVAL_STATUSES[row.status].filter((to) => {
    if (to === 'approved' || to === 'rejected') return mayDecide;
    return to === 'withdrawn' && mayWithdraw;
  });
}

/** Whether the actor sent the request. A request of an API key belongs to the key, not to a user. */
export function isRequester(row: Pick<ApprovalRow, 'requested_by' | 'api_key_id'>, actor: Actor): boolean {
  if (actor.apiKey) return row.api_key_id === actor.apiKey.id;
  return actor.userId !== null && row.requested_by === actor.userId;
}

export function accountIdOf({ id, account_id: accountId }: ApprovalRow): number {
  if (accountId === null) throw new Error(`The request ${id} has no account.`);
  return accountId;
}

export function bulkDeferralIdOf({ id, bulk_deferral_id: bulkDeferralId }: ApprovalRow): number {
  if (bulkDeferralId === null) throw new Error(`The request ${id} has no bulk deferral.`);
  return bulkDeferralId;
}

export function paymentIdOf({ id, payment_id: paymentId }: ApprovalRow): number {
  if (paymentId === null) throw new Error(`The request ${id} has no payment.`);
  return paymentId;
}
