import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  cleanUpAfterwards,
  type Environment,
  emptyDatabase,
  launch,
  newDatabase,
  newFolder,
  ROOT,
  type RunningService,
  runToEnd,
  startService,
  untilNoProcessIn,
} from './process.ts';

cleanUpAfterwards();

const QUIET_NPM = { npm_config_update_notifier: 'false' };
const SHELLS = ['dash', 'bash', 'busybox'].filter(
  (shell) => spawnSync(shell, ['-c', ':']).error === undefined,
);
const hasPidNamespaces = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

/** Runs `npm start` with this shell for its scripts. */
async function npmStart(shell: string, environment: Environment, prefix: string[] = []) {
  const sh = join(await newFolder(), 'sh');
  const program = execFileSync('/bin/sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' }).trim();
  await symlink(program, sh); // BusyBox takes its role from the name
  return startService(
    { ...QUIET_NPM, npm_config_script_shell: sh, ...environment },
    { command: [...prefix, 'npm', 'start'], folder: ROOT },
  );
}

/** What the program needs besides its build and packages. */
const PROGRAM_FILES = [
  ...['package.json', 'packages/client/package.json', 'scripts/ensure-build.mjs'],
  ...['migrations', 'templates', 'fonts'],
];

/** @returns the output of the service. */
async function expectOrderlyEnd(service: RunningService, dataDir: string): Promise<string> {
  const { stdout } = await service.end();
  await untilNoProcessIn(dataDir);
  await expect(fetch(`${service.origin}/livez`)).rejects.toThrow('fetch failed');
  expect(await readdir(join(dataDir, 'postgres'))).not.toContain('postmaster.pid');
  expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).toMatch(/database system is shut down\n$/);
  return stdout;
}

describe.runIf(process.platform !== 'win32')('npm start', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await newFolder();
  });

  const cases = [
    ...SHELLS.map((shell) => ({ shell, signal: 'SIGTERM' as const })),
    { shell: 'sh', signal: 'SIGHUP' as const },
    { shell: 'sh', signal: 'SIGKILL' as const },
  ];

  test.each(cases)(
    'stops the service and its database when npm alone receives $signal ($shell)',
    async ({ shell, signal }) => {
      const service = await npmStart(shell, { DATA_DIR: dataDir });
      process.kill(service.pid, signal);
      await expectOrderlyEnd(service, dataDir);
    },
  );

  test.each(['SIGINT', 'SIGHUP'] as const)(
    'stops cleanly when a terminal sends %s to the whole process group, although npm repeats it',
    async (signal) => {
      const service = await npmStart('sh', { DATA_DIR: dataDir });
      process.kill(-service.pid, signal);
      expect(await expectOrderlyEnd(service, dataDir)).toContain('Stopped');
    },
  );

  test.runIf(hasPidNamespaces)('stops cleanly as the first process of a container', async () => {
    const service = await npmStart('sh', { DATA_DIR: dataDir }, [
      'unshare',
      '--pid',
      '--fork',
      '--kill-child',
    ]);
    const [first] = childrenOf(service.pid);
    process.kill(Number(first), 'SIGTERM');
    expect(await expectOrderlyEnd(service, dataDir)).toContain('Stopped');
  });
});

