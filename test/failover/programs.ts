import { existsSync, readlinkSync } from 'node:fs';
import { setup as build } from '../faults/build.ts';

/** The required Debian packages, each with one of its files. */
const PROGRAMS = {
  'etcd-server': '/usr/bin/etcd',
  'etcd-client': '/usr/bin/etcdctl',
  patroni: '/usr/bin/patroni',
  'python3-etcd': '/usr/lib/python3/dist-packages/etcd/__init__.py',
  'postgresql-15': '/usr/lib/postgresql/15/bin/postgres',
  pgbackrest: '/usr/bin/pgbackrest',
  haproxy: '/usr/sbin/haproxy',
  'redis-server': '/usr/bin/redis-server',
  curl: '/usr/bin/curl',
  iproute2: '/usr/sbin/ip',
};

export async function setup(): Promise<void> {
  const missing = Object.entries(PROGRAMS).flatMap(([name, file]) => (existsSync(file) ? [] : [name]));
  if (missing.length > 0) {
    throw new Error(
      `The failover tests need these packages of Debian 12: apt-get install --no-install-recommends ${missing.join(' ')}`,
    );
  }
  const { FAILOVER_NAMESPACE: outside } = process.env;
  if (outside === undefined || outside === readlinkSync('/proc/self/ns/net')) {
    throw new Error('Run these tests with npm run test:failover, which gives them a network of their own.');
  }
  await build();
}
