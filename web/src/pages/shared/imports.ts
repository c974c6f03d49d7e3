import type { Schemas } from '../../api/paths.ts';
import type { Tone } from '../../ui/badge.tsx';

export type Import = Schemas['Import'];
export type ImportFile = Schemas['PortfolioFile'];

/** The files of an import, in the order in which people fill them in. */
export const FILES = [
  'customers',
  'employees',
  'products',
  'pay_plans',
  'accounts',
  'payments',
  'account_changes',
  'credit_moves',
  'payment_methods',
] as const satisfies readonly ImportFile[];

export const IMPORT_TONES: Readonly<Record<Import['status'], Tone>> = {
  uploading: 'neutral',
  checking: 'info',
  checked: 'info',
  running: 'info',
  done: 'good',
  failed: 'bad',
  undoing: 'info',
  undone: 'neutral',
};

export function hasRunningJob({ status }: Import): boolean {
  return status === 'checking' || status === 'running' || status === 'undoing';
}

export function rowsOf({ rows }: Import): number {
  return FILES.reduce((sum, file) => sum + (rows[file] ?? 0), 0);
}
