import { cpSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, newFolder, ROOT } from '../acceptance/process.ts';
import { createHost, createNetwork, type Host, install } from './hosts.ts';

/** Three database servers and HAProxy, set up by the commands of docs/high-availability.md. */
export interface Cluster {
  readonly hosts: readonly Host[];
  /** The address for the service, and for the owner of the tables. Both lead through HAProxy to the primary. */
  readonly serviceUrl: string;
  readonly ownerUrl: string;
  /** The address for reports, which leads through HAProxy to a standby. */
  readonly replicaUrl: string;
  /** The host whose Patroni says that it is the primary. */
  primary(): Promise<Host | undefined>;
  members(): Promise<Member[]>;
  /** Runs the commands of "Install" on the new machine that replaces a lost one. */
  installAgain(lost: Host): Promise<void>;
  /** Waits until there is a primary, and every other server follows it. @returns how long that took, in ms. */
  untilComplete(): Promise<number>;
}

/** As Patroni describes a server at /cluster. */
export interface Member {
  name: string;
  role: string;
  state: string;
  timeline?: number;
  lag?: number | string;
}

const NAMES = ['db1', 'db2', 'db3'];
const PAGE = readFileSync(join(ROOT, 'docs', 'high-availability.md'), 'utf8');
const COMPLETE_TIMEOUT_MS = 120_000;

/** The shell blocks below a heading of the page, in order. */
export function documented(heading: string): string[] {
  const section = PAGE.split(new RegExp(`^#+ ${heading}$`, 'm'))[1]?.split(/^#/m)[0] ?? '';
  const blocks = [...section.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  if (blocks.length === 0) throw new Error(`docs/high-availability.md has no commands below "${heading}".`);
  return blocks;
}

export async function createCluster(): Promise<Cluster> {
  const folder = await newFolder();
  await createNetwork(folder, NAMES);
  const repository = join(folder, 'backups');
  await mkdir(repository);
  const hosts = NAMES.map((name, at) => createHost(folder, name, at, { '/var/lib/pgbackrest': repository }));
  const [first] = hosts as [Host];
  const onAll = (commands: string) => Promise.all(hosts.map((host) => host.run(commands)));
  await Promise.all(hosts.map((host) => host.powerOn()));
  await first.run('chown postgres /var/lib/pgbackrest');

  const filesOf = (host: Host) => join(host.folder, 'root', 'database');
  cpSync(join(ROOT, 'deploy', 'database'), filesOf(first), { recursive: true });
  await runBlocks('Choose passwords', first);
  for (const host of hosts.slice(1)) cpSync(filesOf(first), filesOf(host), { recursive: true });
  for (const block of documented('Install')) await onAll(block);
  for (const block of documented('Start etcd')) await onAll(block);
  const [startPatroni = ''] = documented('Start PostgreSQL');
  await first.run(startPatroni);
  await until(async () => (await primary())?.name === first.name, 'a first primary');
  await Promise.all(hosts.slice(1).map((host) => host.run(startPatroni)));
  await untilComplete();
  await runBlocks('Create the database', first);
  const [firstBackup = '', timers = ''] = documented('Start the backups');
  await first.run(firstBackup);
  await onAll(timers);

  const passwords = readFileSync(join(filesOf(first), 'passwords.sed'), 'utf8');
  const urlOf = (user: string, password: string, port = 5000) => {
    const [, value] = new RegExp(`PASSWORD_OF_${password}/(.*)/`).exec(passwords) ?? [];
    return `postgres://${user}:${value}@127.0.0.1:${port}/ams`;
  };
  await install('deploy/haproxy.cfg', folder, '/etc/haproxy/haproxy.cfg');
  launch(['/usr/sbin/haproxy', '-db', '-f', '/etc/haproxy/haproxy.cfg'], folder, {});

  async function runBlocks(heading: string, host: Host): Promise<void> {
    for (const block of documented(heading)) await host.run(block);
  }

  async function primary(): Promise<Host | undefined> {
    for (const host of hosts) if (await answers(`http://${host.name}:8008/primary`)) return host;
    return undefined;
  }

  /** The servers as the primary sees them, because a server that was cut off shows an old state. */
  async function members(): Promise<Member[]> {
    const name = (await primary())?.name;
    if (name === undefined) return [];
    const response = await fetch(`http://${name}:8008/cluster`, { signal: AbortSignal.timeout(2_000) });
    return ((await response.json()) as { members: Member[] }).members;
  }

  async function isComplete(): Promise<boolean> {
    const found = await members();
    const leaders = found.filter(({ role }) => role === 'leader');
    const [leader] = leaders;
    return (
      leaders.length === 1 &&
      found.length === NAMES.length &&
      found.some(({ role }) => role === 'sync_standby') &&
      found.every(
        (member) =>
          member === leader ||
          (['running', 'streaming'].includes(member.state) &&
            member.timeline === leader?.timeline &&
            Number(member.lag) < 1024 * 1024),
      )
    );
  }

  async function untilComplete(): Promise<number> {
    const began = performance.now();
    await until(isComplete, 'a primary that all servers follow', members);
    return Math.round(performance.now() - began);
  }

  async function installAgain(lost: Host): Promise<void> {
    const other = hosts.find((host) => host !== lost) ?? first;
    cpSync(filesOf(other), filesOf(lost), { recursive: true });
    await runBlocks('Install', lost);
  }

  return {
    hosts,
    installAgain,
    serviceUrl: urlOf('ams', 'SERVICE'),
    ownerUrl: urlOf('ams_owner', 'OWNER'),
    replicaUrl: urlOf('ams', 'SERVICE', 5001),
    primary,
    members,
    untilComplete,
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    return false; // It is off, or not reachable.
  }
}

export async function until(
  condition: () => Promise<boolean>,
  what: string,
  explain: () => Promise<unknown> = async () => '',
): Promise<void> {
  const deadline = performance.now() + COMPLETE_TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`Timed out waiting for ${what}: ${JSON.stringify(await explain())}`);
    await sleep(250);
  }
}
