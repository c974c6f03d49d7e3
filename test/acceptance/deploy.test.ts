import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { cleanUpAfterwards, newFolder, processesIn, ROOT, startService } from './process.ts';

vi.setConfig({ testTimeout: 60_000 });
cleanUpAfterwards();

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

describe('deploy/ams.service', () => {
  const unit = join(ROOT, 'deploy', 'ams.service');

  test.runIf(has('systemd-analyze', '--version'))('is a valid unit', () => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  });

  test('starts the service by its ExecStart, and SIGTERM to that process stops service and database', async () => {
    const lines = (await readFile(unit, 'utf8')).split('\n');
    const values = (key: string) =>
      lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
    const command = values('ExecStart').join().replace('/usr/bin/node', process.execPath);
    const environment = Object.fromEntries(
      values('Environment').flatMap((line) => line.split(' ').map((pair) => pair.split('=', 2))),
    );
    expect(environment).toEqual({ NODE_ENV: 'production', DATA_DIR: '/var/lib/ams/data' });
    expect(values('KillMode')).toEqual(['mixed']);

    const stateDirectory = await newFolder();
    const DATA_DIR = environment.DATA_DIR.replace('/var/lib/ams', stateDirectory);
    const secrets = { JWT_SECRET: 'x'.repeat(32), WEBHOOK_SECRET: 'what the provider sends' };
    const service = await startService(
      { ...environment, ...secrets, DATA_DIR },
      { command: command.replaceAll('/opt/ams', ROOT).split(' ') },
    );
    expect(await service.stop('SIGTERM')).toMatchObject({ status: 0, signal: null });
    expect(await processesIn(stateDirectory)).toEqual([]);
  });
});

describe('the container files', () => {
  const linesOf = async (name: string) => (await readFile(join(ROOT, name), 'utf8')).split('\n');

  test('keep settings with secrets out of the image', async () => {
    expect(await linesOf('.dockerignore')).toEqual(expect.arrayContaining(['.env', '.env.*', 'data']));
  });

  test('publish ports on the loopback interface alone', async () => {
    const ports = (await linesOf('compose.yaml')).filter((line) => line.trim().startsWith('ports:'));
    expect(ports).toHaveLength(2);
    for (const line of ports) expect(line).toMatch(/^ +ports: \["127\.0\.0\.1:\d+:8080"\]$/);
  });
});
