import { describe, expect, it } from 'vitest';
import type { ProviderStatementStatus } from '../core/database/tables.ts';
import { AppError } from '../core/http/errors.ts';
import {
  COMPARED_RESULTS,
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
