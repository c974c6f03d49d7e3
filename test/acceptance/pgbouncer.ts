import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from '../support/processes.ts';
import { executes, runStatement } from '../support/statements.ts';
import { freePort, newFolder } from './process.ts';

/** A PgBouncer in transaction mode that a test may stop and start. */
export interface PgBouncer {
  /** The URL for the same role and database through the pooler. */
  throughPooler(url: string): string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Closes each connection to PostgreSQL when it becomes idle, so that new settings of the role apply to the next one. */
  reconnect(): Promise<void>;
}

// Debian installs PgBouncer in a folder that is not in the PATH of ordinary users.
const PROGRAM = ['pgbouncer', '/usr/sbin/pgbouncer'].find(runs);

/** Whether PgBouncer is installed. No npm package contains it. */
export const hasPgBouncer = PROGRAM !== undefined;

/** @param settings - additional lines of the configuration of PgBouncer. */
export async function createPgBouncer(server: string, settings: readonly string[]): Promise<PgBouncer> {
  const { username, hostname, port: serverPort } = new URL(server);
  const folder = await newFolder();
  const port = await freePort();
  const users = join(folder, 'users.txt');
  const configuration = join(folder, 'pgbouncer.ini');
  await writeFile(users, `"${username}" ""\n`);
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort}`,
    '[pgbouncer]',
    'pool_mode = transaction',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    `admin_users = ${username}`,
    ...settings,
  ];
  await writeFile(configuration, lines.join('\n'));
  const throughPooler = (url: string, database?: string) => {
    const address = new URL(url);
    address.port = String(port);
    if (database !== undefined) address.pathname = `/${database}`;
    return address.href;
  };
  const consoleUrl = throughPooler(server, 'pgbouncer');
  let program: ChildProcess;

  return {
    throughPooler: (url) => throughPooler(url),
    async start() {
      // PgBouncer refuses to run as root.
      const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
      program = spawn(PROGRAM ?? '', ['-q', ...user, configuration], { cwd: folder, stdio: 'ignore' });
      while (!(await executes(consoleUrl, 'show version'))) {
        if (program.exitCode !== null) throw new Error(`PgBouncer ended with ${program.exitCode}.`);
        await sleep(25);
      }
    },
    async stop() {
      const ended = once(program, 'exit');
      program.kill('SIGTERM');
      await ended;
    },
    reconnect: async () => void (await runStatement(consoleUrl, 'reconnect')),
  };
}

function runs(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
