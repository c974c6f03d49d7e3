import { describe, expect, it } from 'vitest';
import type { ProviderStatementStatus } from '../../core/database/tables.ts';
import { AppError } from '../../core/http/errors.ts';
import {
  COMPARED_RESULTS,
  checkFigures,
  checkStage,
  checkStatementMove,
  LINE_RESULTS,
  STATEMENT_STATUSES,
  STATUSES_WITH_JOB,
  type Stage,
} from './rules.ts';

const STAGES: Stage[] = ['matching', 'importing', 'reconciling'];

function refusal(from: ProviderStatementStatus, to: Stage): AppError | undefined {
  try {
    checkStage(from, to);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function isPossible(from: ProviderStatementStatus, to: ProviderStatementStatus): boolean {
  try {
    checkStatementMove(from, to);
    return true;
  } catch {
    return false;
  }
}

describe('a provider statement', () => {
  it.each<[ProviderStatementStatus, ProviderStatementStatus[]]>([
    ['received', ['matching', 'failed']],
    ['matching', ['done', 'failed']],
    ['importing', ['matching', 'failed']],
    ['reconciling', ['done', 'failed']],
    ['done', ['matching', 'importing', 'reconciling']],
    ['failed', ['matching']],
  ])('can go from %s only to %j', (from, next) => {
    expect(STATEMENT_STATUSES.filter((to) => isPossible(from, to))).toEqual(next);
  });

  it('has a job in each status except done and failed', () => {
    expect(STATEMENT_STATUSES).toHaveLength(6);
    expect(STATUSES_WITH_JOB).toEqual(STATEMENT_STATUSES.filter((one) => one !== 'done' && one !== 'failed'));
  });

  it.each<[ProviderStatementStatus, Stage[]]>([
    ['done', STAGES],
    ['failed', ['matching']],
  ])('lets users request a stage only when no job works on it: after %s, the stages %j', (from, allowed) => {
    expect(STAGES.filter((to) => refusal(from, to) === undefined)).toEqual(allowed);
    for (const to of STAGES.filter((one) => !allowed.includes(one)))
      expect(refusal(from, to)).toMatchObject({ code: 'VALIDATION_ERROR', details: { from, to, allowed } });
  });

  it.each(STATUSES_WITH_JOB)(
    'lets users request no stage while a job works on it: in the status %s',
    (from) => {
      for (const to of STAGES)
        expect(refusal(from, to)).toMatchObject({
          message: `A statement cannot go from ${from} to ${to}. Wait until its status is done.`,
          details: { from, to, allowed: [] },
        });
    },
  );

  it('advises users to wait only if a job works on it', () => {
    expect(refusal('failed', 'importing')?.message).toBe('A statement cannot go from failed to importing.');
  });
});

describe('the results of the lines', () => {
  it('depend on the books for each result that is compared again, and otherwise only on the file', () => {
    const ofFile = LINE_RESULTS.filter((result) => !COMPARED_RESULTS.some((one) => one === result));
    expect(ofFile).toEqual(['other', 'repeated', 'contradictory', 'unreadable']);
    expect(LINE_RESULTS.slice(0, COMPARED_RESULTS.length)).toEqual(COMPARED_RESULTS);
    expect(COMPARED_RESULTS).toContain('missing_at_provider');
  });
});

describe('the figures of a statement', () => {
  const FIGURES = {
    opening_balance_minor: 1_000,
    closing_balance_minor: 1_250,
    paid_in_minor: 300,
    withdrawn_minor: 50,
    stated_opening_balance_minor: 1_000,
    stated_closing_balance_minor: 1_250,
    stated_paid_in_minor: 300,
    stated_withdrawn_minor: 50,
  };
  const compared = (fields: Partial<Record<keyof typeof FIGURES, number | null>>, previous: number | null) =>
    checkFigures({ ...FIGURES, ...fields }, previous).map(
      ({ check, expectedMinor, foundMinor }) => `${check} ${expectedMinor} ${foundMinor}`,
    );

  it('are compared with its lines, and with the statement before it', () => {
    expect(compared({}, 990)).toEqual([
      'paid_in 300 300',
      'withdrawn 50 50',
      'opening_balance 1000 1000',
      'closing_balance 1250 1250',
      'lines 1250 1250',
      'previous_statement 990 1000',
    ]);
  });

  it('are compared also if they differ', () => {
    expect(compared({ stated_paid_in_minor: 0, stated_closing_balance_minor: 1 }, null)).toEqual([
      'paid_in 0 300',
      'withdrawn 50 50',
      'opening_balance 1000 1000',
      'closing_balance 1 1250',
      'lines 1250 1250',
    ]);
  });

  it.each<[keyof typeof FIGURES, missing: string[]]>([
    ['opening_balance_minor', ['opening_balance', 'lines', 'previous_statement']],
    ['closing_balance_minor', ['closing_balance', 'lines']],
    ['paid_in_minor', ['paid_in', 'lines']],
    ['withdrawn_minor', ['withdrawn', 'lines']],
    ['stated_opening_balance_minor', ['opening_balance']],
    ['stated_closing_balance_minor', ['closing_balance']],
    ['stated_paid_in_minor', ['paid_in']],
    ['stated_withdrawn_minor', ['withdrawn']],
  ])('are not compared if the file has no %s', (field, missing) => {
    const all = compared({}, 1_000);
    const left = all.filter((text) => !missing.includes(text.split(' ')[0] ?? ''));
    expect(compared({ [field]: null }, 1_000)).toEqual(left);
  });
});
