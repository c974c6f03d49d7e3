import { execFileSync } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanUpAfterwards, newDatabase, newFolder, ROOT, runToEnd, startService } from './process.ts';

cleanUpAfterwards();

const HEADING = '## One payment, end to end';
const PORT_OF_THE_README = /^PORT=8080$/m;
/** The README requires only curl and node. Every system has date. */
const TOOLS = ['bash', 'curl', 'date'];
const NEXT_BLOCK = '--- next block ---';

test('the commands of the README work as printed, on another port, and when they are repeated', async () => {
  const blocks = await readBlocks();
  expect(blocks.length).toBeGreaterThan(1);
  expect(blocks.join('\n').match(/8080/g), 'places that name the port').toHaveLength(1);
  expect(blocks[0]).toMatch(PORT_OF_THE_README);
  const service = await startService({ DATABASE_URL: await newDatabase() });
  const script = blocks.join(`\necho '${NEXT_BLOCK}'\n`).replace(PORT_OF_THE_README, `PORT=${service.port}`);
  const environment = { PATH: await pathOf(TOOLS) };

  const total = 2_000 + 52 * 400; // the weekly demo plan, on which the walk opens its account
  const paid = Number(/"TransAmount": *"([\d.]+)"/.exec(script)?.[1]);
  expect(paid).toBeGreaterThan(0);
  const accounts: (string | undefined)[] = [];
  for (const run of ['first', 'second']) {
    const walk = await runToEnd(['bash', '-e', '-o', 'pipefail', '-c', script], environment);
    expect(walk.stderr, run).toBe('');
    expect(walk.status, walk.stdout).toBe(0);
    const lastOutput = walk.stdout.split(NEXT_BLOCK).at(-1) ?? '';
    expect(Number(/paid\W+([\d.]+)/.exec(lastOutput)?.[1]), lastOutput).toBe(paid);
    expect(Number(/balance\W+([\d.]+)/.exec(lastOutput)?.[1]), lastOutput).toBe(total - paid);
    accounts.push(/^account: (.+)$/m.exec(walk.stdout)?.[1]);
  }
  expect(accounts[1]).toBe(accounts[0]);
  expect((await service.stop()).status).toBe(0);
});

/** The shell blocks below the heading, in order. */
async function readBlocks(): Promise<string[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const section = readme.split(`\n${HEADING}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '');
}

/** A PATH with only node and these tools. */
async function pathOf(tools: string[]): Promise<string> {
  const folder = await newFolder();
  await symlink(process.execPath, join(folder, 'node'));
  for (const tool of tools) {
    const file = execFileSync('/bin/sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim();
    await symlink(file, join(folder, tool));
  }
  return folder;
}
