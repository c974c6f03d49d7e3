import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { ROOT } from '../acceptance/process.ts';

/**
 * Machines of the test: each has its own network card, list of processes, host name and folders, by the namespaces of Linux. So
 * each can run the installed programs with the files of `deploy/` in their real places.
 */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** Runs shell commands as root. @returns what they print. @throws an error with all output if one fails. */
  run(commands: string, options?: { timeoutMs?: number }): Promise<string>;
  /** Cuts the power: every process ends at once. Files do not change. */
  powerOff(): Promise<void>;
  /** Starts the machine and its enabled units. */
  powerOn(): Promise<void>;
  /** Replaces the machine, which is off, by a new one with empty folders. */
  replace(): void;
  /** Cuts the network: packets are lost without an error. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  /** The folder on this machine that contains the files of the host. */
  readonly folder: string;
}

const run = promisify(execFile);
const NETWORK = '198.18.0'; // for tests of network devices (RFC 2544), so that no real network has it
const BRIDGE = 'ams';
const COMMAND_TIMEOUT_MS = 60_000;
/** Folders that each host has for itself, by their place on it. */
const OWN_FOLDERS = [
  '/etc/default',
  '/etc/patroni',
  '/etc/postgresql-common',
  '/etc/systemd/system',
  '/root',
  '/run',
  '/var/lib/etcd',
  '/var/lib/postgresql',
  '/var/log',
  '/var/log/pgbackrest',
  '/var/log/postgresql',
  '/var/spool/pgbackrest',
  '/tmp',
];

const started: Host[] = [];
/** Files of this machine over which the test has mounted other files. */
const hidden: string[] = [];

/**
 * Call once in each file, after `cleanUpAfterwards`, because the last `afterAll` runs first. Powers off all hosts before their
 * folders are removed. Also removes the network and the mounts, because the next file makes its own.
 */
export function powerOffAfterwards(): void {
  afterAll(async () => {
    await Promise.all(started.map((host) => host.powerOff()));
    if (await exists(BRIDGE)) await run('ip', ['link', 'delete', BRIDGE]);
    for (const place of hidden) await run('umount', ['--lazy', place]);
  });
}

