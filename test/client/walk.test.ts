import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useService } from '../harness.ts';
import { walk } from './walk.ts';

const service = useService();
const ROOT = join(import.meta.dirname, '..', '..');

describe('a client generated from openapi.json', () => {
  it('compiles under strict, and its types refuse mistakes', () => {
    const run = () =>
      execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', import.meta.dirname], { encoding: 'utf8' });
    expect(run()).toBe('');
  });

  it('walks from registering to the new balance', async () => {
    const { before, after, listed } = await walk(service.origin);
    expect(before).toMatchObject({ paid: 0, balance: 22_800, status: 'active' });
    expect(after).toMatchObject({ paid: 2_400, balance: 20_400, arrears: 0 });
    expect(listed).toEqual([after]);
  });
});