describe('an installation without development packages', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await install();
  });

  const inFolder = (...command: string[]) => runToEnd(command, QUIET_NPM, folder);

  test('runs every command of the built program', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const built = Object.keys(scripts).filter((name) => /^exec node dist\/cli\//.test(scripts[name]));
    expect(built).toContain('verify');
    const { npm_config_update_notifier } = QUIET_NPM;
    const environment = { DATABASE_URL: await emptyDatabase(), npm_config_update_notifier };
    const run = (name: string, ...args: string[]) =>
      runToEnd(['npm', 'run', '--silent', name, '--', ...args], environment, folder);
    expect(await run('migrate')).toMatchObject({ status: 0, stderr: '' });
    expect(await run('verify')).toMatchObject({ status: 0, stderr: '' });
    for (const name of built) {
      const { stderr } = await run(name, '--no-such-option');
      expect(stderr, name).not.toMatch(/not found|Cannot find|not built/);
    }
  });

  test('starts with npm start', async () => {
    const service = await startService(
      { ...QUIET_NPM, DATABASE_URL: await newDatabase() },
      { command: ['npm', 'start'], folder },
    );
    expect((await service.stop()).status).toBe(0);
    await untilNoProcessIn(folder);
  });

  test('refuses a build that is older than the sources', async () => {
    const source = join(folder, 'src', 'server.ts');
    await mkdir(dirname(source));
    await writeFile(source, '');
    expect(await inFolder('npm', 'run', '--silent', 'migrate')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The build is older than the sources in src\/. Run "npm ci && /),
    });
    await utimes(source, 1, 1);
    expect((await inFolder('npm', 'run', '--silent', 'simulate', '--', '--help')).stderr).toMatch(/^Usage/);
  });

  test('uses a build that is older than package-lock.json, which npm prune writes', async () => {
    const source = join(folder, 'src', 'server.ts');
    await mkdir(dirname(source));
    await writeFile(source, '');
    await utimes(source, 1, 1);
    await writeFile(join(folder, 'package-lock.json'), '{}');
    expect((await inFolder('npm', 'run', '--silent', 'simulate', '--', '--help')).stderr).toMatch(/^Usage/);
  });

  test('explains how to build when it was never built', async () => {
    await rm(join(folder, 'dist'), { recursive: true });
    for (const script of ['start', 'verify', 'create-admin']) {
      expect(await inFolder('npm', 'run', '--silent', script)).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^The service is not built: .* Run "npm ci && npm run build" .*\n$/),
      });
    }
  });
});

describe('a checkout with development packages', () => {
  const SERVICE_BUILT = /^Built the service in \d+\.\d s$/m;
  const CONSOLE_BUILT = /^Built the staff console in \d+\.\d s$/m;
  let folder: string;
  let lock: string;

  /** The build of this checkout, which is up to date. */
  const BUILT = ['dist', 'web/dist'];

  beforeEach(async () => {
    folder = await checkOut(BUILT);
    lock = join(folder, 'node_modules', '.build-lock');
  });

  const ensureBuild = () => runToEnd([process.execPath, 'scripts/ensure-build.mjs'], {}, folder);
  const launchBuild = () => launch([process.execPath, 'scripts/ensure-build.mjs'], folder, {});
  const addLine = async (line: string, ...path: string[]) => {
    const source = join(folder, ...path);
    await writeFile(source, `${await readFile(source, 'utf8')}\n${line}\n`);
  };

  test('is built once if several commands start at the same time, and each part is reported', async () => {
    for (const part of BUILT) await rm(join(folder, part), { recursive: true });
    await writeFile(lock, ''); // as if another process builds for an hour
    await utimes(lock, new Date(), new Date(Date.now() + 3_600_000));
    const builds = [launchBuild(), launchBuild()];
    for (const { output } of builds) {
      await expect.poll(output, { timeout: 30_000 }).toBe('Waiting for another process that builds\n');
    }
    await rm(lock);
    const outputs = () => builds.map(({ output }) => output());
    await expect.poll(() => outputs().join(''), { timeout: 30_000 }).toContain('Building the staff console');

    const ended = await Promise.all(builds.map((build) => build.ended));
    expect(ended.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const [waited = '', built = ''] = outputs().sort((a, b) => a.length - b.length);
    expect(waited).toBe('Waiting for another process that builds\n');
    const lines = built.trimEnd().split('\n');
    expect(lines.slice(1, 3)).toEqual([
      'Building the service (not built yet)',
      'Building the staff console (not built yet)',
    ]);
    expect(lines).toHaveLength(5);
    expect(built).toMatch(SERVICE_BUILT);
    expect(built).toMatch(CONSOLE_BUILT);
    expect(await readdir(join(folder, 'dist'))).toContain('server.js');
    expect(await readdir(join(folder, 'web', 'dist'))).toContain('index.html.br');
  });

  test('builds again only the part that has changed, also if it changed while it was built', async () => {
    const change = () => addLine('// changed', 'src', 'server.ts');
    await change();
    const { ended, output } = launchBuild();
    await expect.poll(output, { timeout: 30_000 }).toContain('Building the service');
    await change();
    for (const { status, stdout, stderr } of [await ended, await ensureBuild()]) {
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/^Building the service \(src has changed\)\nBuilt the service in .*\n$/);
    }
  });

  test('builds nothing and prints nothing if nothing has changed', async () => {
    expect(await ensureBuild()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('builds all parts and the client with its types on npm run build', async () => {
    const { status, stdout, stderr } = await runToEnd(['npm', 'run', '--silent', 'build'], QUIET_NPM, folder);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(SERVICE_BUILT);
    expect(stdout).toMatch(CONSOLE_BUILT);
    const client = await readdir(join(folder, 'packages', 'client', 'dist'));
    expect(client).toEqual(expect.arrayContaining(['index.js', 'index.d.ts']));
  });

  test('stops a build when its process is stopped', async () => {
    await addLine('// changed', 'src', 'server.ts');
    const { child, ended, output } = launchBuild();
    await expect.poll(output, { timeout: 30_000 }).toContain('Building the service (src has changed)');
    expect(existsSync(lock)).toBe(true);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ status: 1, stderr: '' });
    expect(existsSync(lock)).toBe(false);
    await untilNoProcessIn(folder);
    expect(output()).not.toMatch(SERVICE_BUILT);
    expect(await readdir(join(folder, 'dist'))).not.toContain('.built');
    expect((await ensureBuild()).stdout).toMatch(
      /^Building the service \(not built yet\)\nBuilt the service in .*\n$/,
    );
  });

  test('runs no command if a part cannot be built, although a killed build has left its lock', async () => {
    await writeFile(lock, '');
    await utimes(lock, 1, 1);
    await addLine("import './missing.ts';", 'src', 'server.ts');
    const { status, stdout, stderr } = await runToEnd(
      ['npm', 'run', '--silent', 'migrate'],
      QUIET_NPM,
      folder,
    );
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: 'Waiting for another process that builds\nBuilding the service (src has changed)\n',
    });
    expect(stderr).toContain("Could not resolve './missing.ts' in src/server.ts");
    expect(stderr).toMatch(/\nBuilding the service failed\.\n$/);
  });
});

