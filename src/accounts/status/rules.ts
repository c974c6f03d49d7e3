import type { AccountStatus } from '../../core/database/tables.ts';
import { illegalMove, invalidField } from '../../core/http/errors.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import type { Minor } from '../../core/values/money.ts';

// The state machine of an account. All code that tests for a group of statuses, in TypeScript or SQL, uses this table, but for a
// function and two indexes of the schema, which repeat some of its sets. A test compares the indexes.

type StatusSet =
  /** The system activates the account on its activation date. Before this date, no amount is due. */
  | 'awaitingActivation'
  /**
   * Payments are expected. If an account is not open, a notification finds it only by its account number, and not, for example,
   * by a phone number or national id.
   */
  | 'open'
  /** No more items fall due. */
  | 'closed'
  /** The price is no longer owed. The rates, receivables and `contractValue` of reports exclude the account. */
  | 'saleUndone'
  /** The account earns no commission and is not counted as activated. */
  | 'unsold'
  /** The balance is part of the gross receivables. */
  | 'receivable'
  /** The system completes the account when it is paid in full. */
  | 'completesWhenPaid'
  /** The suspension policy can suspend the account. */
  | 'suspendedWhenLate'
  /** If the suspension policy suspended the account, a payment that ends the lateness makes it active again. */
  | 'reactivatedWhenPaid'
  /** If the account is late, staff call the customer. The customer can promise to pay. */
  | 'called'
  /** A promise is void if the account has this status at the end of the promised date. */
  | 'voidsPromises'
  /** Staff can change the terms of the account. A price that was too high can also be corrected on an account that is `paidInFull`. */
  | 'changesPlan'
  /** All is paid. Only the system gives and takes this status. */
  | 'paidInFull'
  /** The discount of a pay plan for an early payoff is offered. */
  | 'offersPayoff'
  /** A provider that asks before it takes a payment gets a refusal, unless the account has a balance. */
  | 'refusesPaymentsWithoutBalance';

type StatusRow = {
  /** The statuses to which staff can change the account. Only the system completes an account or undoes a completion. */
  moves: readonly AccountStatus[];
  /** Whether staff must give a reason for a change to this status. */
  needsReason: boolean;
} & (
  | { sets: readonly Exclude<StatusSet, 'closed'>[]; posts?: undefined }
  /** A closed status posts a money event, because an account statement reads the end of the account from the ledger. */
  | {
      sets: readonly StatusSet[];
      /** The money event to post when staff change an account to this status. */
      posts: 'account_cancelled' | 'account_written_off';
    }
);

const STATUS_TABLE: Readonly<Record<AccountStatus, StatusRow>> = {
  pending: {
    moves: ['active', 'suspended', 'cancelled'],
    needsReason: false,
    sets: ['awaitingActivation', 'open', 'unsold', 'changesPlan'],
  },
  active: {
    moves: ['suspended', 'defaulted', 'cancelled'],
    needsReason: false,
    sets: [
      'open',
      'receivable',
      'completesWhenPaid',
      'suspendedWhenLate',
      'called',
      'changesPlan',
      'offersPayoff',
    ],
  },
  suspended: {
    moves: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
    needsReason: false,
    sets: [
      'open',
      'receivable',
      'completesWhenPaid',
      'reactivatedWhenPaid',
      'called',
      'changesPlan',
      'offersPayoff',
    ],
  },
  defaulted: {
    moves: ['active', 'repossessed', 'written_off'],
    needsReason: true,
    sets: ['open', 'receivable', 'completesWhenPaid', 'called', 'changesPlan', 'offersPayoff'],
  },
  repossessed: {
    moves: ['active', 'written_off'],
    needsReason: true,
    sets: ['receivable', 'voidsPromises'],
  },
  completed: {
    moves: [],
    needsReason: false,
    sets: ['paidInFull', 'refusesPaymentsWithoutBalance'],
  },
  written_off: {
    moves: [],
    needsReason: true,
    sets: ['closed', 'completesWhenPaid', 'voidsPromises'],
    posts: 'account_written_off',
  },
  cancelled: {
    moves: [],
    needsReason: true,
    sets: ['closed', 'saleUndone', 'unsold', 'voidsPromises', 'refusesPaymentsWithoutBalance'],
    posts: 'account_cancelled',
  },
};

