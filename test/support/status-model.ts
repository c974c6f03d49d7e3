import type { AccountStatus } from '../../src/core/database/tables.ts';

interface StatusModel {
  /** The statuses to which staff may change the account. */
  moves: readonly AccountStatus[];
  /** Moves that lead an active account to the status. Empty for statuses that only the system gives. */
  way: readonly AccountStatus[];
  needsReason: boolean;
  /** A payment that names the customer, not the account, is matched. */
  isOpen: boolean;
  /** The balance counts in the gross receivables. */
  isReceivable: boolean;
  completesWhenPaid: boolean;
  /** The suspension policy may suspend the account. */
  isSuspendedWhenLate: boolean;
  /** How the status ends the sale: the price is no longer owed, or the debt is a loss. */
  ends: null | 'undone' | 'lost';
  /** The account counts as activated, and earns a commission. */
  isSold: boolean;
}

/**
 * What tests expect of each status. Written independently of the table in src/account-status/rules.ts, so that a change of that table
 * is deliberate.
 */
export const STATUS_MODEL: Readonly<Record<AccountStatus, StatusModel>> = {
  pending: {
    moves: ['active', 'suspended', 'cancelled'],
    way: [],
    needsReason: false,
    isOpen: true,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: false,
  },
  active: {
    moves: ['suspended', 'defaulted', 'cancelled'],
    way: [],
    needsReason: false,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: true,
    ends: null,
    isSold: true,
  },
  suspended: {
    moves: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
    way: ['suspended'],
    needsReason: false,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
  },
  defaulted: {
    moves: ['active', 'repossessed', 'written_off'],
    way: ['defaulted'],
    needsReason: true,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
  },
  repossessed: {
    moves: ['active', 'written_off'],
    way: ['defaulted', 'repossessed'],
    needsReason: true,
    isOpen: false,
    isReceivable: true,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
  },
  completed: {
    moves: [],
    way: [],
    needsReason: false,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
  },
  written_off: {
    moves: [],
    way: ['defaulted', 'written_off'],
    needsReason: true,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: 'lost',
    isSold: true,
  },
  cancelled: {
    moves: [],
    way: ['cancelled'],
    needsReason: true,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: 'undone',
    isSold: false,
  },
};

/** All statuses, in the order of the enum. */
export const STATUSES = Object.keys(STATUS_MODEL) as AccountStatus[];

export function statusesWhere(matches: (model: StatusModel) => boolean): AccountStatus[] {
  return STATUSES.filter((status) => matches(STATUS_MODEL[status]));
}

export const CLOSED = statusesWhere(({ ends }) => ends !== null);

/** The statuses that staff can give to an account. */
export const GIVEN_BY_STAFF = STATUSES.filter(
  (to) => statusesWhere(({ moves }) => moves.includes(to)).length > 0,
);

/** The statuses to which staff can change an active account, at once or by other statuses. */
export const REACHED_BY_MOVES = statusesWhere(({ way }) => way.length > 0);
