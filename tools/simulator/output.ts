import { ClientError } from '@account-management/client';
import type { Comparison } from './comparison.ts';
import { UsageError } from './options.ts';
import { ServiceError } from './service.ts';

const MAX_DIFFERENCES_SHOWN = 50;

/** Prints the figures of a comparison, its differences and its result. */
export function printComparison({ lines, differences }: Comparison): void {
  row('', 'sent', 'shown');
  for (const { label, sent, shown } of lines) row(label, sent, shown);
  console.log('');
  for (const difference of differences.slice(0, MAX_DIFFERENCES_SHOWN))
    console.log(`DIFFERENCE ${difference}`);
  if (differences.length > MAX_DIFFERENCES_SHOWN)
    console.log(`… and ${differences.length - MAX_DIFFERENCES_SHOWN} more`);
  console.log(
    differences.length === 0
      ? 'The service shows exactly what was sent.'
      : `${differences.length} differences between what was sent and what the service shows.`,
  );
}

export function row(label: string, ...cells: string[]): void {
  console.log(`  ${label.padEnd(26)}${cells.map((cell) => cell.padStart(16)).join('')}`.trimEnd());
}

/** Ends the program. Expected errors are printed without their stack. */
export function failWith(error: unknown): void {
  process.exitCode = 1;
  const isExpected = [UsageError, ServiceError, ClientError].some((kind) => error instanceof kind);
  console.error(isExpected ? (error as Error).message : error);
}
