import { describe, expect, it } from 'vitest';
import { isSilent, LATE_STATUSES } from './today-rules.ts';

describe('isSilent', () => {
  it.each([
    ['has just sent something', '2026-11-18T12:00:00.000Z', null, false],
    ['sent something 24 hours ago', '2026-11-17T12:00:00.000Z', null, false],
    ['sent something more than 24 hours ago', '2026-11-17T11:59:59.999Z', null, true],
    ['is silent for longer than usual', '2026-11-18T11:00:00.000Z', '2026-11-18T11:00:00.000Z', true],
    ['has sent something after this instance read its clock', '2026-11-18T12:00:00.001Z', null, false],
  ])('of a provider that %s', (_what, lastHeardAt, silentSince, expected) => {
    expect(isSilent({ lastHeardAt, silentSince }, new Date('2026-11-18T12:00:00Z'))).toBe(expected);
  });
});

describe('LATE_STATUSES', () => {
  it('are those whose balances are receivables', () => {
    expect(LATE_STATUSES).toEqual(['active', 'suspended', 'defaulted', 'repossessed']);
  });
});
