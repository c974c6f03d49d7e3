import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

export function table(head, lines) {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The conditions of a benchmark: the commit, the date, the machine, and the settings of the PostgreSQL server. */
export async function conditions(database) {
  const { rows } = await database.query(
    `select name, current_setting(name) as value
    from unnest('{server_version,shared_buffers,fsync,synchronous_commit,max_wal_size}'::text[]) as name`,
  );
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  }).trim();
  return (
    `At ${commit}, ${new Date().toISOString().slice(0, 10)}. ${cpus().length} cores, ${cpus()[0].model.trim()}, ` +
    `${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}; PostgreSQL with ` +
    `${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}`
  );
}

/** The load of the machine before the benchmark adds its own. If it is high, the figures of the benchmark are not reliable. */
export function loadBefore() {
  return loadavg()[0].toFixed(1);
}

export function describeSize({ payments, accounts, customers }) {
  return (
    `${payments.toLocaleString('en')} payments, ${accounts.toLocaleString('en')} accounts, ` +
    `${customers.toLocaleString('en')} customers`
  );
}

export function medianOf(takes, figure) {
  return takes.map(figure).toSorted((x, y) => x - y)[takes.length >> 1];
}

export function round(value) {
  return Math.round(value).toLocaleString('en');
}

export function log(line) {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
}
