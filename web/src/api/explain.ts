import { t } from '../i18n/index.ts';
import { problemOf } from './problem.ts';

/** Why a query failed, in words. */
export function explain(error: unknown): string {
  const problem = problemOf(error);
  if (!problem || problem.code === 'CONNECTION') return t('problem.connection');
  if (problem.code === 'FORBIDDEN') return t('problem.forbidden');
  return problem.message;
}
