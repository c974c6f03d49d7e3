import { describe, expect, it } from 'vitest';
import { type Actor, SYSTEM } from '../../core/context.ts';
import type { UserRole } from '../../core/database/tables.ts';
import {
  checkSettlement,
  hasLeft,
  inHandOf,
  isAboveCeiling,
  mayConfirmCount,
  mayConfirmSettlement,
  mayDecideDeposit,
  maySecond,
  notStarted,
  openCount,
  personOf,
  refusedHandoverMove,
  refusedSettlementMove,
  requireCashCounts,
  requireSecondPerson,
  slipKey,
  visibleTo,
} from './rules.ts';

const HOLDER = 5;
const OTHER = 6;
const THIRD = 7;

const user = (userId: number, role: UserRole): Actor => ({ ...SYSTEM, userId, role, name: `user ${userId}` });
const API_KEY: Actor = {
  ...SYSTEM,
  role: 'api_key',
  apiKey: { id: 1, permissions: ['cash:read', 'cash:confirm', 'cash:settle'] },
};

describe('cash counts', () => {
  it('are refused until the operator turns them on', () => {
    expect(() => requireCashCounts({ CASH_COUNTS: 'on' })).not.toThrow();
    expect(() => requireCashCounts({ CASH_COUNTS: 'off' })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR', status: 409 }),
    );
  });

  it('are made by persons, not by API keys', () => {
    expect(personOf(user(HOLDER, 'agent'))).toBe(HOLDER);
    expect(() => personOf(API_KEY)).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  });

  it('are seen by their holder, and by everybody who may read all cash', () => {
    expect(visibleTo(user(OTHER, 'manager'))).toBe('all');
    expect(visibleTo(API_KEY)).toBe('all');
    expect(visibleTo(user(HOLDER, 'agent'))).toEqual({ userId: HOLDER });
  });

  it('wait for an open one, which the error names', () => {
    expect(openCount({ id: 31 })).toMatchObject({
      code: 'DUPLICATE_ENTRY',
      details: { resource: 'cash_count', field: 'id', id: 31 },
    });
  });

  it('begin with an opening count, before which no cash can be handed over', () => {
    expect(notStarted('toUserId')).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { fields: [{ path: 'toUserId' }] },
    });
  });
});

describe('a holder of cash', () => {
  it.each<[boolean, UserRole, boolean]>([
    [true, 'agent', false],
    [true, 'finance', false],
    [false, 'agent', true],
    [true, 'viewer', true],
    [false, 'viewer', true],
  ])('who is active (%s) with the role %s has left: %s', (active, role, left) => {
    expect(hasLeft({ active, role })).toBe(left);
  });

  it('has in hand what was counted last and what no count has taken', () => {
    expect(inHandOf({ countedMinor: '1500', uncountedMinor: '-200' })).toBe(1_300n);
    expect(inHandOf({ countedMinor: '0', uncountedMinor: '200' })).toBe(200n);
  });

  it('has an unknown amount in hand before the opening count', () => {
    expect(inHandOf({ countedMinor: null, uncountedMinor: '200' })).toBeNull();
  });

  it('is above the ceiling only with more cash than the ceiling', () => {
    expect(isAboveCeiling(1_000n, { cashCeilingMinor: 1_000n })).toBe(false);
    expect(isAboveCeiling(1_001n, { cashCeilingMinor: 1_000n })).toBe(true);
    expect(isAboveCeiling(1n, { cashCeilingMinor: 0n })).toBe(true);
  });

  it('is never above the ceiling of a company without one', () => {
    expect(isAboveCeiling(10n ** 15n, { cashCeilingMinor: undefined })).toBe(false);
  });
});

describe('a refused change', () => {
  it.each([
    ['pending', ['received', 'unequal', 'withdrawn']],
    ['received', []],
    ['unequal', []],
    ['withdrawn', []],
    ['deposited', ['confirmed', 'rejected']],
    ['confirmed', []],
    ['rejected', []],
  ] as const)('of a %s hand-over names the statuses that can follow', (status, allowed) => {
    expect(refusedHandoverMove({ status }, 'received')).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from: status, to: 'received', allowed },
    });
  });

  it.each([
    ['requested', ['confirmed', 'rejected']],
    ['confirmed', []],
    ['rejected', []],
  ] as const)('of a %s settlement names the statuses that can follow', (status, allowed) => {
    expect(refusedSettlementMove({ status }, 'confirmed')).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { from: status, to: 'confirmed', allowed },
    });
  });
});

