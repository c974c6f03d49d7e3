import { expect } from 'vitest';
import type { FileName } from '../../src/portfolio/format-rules.ts';
import type { TestService } from './harness.ts';
import type { Answer } from './http.ts';
import { untilPasses } from './waiting.ts';

export type ImportAnswer = Answer['body'];

/** A service in this process or another one, and the function that calls it as an admin. */
export type AdminCalls = Pick<TestService, 'origin' | 'adminToken' | 'call'>;

/** Creates an import, and uploads its files. A file is text, bytes, or lines. */
export async function uploadImport(
  service: AdminCalls,
  files: Partial<Record<FileName, string | readonly string[] | Buffer>>,
): Promise<number> {
  const created = await service.call('POST', '/imports');
  expect(created.status, created.text).toBe(201);
  const { id } = created.body.data;
  for (const [file, content] of Object.entries(files)) await uploadFile(service, id, file, content);
  return id;
}

export async function uploadFile(
  service: AdminCalls,
  id: number,
  file: string,
  content: string | readonly string[] | Buffer,
): Promise<void> {
  const body = typeof content === 'string' || Buffer.isBuffer(content) ? content : content.join('\r\n');
  const response = await fetch(`${service.origin}/api/imports/${id}/files/${file}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'text/csv' },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  expect(response.status, await response.text()).toBe(200);
}

/**
 * Starts a job of an import, and waits until it ends.
 * @param waits - how often the longest wait of a test may pass.
 */
export async function runImportJob(
  service: AdminCalls,
  id: number,
  job: 'check' | 'run' | 'undo',
  waits = 1,
): Promise<ImportAnswer> {
  const started = await service.call('POST', `/imports/${id}/${job}`);
  expect(started.status, started.text).toBe(200);
  return untilImportJobEnds(service, id, waits);
}

/** Waits until no job works on an import. */
export async function untilImportJobEnds(service: AdminCalls, id: number, waits = 1): Promise<ImportAnswer> {
  const readEnded = async () => {
    const { body } = await service.call('GET', `/imports/${id}`);
    const { status } = body.data;
    if (['checking', 'running', 'undoing'].includes(status))
      throw new Error(`Import ${id} is still ${status}.`);
    return body.data;
  };
  for (let wait = 1; wait < waits; wait += 1) {
    const ended = await untilPasses(readEnded).catch(() => undefined);
    if (ended) return ended;
  }
  return untilPasses(readEnded);
}

/** The problems of the last check, in the order in which they were found. */
export async function problemsOf(service: AdminCalls, id: number): Promise<ImportAnswer[]> {
  const { status, body, text } = await service.call('GET', `/imports/${id}/problems?limit=100&sort=id`);
  expect(status, text).toBe(200);
  return body.data;
}

/** Uploads the files, expects that the check finds no problem, and runs the import. */
export async function importAll(
  service: AdminCalls,
  files: Parameters<typeof uploadImport>[1],
  waits = 1,
): Promise<ImportAnswer> {
  const id = await uploadImport(service, files);
  const checked = await runImportJob(service, id, 'check', waits);
  expect(await problemsOf(service, id)).toEqual([]);
  expect(checked).toMatchObject({ status: 'checked', errors: 0, failure: null });
  const done = await runImportJob(service, id, 'run', waits);
  expect(done).toMatchObject({ status: 'done', failure: null });
  return done;
}

/** Expects that all checks of the books pass. */
export async function expectProof(service: AdminCalls): Promise<void> {
  const { status, body, text } = await service.call('GET', '/reports/proof');
  expect(status, text).toBe(200);
  const broken = body.data.checks.filter(({ holds }: { holds: boolean }) => !holds);
  expect(broken).toEqual([]);
}
