import type { ErrorCode } from '@account-management/client';
import { t } from '../i18n/index.ts';
import { inWords, ruleInWords } from './words.ts';

/** Why a request failed. */
export interface Problem {
  /** CONNECTION: no answer came. The service may have done the work. */
  code: ErrorCode | 'CONNECTION';
  /** What the service answered, in the language of the user. Empty for CONNECTION. */
  message: string;
  /** The wrong fields of the request. */
  fields: readonly { path: string; message: string }[];
  details: Readonly<Record<string, unknown>>;
}

interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: Record<string, unknown> };
}

/** @param error - what a query or a write reports: an error body of the API, or what `fetch` threw. */
export function problemOf(error: unknown): Problem | undefined {
  if (error === null || error === undefined) return undefined;
  if (!isErrorBody(error)) return { code: 'CONNECTION', message: '', fields: [], details: {} };
  const { code, message, details = {} } = error.error;
  if (code === 'DUPLICATE_ENTRY' && details.resource === 'approval')
    return { code, message: t('problem.pendingApproval', { id: Number(details.id) }), fields: [], details };
  const fields = fieldsOf(code, message, details).map(({ path, message: rule }) => {
    return { path, message: ruleInWords(rule) };
  });
  return { code, message: inWords(code, message, details), fields, details };
}

export function isErrorBody(value: unknown): value is ErrorBody {
  const { error } = (value ?? {}) as Partial<ErrorBody>;
  return typeof error?.code === 'string' && typeof error.message === 'string';
}

function fieldsOf(code: ErrorCode, message: string, details: Record<string, unknown>): Problem['fields'] {
  if (Array.isArray(details.fields)) return details.fields as { path: string; message: string }[];
  const isAboutField = code === 'DUPLICATE_ENTRY' || code === 'NOT_FOUND';
  return isAboutField && typeof details.field === 'string' ? [{ path: details.field, message }] : [];
}
