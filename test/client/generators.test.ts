import { execFileSync } from 'node:child_process';
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newAccount, useService } from '../support/harness.ts';
import { run } from '../support/processes.ts';
import { walk } from './fetch-walk.ts';
import { compileStrictly, ROOT } from './package.ts';

/** Clients that others generate from openapi.json. */

const service = useService();

describe('openapi-typescript with openapi-fetch', () => {
  it('compiles under strict, and its types refuse mistakes', () => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const compile = () => execFileSync(tsc, ['-p', import.meta.dirname], { encoding: 'utf8' });
    expect(compile()).toBe('');
  });

  it('goes from registering to the new balance', async () => {
    const { before, after, listed } = await walk(service.origin);
    expect(before).toMatchObject({ paid: 0, balance: 22_800, status: 'active' });
    expect(after).toMatchObject({ paid: 2_400, balance: 20_400, arrears: 0 });
    expect(listed).toEqual([after]);
  });
});

describe('@hey-api/openapi-ts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hey-api-'));
  let report: string;

  beforeAll(async () => {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const hook = join(import.meta.dirname, 'resolve-typescript-5.mjs');
    const generator = join(ROOT, 'node_modules/@hey-api/openapi-ts/dist/run.mjs');
    const options = [
      '-i',
      join(ROOT, 'openapi.json'),
      '-o',
      join(folder, 'api'),
      '-c',
      '@hey-api/client-fetch',
    ];
    const command = ['--import', hook, generator, ...options];
    report = (await run(process.execPath, command, { cwd: folder })).stdout;
    writeFileSync(join(folder, 'use.ts'), USE);
  });

  it('generates without warnings', () => {
    expect(report).toContain('Done!');
    expect(report).not.toMatch(/warn|duplicate|unsupported|error/i);
  });

  it('compiles under strict', () => {
    // Its own client does not compile with exactOptionalPropertyTypes, whatever the description says.
    expect(compileStrictly(folder, ['use.ts'], { exactOptionalPropertyTypes: false })).toBe('');
  });

  it('filters a list and reads the details of an error', async () => {
    const account = await newAccount(service);
    const env = {
      ...process.env,
      BASE_URL: service.origin,
      TOKEN: service.adminToken,
      ACCOUNT: String(account.id),
    };
    // Not execFileSync: the service runs in this process.
    const tsx = join(ROOT, 'node_modules/.bin/tsx');
    const { stdout } = await run(tsx, ['use.ts'], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual({ ids: [account.id], missing: 'account 4711' });
  });
});

const USE = `
import { client } from './api/client.gen.js';
import { getAccount, listAccounts } from './api/sdk.gen.js';

client.setConfig({ baseUrl: process.env.BASE_URL ?? '', auth: process.env.TOKEN ?? '' });

const listed = await listAccounts({
  query: { 'filter[status]': { in: 'active,pending' }, 'filter[id]': { eq: Number(process.env.ACCOUNT) } },
});
const ids = listed.data?.data.map(({ id }) => id);

const { error } = await getAccount({ path: { id: 4711 } });
const problem = error?.error;
const missing = problem?.code === 'NOT_FOUND' ? \`\${problem.details.resource} \${problem.details.id}\` : undefined;
console.log(JSON.stringify({ ids, missing }));
`;