test('a checkout is built again only when a source has changed', async () => {
  const folder = await checkOut(['dist']);
  await rm(join(folder, 'web'), { recursive: true }); // optional
  const migrate = async () => {
    const environment = { DATABASE_URL: await emptyDatabase(), ...QUIET_NPM };
    const { status, stdout, stderr } = await runToEnd(
      ['npm', 'run', 'migrate', '--silent'],
      environment,
      folder,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout;
  };
  await migrate();
  const built = join(folder, 'dist', 'cli', 'migrate.js');
  await writeFile(built, "console.log('not built again')");
  expect(await migrate()).toBe('not built again\n');
  const source = join(folder, 'src', 'cli', 'migrate.ts');
  await writeFile(source, `${await readFile(source, 'utf8')}\nconsole.log('changed');\n`);
  expect(await migrate()).toMatch(/applied 0001[\s\S]*\nchanged\n$/);
});

/** A copy of this checkout and its build, as `npm ci --omit=dev` installs it. */
async function install(): Promise<string> {
  const folder = await newFolder();
  await copyInto(folder, [...PROGRAM_FILES, 'dist']);
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  for (const path of Object.keys(packages)) {
    const isDirect = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && packages[path].dev !== true;
    if (!isDirect || !existsSync(join(ROOT, path))) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    const { link, resolved } = packages[path];
    await symlink(link ? join(folder, resolved) : join(ROOT, path), join(folder, path));
  }
  return folder;
}

/** A copy of this checkout after `npm ci`, with these parts of its build. */
async function checkOut(built: string[] = []): Promise<string> {
  const folder = await newFolder();
  const sources = ['src', 'tools', 'packages/client/src', 'web/src'];
  const settings = [
    'tsconfig.json',
    'packages/client/tsconfig.json',
    'packages/client/make-types.mjs',
    'openapi.json',
    'rolldown.config.ts',
    'package-lock.json',
  ];
  const web = ['index.html', 'vite.config.ts', 'package.json', 'tsconfig.json'].map((name) => `web/${name}`);
  await copyInto(folder, [...PROGRAM_FILES, ...sources, ...settings, ...web, ...built]);
  await mkdir(join(folder, 'node_modules')); // Not a link to the folder, because builds of this checkout use its lock.
  for (const name of await readdir(join(ROOT, 'node_modules')))
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  const ofClient = 'packages/client/node_modules';
  await symlink(join(ROOT, ofClient), join(folder, ofClient));
  return folder;
}

async function copyInto(folder: string, names: string[]): Promise<void> {
  for (const name of names)
    await cp(join(ROOT, name), join(folder, name), { recursive: true, preserveTimestamps: true });
}

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
}
