import { describe, expect, it } from 'vitest';
import { type Actor, SYSTEM } from '../../core/context.ts';
import { AppError } from '../../core/http/errors.ts';
import {
  type ApprovalRow,
  accountIdOf,
  alreadyPending,
  answerName,
  changedFacts,
  FACT_NAMES,
  factsOf,
  illegalApprovalMove,
  isRequester,
  movesOf,
  needsApproval,
  outdated,
  paymentIdOf,
  requireDecider,
  type SubjectState,
} from './rules.ts';

const KES = { code: 'KES', decimals: 2 };
const STATE: SubjectState = {
  paymentStatus: 'matched',
  paymentAccountId: 7,
  reconciliationId: null,
  accountStatus: 'active',
  toAccountStatus: 'suspended',
  balanceMinor: 360_000,
  creditMinor: 500,
  planVersion: null,
  paidMinor: null,
};

/** A request of user 2, to reverse payment 31. */
function request(fields: Partial<ApprovalRow> = {}): ApprovalRow {
  return {
    id: 5,
    action: 'reverse_payment',
    status: 'pending',
    account_id: null,
    payment_id: 31,
    bulk_deferral_id: null,
    requested_by: 2,
    responsible_user_id: 2,
    api_key_id: null,
    facts: factsOf('reverse_payment', STATE),
    ...fields,
  } as ApprovalRow;
}

const user = (userId: number, role: Actor['role'] = 'manager'): Actor => ({ ...SYSTEM, userId, role });
const key = (id: number): Actor => ({ ...SYSTEM, role: 'api_key', apiKey: { id, permissions: [] } });

describe('an action', () => {
  it('needs approval only above the limit', () => {
    expect(needsApproval({ approvalLimitMinor: 100n }, 100n)).toBe(false);
    expect(needsApproval({ approvalLimitMinor: 100n }, 101n)).toBe(true);
  });

  it('needs no approval if there is no limit', () => {
    expect(needsApproval({ approvalLimitMinor: undefined }, 10n ** 15n)).toBe(false);
  });
});

describe('the facts of a request', () => {
  it.each(['write_off_account', 'cancel_account'] as const)('to %s are all', (action) => {
    expect(factsOf(action, STATE)).toEqual(STATE);
  });

  it.each(['refund_credit', 'transfer_credit'] as const)('to %s are all but the balance', (action) => {
    expect(factsOf(action, STATE)).toEqual({ ...STATE, balanceMinor: null });
  });

  it.each(['reverse_payment', 'correct_payment', 'unassign_payment'] as const)(
    'to %s are those of the payment, and the account to which it belongs',
    (action) => {
      const facts = factsOf(action, STATE);
      expect(facts).toEqual({ ...STATE, balanceMinor: null, accountStatus: null, creditMinor: null });
    },
  );

  it('to change the plan are its version and, if the change depends on it, the sum paid', () => {
    const state = { ...STATE, planVersion: 2, paidMinor: 900 };
    const none = Object.fromEntries(FACT_NAMES.map((name) => [name, null]));
    const ofPayment = { paymentStatus: 'matched', paymentAccountId: 7, toAccountStatus: 'suspended' };
    expect(factsOf('change_plan', state)).toEqual({ ...none, ...ofPayment, planVersion: 2 });
    expect(factsOf('change_plan', state, true)).toMatchObject({ planVersion: 2, paidMinor: 900 });
  });

  it('of an earlier version have not changed if they lack a fact that did not matter', () => {
    const { planVersion, paidMinor, ...earlier } = STATE;
    expect(changedFacts(earlier, STATE)).toEqual([]);
  });

  it.each(FACT_NAMES)('have changed if %s has changed', (name) => {
    expect(changedFacts(STATE, { ...STATE, [name]: null })).toEqual(STATE[name] === null ? [] : [name]);
    expect(changedFacts({ ...STATE, [name]: null }, STATE)).toEqual(STATE[name] === null ? [] : [name]);
  });

  it('have the names of the API, where amounts are in units of the currency', () => {
    expect(FACT_NAMES.map(answerName)).toEqual([
      'paymentStatus',
      'paymentAccountId',
      'reconciliationId',
      'accountStatus',
      'toAccountStatus',
      'balance',
      'credit',
      'planVersion',
      'paid',
    ]);
  });
});