export const ACCOUNT_STATUSES = Object.keys(STATUS_TABLE) as AccountStatus[];

export function statusesIn(set: StatusSet): AccountStatus[] {
  return ACCOUNT_STATUSES.filter((status) => isStatusIn(status, set));
}

export function isStatusIn(status: AccountStatus, set: StatusSet): boolean {
  const sets: readonly StatusSet[] = STATUS_TABLE[status].sets;
  return sets.includes(set);
}

/** Whether the items of an account fall due: none before the activation, and no more after the account is closed. */
export function dueRuleOf(status: AccountStatus): { activated: boolean; closed: boolean } {
  return { activated: !isStatusIn(status, 'awaitingActivation'), closed: isStatusIn(status, 'closed') };
}

/** The statuses to which staff can change an account with this status. */
export function movesFrom(status: AccountStatus): readonly AccountStatus[] {
  return STATUS_TABLE[status].moves;
}

/** The statuses that the console offers for an account. The service activates a pending account on its activation date. */
export function movesByHand(from: AccountStatus): AccountStatus[] {
  return movesFrom(from).filter((to) => to !== 'active' || !isStatusIn(from, 'awaitingActivation'));
}

/** The closed statuses that an account can get before its activation. */
export function closedBeforeActivation(): AccountStatus[] {
  const moves = statusesIn('awaitingActivation').flatMap(movesFrom);
  return statusesIn('closed').filter((status) => moves.includes(status));
}

export function needsReason(status: AccountStatus): boolean {
  return STATUS_TABLE[status].needsReason;
}

export function moneyEventOf(status: AccountStatus): StatusRow['posts'] {
  return STATUS_TABLE[status].posts;
}

/**
 * The money event of a change of status. A change from completed back to written off posts nothing, because the loss was posted
 * before.
 */
export function moneyEventOfMove(from: AccountStatus, to: AccountStatus): StatusRow['posts'] {
  return isStatusIn(from, 'paidInFull') ? undefined : moneyEventOf(to);
}

export function eventOfMove(from: AccountStatus, to: AccountStatus) {
  if (isStatusIn(from, 'paidInFull')) return 'account.reopened';
  if (to === 'active')
    return isStatusIn(from, 'awaitingActivation') ? 'account.activated' : 'account.reactivated';
  if (to === 'pending')
    throw new Error(`An account changed from ${from} to pending. No event describes this change.`);
  return `account.${to}` as const;
}

/** @throws AppError VALIDATION_ERROR for a missing reason, and with `{from, to, allowed}` for a change that is not allowed. */
export function checkStatusMove(from: AccountStatus, to: AccountStatus, reason: string | undefined): void {
  const allowed = movesFrom(from);
  if (!allowed.includes(to)) throw illegalMove('An account', from, to, allowed);
  if (needsReason(to) && reason === undefined)
    throw invalidField('reason', `is required for the status ${to}`);
}

/** The status on a day. A pending account counts as active from its activation date, even before a job activates it. */
export function statusOn(status: AccountStatus, activationDate: PlainDate, day: PlainDate): AccountStatus {
  const isDue = compareDates(activationDate, day) <= 0;
  return isDue && isStatusIn(status, 'awaitingActivation') ? 'active' : status;
}

export function isToComplete(status: AccountStatus, paidMinor: Minor, totalMinor: Minor): boolean {
  return paidMinor >= totalMinor && isStatusIn(status, 'completesWhenPaid');
}

/** Whether a completed account is not paid in full any more. */
export function isToReopen(status: AccountStatus, paidMinor: Minor, totalMinor: Minor): boolean {
  return paidMinor < totalMinor && isStatusIn(status, 'paidInFull');
}