describe('the second person', () => {
  it('is not one of those whose cash or request it is', () => {
    expect(requireSecondPerson(user(THIRD, 'finance'), [HOLDER, OTHER])).toBe(THIRD);
    expect(requireSecondPerson(user(THIRD, 'finance'), [null])).toBe(THIRD);
    for (const involved of [HOLDER, OTHER])
      expect(() => requireSecondPerson(user(involved, 'finance'), [HOLDER, OTHER])).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
  });

  it('is a person', () => {
    expect(() => requireSecondPerson(API_KEY, [HOLDER])).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN' }),
    );
    expect(maySecond({ ...SYSTEM, userId: null }, 'cash:confirm', [HOLDER])).toBe(false);
  });

  it('needs the permission', () => {
    expect(maySecond(user(THIRD, 'finance'), 'cash:confirm', [HOLDER])).toBe(true);
    expect(maySecond(user(THIRD, 'manager'), 'cash:confirm', [HOLDER])).toBe(false);
    expect(maySecond(user(HOLDER, 'finance'), 'cash:confirm', [HOLDER])).toBe(false);
  });

  describe('of an opening count', () => {
    const opening = { status: 'open', number: 1, holder_id: HOLDER, counted_by: OTHER } as const;

    it('is from finance, and has neither the cash nor the count', () => {
      expect(mayConfirmCount(user(THIRD, 'finance'), opening)).toBe(true);
      expect(mayConfirmCount(user(THIRD, 'manager'), opening)).toBe(false);
      expect(mayConfirmCount(user(HOLDER, 'finance'), opening)).toBe(false);
      expect(mayConfirmCount(user(OTHER, 'finance'), opening)).toBe(false);
    });

    it('confirms no closed count, and no later one', () => {
      expect(mayConfirmCount(user(THIRD, 'finance'), { ...opening, status: 'closed' })).toBe(false);
      expect(mayConfirmCount(user(THIRD, 'finance'), { ...opening, number: 2 })).toBe(false);
    });
  });

  it('of a deposit is from finance, did not deposit it, and decides once', () => {
    const deposit = { status: 'deposited', from_user_id: HOLDER } as const;
    expect(mayDecideDeposit(user(OTHER, 'finance'), deposit)).toBe(true);
    expect(mayDecideDeposit(user(OTHER, 'agent'), deposit)).toBe(false);
    expect(mayDecideDeposit(user(HOLDER, 'finance'), deposit)).toBe(false);
    for (const status of ['pending', 'confirmed', 'rejected'] as const)
      expect(mayDecideDeposit(user(OTHER, 'finance'), { ...deposit, status })).toBe(false);
  });

  it('of a settlement may settle, is neither requester nor holder, and decides once', () => {
    const settlement = { status: 'requested', requested_by: OTHER, holder_id: HOLDER } as const;
    expect(mayConfirmSettlement(user(THIRD, 'manager'), settlement)).toBe(true);
    expect(mayConfirmSettlement(user(THIRD, 'agent'), settlement)).toBe(false);
    expect(mayConfirmSettlement(user(OTHER, 'manager'), settlement)).toBe(false);
    expect(mayConfirmSettlement(user(HOLDER, 'manager'), settlement)).toBe(false);
    for (const status of ['confirmed', 'rejected'] as const)
      expect(mayConfirmSettlement(user(THIRD, 'manager'), { ...settlement, status })).toBe(false);
  });
});

describe('a bank slip', () => {
  it('is the same slip in another spelling', () => {
    for (const spelling of ['AB-12/7', 'ab 12 7', ' ab127 ', 'A.B.1.2.7'])
      expect(slipKey(spelling)).toBe('AB127');
  });

  it('is another slip with other letters or digits', () => {
    expect(new Set(['AB127', 'AB128', 'ÄB127', 'B127', 'AB1270'].map(slipKey)).size).toBe(5);
  });
});

describe('the amount of a settlement', () => {
  it.each<[string, bigint, bigint]>([
    ['all that is missing', -500n, -500n],
    ['a part of what is missing', -1n, -500n],
    ['all that is left over', 500n, 500n],
    ['a part of what is left over', 1n, 500n],
  ])('can be %s', (_, amountMinor, openMinor) => {
    expect(() => checkSettlement(amountMinor, openMinor)).not.toThrow();
  });

  it.each<[string, bigint, bigint]>([
    ['more than what is missing', -501n, -500n],
    ['more than what is left over', 501n, 500n],
    ['of the other sign, if cash is missing', 1n, -500n],
    ['of the other sign, if cash is left over', -1n, 500n],
    ['nothing, if cash is missing', 0n, -500n],
    ['nothing, if cash is left over', 0n, 500n],
    ['positive, if no difference is open', 1n, 0n],
    ['negative, if no difference is open', -1n, 0n],
    ['nothing, if no difference is open', 0n, 0n],
  ])('cannot be %s', (_, amountMinor, openMinor) => {
    expect(() => checkSettlement(amountMinor, openMinor)).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        details: { fields: [expect.objectContaining({ path: 'amount' })] },
      }),
    );
  });
});