describe('a request', () => {
  const writeOff = request({ action: 'write_off_account', account_id: 7, payment_id: null, facts: STATE });

  it('is up to date while no fact has changed', () => {
    expect(outdated(writeOff, { ...STATE }, KES)).toBeUndefined();
  });

  it('is out of date if a fact has changed, and says how', () => {
    const now: SubjectState = { ...STATE, balanceMinor: 320_050, reconciliationId: 3, accountStatus: null };
    const error = outdated(writeOff, now, KES);
    expect(error?.status).toBe(409);
    expect(error?.details.fields).toEqual([
      { path: 'reconciliationId', message: 'was none when requested, and is now 3' },
      { path: 'accountStatus', message: 'was active when requested, and is now none' },
      { path: 'balance', message: 'was 3600 when requested, and is now 3200.5' },
    ]);
    for (const field of ['reconciliationId', 'accountStatus', 'balance']) {
      expect(error?.message).toContain(`${field} was`);
    }
  });

  it('that is pending blocks a second one, with its id', () => {
    const error = alreadyPending(request());
    expect(error.code).toBe('DUPLICATE_ENTRY');
    expect(error.details).toEqual({ resource: 'approval', field: 'id', id: 5 });
    expect(error.message).toContain('payment 31');
    expect(alreadyPending(writeOff).message).toContain('account 7');
  });

  it('can be decided, withdrawn or become obsolete only while it is pending', () => {
    const allowed = (['pending', 'approved', 'rejected', 'withdrawn', 'obsolete'] as const).map(
      (status) => illegalApprovalMove({ status }, 'pending').details.allowed,
    );
    expect(allowed).toEqual([['approved', 'rejected', 'withdrawn', 'obsolete'], [], [], [], []]);
  });

  it('concerns an account or a payment', () => {
    expect(paymentIdOf(request())).toBe(31);
    expect(accountIdOf(writeOff)).toBe(7);
    expect(() => accountIdOf(request())).toThrow('no account');
    expect(() => paymentIdOf(writeOff)).toThrow('no payment');
  });
});

describe('the decision on a request', () => {
  function refusal(actor: Actor, row = request(), knowsKey = false): string | undefined {
    try {
      requireDecider(actor, row, knowsKey);
      return undefined;
    } catch (error) {
      if (error instanceof AppError) return error.code;
      throw error;
    }
  }

  it('is made by a second user with the permission of the action', () => {
    expect(refusal(user(3))).toBeUndefined();
    expect(refusal(user(3, 'finance'))).toBeUndefined();
    expect(refusal(user(3, 'agent'))).toBe('FORBIDDEN');
    expect(refusal(user(3, 'finance'), request({ action: 'cancel_account' }))).toBe('FORBIDDEN');
  });

  it.each([
    ['reverse_payment', 'finance'],
    ['correct_payment', 'finance'],
    ['unassign_payment', 'finance'],
    ['refund_credit', 'finance'],
    ['transfer_credit', 'finance'],
    ['write_off_account', 'manager'],
    ['cancel_account', 'manager'],
  ] as const)('to %s can be made by %s', (action, role) => {
    expect(refusal(user(3, role), request({ action }))).toBeUndefined();
  });

  it('is never made by the user who is responsible for the request', () => {
    expect(refusal(user(2))).toBe('FORBIDDEN');
  });

  it('is never made by a user who knows the API key that sent the request', () => {
    expect(refusal(user(3), request({ requested_by: null, api_key_id: 9 }), true)).toBe('FORBIDDEN');
  });

  it('is never made by the system or an API key', () => {
    expect(refusal(SYSTEM)).toBe('FORBIDDEN');
    expect(refusal(key(9))).toBe('FORBIDDEN');
  });
});

describe('the requester of a request', () => {
  it('is the user who sent it', () => {
    expect(isRequester(request(), user(2))).toBe(true);
    expect(isRequester(request(), user(3))).toBe(false);
  });

  it('is the API key that sent it, and no other key and no user', () => {
    const ofKey = request({ requested_by: null, api_key_id: 9 });
    expect(isRequester(ofKey, key(9))).toBe(true);
    expect(isRequester(ofKey, key(8))).toBe(false);
    expect(isRequester(ofKey, user(9))).toBe(false);
    expect(isRequester(ofKey, SYSTEM)).toBe(false);
    expect(isRequester(request(), key(2))).toBe(false);
  });
});

describe('the statuses to which a user can change a request', () => {
  it('are approved and rejected for a second user who can decide', () => {
    expect(movesOf(user(3), request(), false)).toEqual(['approved', 'rejected']);
    // Finance reverses payments, and does not cancel accounts.
    expect(movesOf(user(3, 'finance'), request(), false)).toEqual(['approved', 'rejected']);
    expect(movesOf(user(3, 'finance'), request({ action: 'cancel_account' }), false)).toEqual([]);
  });

  it('are only withdrawn for the requester', () => {
    expect(movesOf(user(2), request(), false)).toEqual(['withdrawn']);
    const ofKey = request({ requested_by: null, api_key_id: 9, responsible_user_id: 4 });
    const reader: Actor = { ...SYSTEM, role: 'api_key', apiKey: { id: 9, permissions: ['approvals:read'] } };
    expect(movesOf(reader, ofKey, false)).toEqual(['withdrawn']);
    // A key needs the permission.
    expect(movesOf(key(9), ofKey, false)).toEqual([]);
  });

  it('are none for others', () => {
    expect(movesOf(user(3, 'viewer'), request(), false)).toEqual([]);
    expect(movesOf(user(3), request(), true)).toEqual([]);
  });

  it('are none after the decision', () => {
    for (const status of ['approved', 'rejected', 'withdrawn', 'obsolete'] as const)
      for (const actor of [user(2), user(3)]) expect(movesOf(actor, request({ status }), false)).toEqual([]);
  });
});
