import type { AccountStatus } from '../../src/core/database/tables.ts';

interface StatusModel {
  /** The statuses to which staff may change the account. */
  moves: readonly AccountStatus[];
  /** The moves of an active account to this status. Empty for `active`, and for statuses to which staff cannot move it. */
  movesFromActive: readonly AccountStatus[];
  needsReason: boolean;
  /** A payment that names only the customer is matched to the account. */
  isOpen: boolean;
  /** The balance is part of the gross receivables. */
  isReceivable: boolean;
  completesWhenPaid: boolean;
  /** The suspension policy may suspend the account. */
  isSuspendedWhenLate: boolean;
  /** How the status ends the sale. `undone`: the price is no longer owed. `lost`: the debt is a loss. */
  ends: null | 'undone' | 'lost';
  /** The account counts as activated, and earns a commission. */
  isSold: boolean;
  /** Staff may change the terms. */
  changesPlan: boolean;
  /** Staff call the customer about a late account, and the customer can promise to pay. */
  isCalled: boolean;
  voidsPromises: boolean;
  /** A payment that ends the lateness reverses a suspension by the policy. */
  isReactivatedWhenPaid: boolean;
  isPaidInFull: boolean;
  refusesPaymentsWithoutBalance: boolean;
}

/**
 * What tests expect of each status. Does not use the table in src/accounts/status/rules.ts, so that an accidental change of that table
 * fails the tests.
 */
export const STATUS_MODEL: Readonly<Record<AccountStatus, StatusModel>> = {
  pending: {
    moves: ['active', 'suspended', 'cancelled'],
    movesFromActive: [],
    needsReason: false,
    isOpen: true,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: false,
    changesPlan: true,
    isCalled: false,
    voidsPromises: false,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  active: {
    moves: ['suspended', 'defaulted', 'cancelled'],
    movesFromActive: [],
    needsReason: false,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: true,
    ends: null,
    isSold: true,
    changesPlan: true,
    isCalled: true,
    voidsPromises: false,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  suspended: {
    moves: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
    movesFromActive: ['suspended'],
    needsReason: false,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
    changesPlan: true,
    isCalled: true,
    voidsPromises: false,
    isReactivatedWhenPaid: true,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  defaulted: {
    moves: ['active', 'repossessed', 'written_off'],
    movesFromActive: ['defaulted'],
    needsReason: true,
    isOpen: true,
    isReceivable: true,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
    changesPlan: true,
    isCalled: true,
    voidsPromises: false,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  repossessed: {
    moves: ['active', 'written_off'],
    movesFromActive: ['defaulted', 'repossessed'],
    needsReason: true,
    isOpen: false,
    isReceivable: true,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
    changesPlan: false,
    isCalled: false,
    voidsPromises: true,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  completed: {
    moves: [],
    movesFromActive: [],
    needsReason: false,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: null,
    isSold: true,
    changesPlan: false,
    isCalled: false,
    voidsPromises: false,
    isReactivatedWhenPaid: false,
    isPaidInFull: true,
    refusesPaymentsWithoutBalance: true,
  },
  written_off: {
    moves: [],
    movesFromActive: ['defaulted', 'written_off'],
    needsReason: true,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: true,
    isSuspendedWhenLate: false,
    ends: 'lost',
    isSold: true,
    changesPlan: false,
    isCalled: false,
    voidsPromises: true,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: false,
  },
  cancelled: {
    moves: [],
    movesFromActive: ['cancelled'],
    needsReason: true,
    isOpen: false,
    isReceivable: false,
    completesWhenPaid: false,
    isSuspendedWhenLate: false,
    ends: 'undone',
    isSold: false,
    changesPlan: false,
    isCalled: false,
    voidsPromises: true,
    isReactivatedWhenPaid: false,
    isPaidInFull: false,
    refusesPaymentsWithoutBalance: true,
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

/** The statuses to which staff can change an active account, directly or through other statuses. */
export const REACHED_BY_MOVES = statusesWhere(({ movesFromActive }) => movesFromActive.length > 0);