/** Makes a network, and this machine a part of it. The names of all hosts are known on all of them. */
export async function createNetwork(folder: string, names: readonly string[]): Promise<void> {
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['address', 'add', `${NETWORK}.1/24`, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
  const lines = names.map((name, at) => `${addressOf(at)} ${name}`);
  const hosts = join(folder, 'hosts');
  writeFileSync(
    hosts,
    ['127.0.0.1 localhost', `${NETWORK}.1 app1`, `${NETWORK}.2 app2`, ...lines, ''].join('\n'),
  );
  await hide('/etc/hosts', hosts);
}

async function hide(place: string, file: string): Promise<void> {
  await run('mount', ['--bind', file, place]);
  hidden.push(place);
}

function addressOf(at: number): string {
  return `${NETWORK}.${11 + at}`;
}

/**
 * @param at the number of the host, from 0.
 * @param shared folders that several hosts share: the path on the host, and the path on this machine.
 */
export function createHost(folder: string, name: string, at: number, shared: Record<string, string>): Host {
  const address = addressOf(at);
  const cable = `cable-${name}`;
  const home = join(folder, name);
  const config = join(home, 'pgbackrest.conf');
  const makeFolders = () => {
    for (const own of OWN_FOLDERS) {
      const { uid, gid, mode } = statSync(own);
      mkdirSync(join(home, own), { recursive: true });
      chownSync(join(home, own), uid, gid);
      chmodSync(join(home, own), mode);
    }
    copyFileSync('/etc/pgbackrest.conf', config);
  };
  makeFolders();
  let init: ChildProcessWithoutNullStreams | undefined;
  let pid = 0;

  function inside(commands: string, timeoutMs = COMMAND_TIMEOUT_MS) {
    const enter = ['-t', String(pid), '--mount', '--net', '--pid', '--uts', '--wd=/root'];
    const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    return run('nsenter', [...enter, 'bash', '--norc', '-euo', 'pipefail', '-c', commands], {
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024 * 1024,
      env: { PATH, HOME: '/root', LANG: 'C.UTF-8' },
    });
  }

  async function boot(): Promise<void> {
    const binds = [
      ...Object.entries(shared).map(([place, from]) => [from, place]),
      ...['systemctl', 'apt-get'].map((name) => [join(ROOT, 'test', 'failover', name), `/usr/bin/${name}`]),
      [config, '/etc/pgbackrest.conf'],
      ...OWN_FOLDERS.map((own) => [join(home, own), own]), // /tmp is last: it hides the sources of the other mounts
    ];
    const script = [
      `hostname ${name}`,
      ...binds.map(([from, to]) => `mount --bind ${from} ${to}`),
      'rm -rf /run/* && mkdir -p /run/postgresql && chown postgres /run/postgresql',
      'ip link set lo up',
      'echo up',
      // The first process of a host also reaps ended processes. It ends with the test; then the kernel ends the others.
      'while read -r _; do :; done',
    ];
    init = spawn('unshare', [
      ...['--mount', '--net', '--pid', '--uts', '--fork', '--kill-child', '--mount-proc'],
      ...['bash', '-euc', script.join('\n')],
    ]);
    let complaint = '';
    init.stderr.on('data', (bytes: Buffer) => {
      complaint += bytes.toString();
    });
    const ended = once(init, 'exit').then(() => {
      throw new Error(`${name} does not start: ${complaint}`);
    });
    ended.catch(() => {}); // After the start, `powerOff` ends it.
    await Promise.race([once(init.stdout, 'data'), ended]);
    pid = Number(readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8').trim());
    await run('ip', ['link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
    // The address of a card stays the same, so that other machines find the host after a restart.
    await inside(`ip link set eth0 address 02:00:00:00:00:${11 + at}
      ip address add ${address}/24 dev eth0
      ip link set eth0 up`);
    await plugIn();
    await run('ip', ['link', 'set', cable, 'up']);
    await inside('systemctl boot');
  }

  async function plugIn(): Promise<void> {
    await run('ip', ['link', 'set', cable, 'master', BRIDGE]);
  }

  const host: Host = {
    name,
    address,
    folder: home,
    async run(commands, { timeoutMs } = {}) {
      try {
        return (await inside(commands, timeoutMs)).stdout;
      } catch (error) {
        const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
        throw new Error(`On ${name}: ${message}\n${stdout}${stderr}`, { cause: error });
      }
    },
    async powerOff() {
      if (!init) return;
      const ended = once(init, 'exit');
      process.kill(pid, 'SIGKILL');
      await ended;
      init = undefined;
      // The kernel removes the network card a moment after the last process.
      for (let tries = 0; tries < 100 && (await exists(cable)); tries++) await sleep(50);
    },
    powerOn: boot,
    replace() {
      rmSync(home, { recursive: true });
      makeFolders();
    },
    // In production, the shared folders are on another machine, so a network cut makes them unreachable, too.
    async cut() {
      for (const place of Object.keys(shared)) await inside(`mount -t tmpfs none ${place}`);
      await run('ip', ['link', 'set', cable, 'nomaster']);
    },
    async heal() {
      await plugIn();
      for (const place of Object.keys(shared)) await inside(`umount ${place}`);
    },
  };
  started.push(host);
  return host;
}

async function exists(card: string): Promise<boolean> {
  return run('ip', ['link', 'show', card]).then(
    () => true,
    () => false,
  );
}

/** Mounts a copy of a file of the repository at a path of this machine, on which the service runs. */
export async function install(file: string, folder: string, place: string): Promise<void> {
  const copy = join(folder, file.replaceAll('/', '-'));
  copyFileSync(join(ROOT, file), copy);
  await hide(place, copy);
}
