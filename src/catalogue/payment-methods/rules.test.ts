import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../../core/values/dates.ts';
import type { Rights } from '../../rights.ts';
import { recordableFrom } from './rules.ts';

const CASH = { active: true, cash: true };
const BANK = { active: true, cash: false };

function earliest(role: Rights['role'], method: typeof CASH, agentBackdatingDays = 3) {
  return recordableFrom({ role }, method, { today: '2026-11-02' as PlainDate, agentBackdatingDays });
}

describe('the earliest date of a payment that staff record', () => {
  it('is long ago for finance, with every method', () => {
    expect(earliest('finance', CASH)).toBe('2000-01-01');
    expect(earliest('finance', BANK)).toBe('2000-01-01');
  });

  it('is a few days ago for the cash of agents', () => {
    expect(earliest('agent', CASH)).toBe('2026-10-30');
    expect(earliest('agent', CASH, 0)).toBe('2026-11-02');
  });

  it.each<[string, Rights['role'], typeof CASH]>([
    ['agents, with methods that are not cash', 'agent', BANK],
    ['users without the permission', 'viewer', CASH],
    ['methods that are no longer used', 'finance', { active: false, cash: false }],
    ['cash that is no longer used', 'agent', { active: false, cash: true }],
  ])('is none for %s', (_, role, method) => {
    expect(earliest(role, method)).toBeNull();
  });
});
