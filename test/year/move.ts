import { expect } from 'vitest';
import { expectVerifyToPass } from '../acceptance/books.ts';
import { adminCalls, inParallel, read, registerAdmin } from '../acceptance/client.ts';
import { sumsOf, withoutIds } from '../acceptance/moved-portfolio.ts';
import {
  emptyDatabase,
  NO_RATE_LIMITS,
  type RunningService,
  report,
  startService,
} from '../acceptance/process.ts';
import { exportFiles } from '../support/export-files.ts';
import { importAll } from '../support/imports.ts';

const READERS = 6;
/** An import of a year's payments can take twenty minutes. */
const IMPORT_WAITS = 10;

export interface Instance {
  service: RunningService;
  token: string;
  url: string;
}

/**
 * Imports an export of a service into an empty database, and compares what both show: a second export, the statement of every
 * account, the summary of every period, and the proof.
 * @param moment - what the clocks of both services show.
 */
export async function expectTheSameAfterMove(
  source: Instance,
  { moment, periods, accountIds }: { moment: string; periods: [string, string][]; accountIds: number[] },
): Promise<void> {
  const began = performance.now();
  const files = await exportFiles(adminCalls(source.service, source.token));
  const url = await emptyDatabase();
  const environment = { ...NO_RATE_LIMITS, DATABASE_URL: url, DEMO_DATA: 'off', LOG_LEVEL: 'warn' };
  const service = await startService({ ...environment, TEST_CLOCK: 'on', ACCESS_TOKEN_TTL: '86400' });
  const target = { service, token: await registerAdmin(service), url };
  const calls = adminCalls(service, target.token);
  const set = await service.call('PUT', '/test/clock', { now: moment });
  expect(set.status, set.text).toBe(200);

  const done = await importAll(calls, files, IMPORT_WAITS);
  expect(done).toMatchObject({ warnings: 0, differences: 0 });
  const again = await exportFiles(calls);
  expect(Object.keys(again)).toEqual(Object.keys(files));
  for (const [file, bytes] of Object.entries(files))
    expect(firstDifference(bytes, again[file as keyof typeof again]), file).toBeUndefined();

  await inParallel(READERS, accountIds, async (id) => {
    const path = `/accounts/${id}/statement`;
    expect(withoutIds(await readOf(target, path)), path).toEqual(withoutIds(await readOf(source, path)));
  });
  for (const [startDate, endDate] of periods) {
    const path = `/reports/accounts/summary?startDate=${startDate}&endDate=${endDate}`;
    const summaryOf = async (instance: Instance) => {
      // An export has the present terms of a changed plan, not the original ones.
      const { byOriginalTerms: _, ...summary } = await readOf(instance, path);
      return withoutIds(summary);
    };
    expect(await summaryOf(target), path).toEqual(await summaryOf(source));
  }
  const sums = sumsOf(await expectVerifyToPass(source.url));
  expect(sums).toHaveProperty('ledger_events');
  expect(sumsOf(await expectVerifyToPass(url))).toEqual(sums);
  report(
    `moved to an empty database in ${((performance.now() - began) / 1_000).toFixed(0)} s: ` +
      `${accountIds.length} statements, ${periods.length} summaries and the sums of verify are equal, and a second export is identical`,
  );
}

/** The first line that differs, because a comparison of whole files would print megabytes. */
function firstDifference(expected: Buffer, found: Buffer) {
  if (expected.equals(found)) return undefined;
  const [a, b] = [expected.toString().split('\n'), found.toString().split('\n')];
  const line = a.findIndex((text, at) => text !== b[at]);
  return { line: line + 1, expected: a[line], found: b[line] };
}

function readOf({ service, token }: Instance, path: string) {
  return read(service, token, path);
}
