import { expect } from 'vitest';
import { read } from './client.ts';
import type { RunningService } from './process.ts';

/** Asks the running service itself whether every law of the books holds. */
export async function expectBooksToHold(service: RunningService, token: string): Promise<void> {
  const proof = await read(service, token, '/reports/proof');
  expect(proof.laws.filter((law: { holds: boolean }) => !law.holds)).toEqual([]);
  expect(proof.holds).toBe(true);
}
