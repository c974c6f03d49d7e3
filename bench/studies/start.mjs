/**
 * How long an instance takes from its start until it is ready, on a migrated database, and with what: the median of
 * five starts, beside Node alone and Node with the program's modules; then one start under Node's profiler, whose
 * samples are counted by the package that they fell into.
 *
 *   npm run build && node bench/studies/start.mjs [--starts=5] [--database=URL]
 *
 * Needs PostgreSQL as bench/lib/load.mjs does.
 *
 * Result (measured when validators became lazy): ready after 1.1 s; Node spends most of it loading modules.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { createDatabase } from '../lib/load.mjs';
import { memoryMbOf, openPrograms, stop } from '../lib/programs.mjs';
import { conditions, loadBefore, log, medianOf, round, table } from '../lib/report.mjs';

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: { starts: text, database: text },
});
const starts = Number(options.starts ?? 5);
const SHOWN_PACKAGES = 12;

const load = loadBefore();
const scratch = mkdtempSync(join(tmpdir(), 'ams-bench-'));
const programs = openPrograms(scratch);
const { url, drop } = options.database
  ? { url: options.database, drop: async () => {} }
  : await createDatabase('start');
const database = new pg.Client({ connectionString: url });

try {
  await database.connect();
  const report = await reportOf(await measure(), await profile());
  console.log(`\n${report}`);
} finally {
  await programs.stopAll();
  await database.end();
  await drop();
  rmSync(scratch, { recursive: true });
}

/** In turns, so that a busy moment of the machine falls on all three alike. */
async function measure() {
  const program = join(import.meta.dirname, '..', '..', 'dist', 'service.js');
  const takes = [];
  await stop((await programs.startService(url)).program); // what the disk holds is in memory from here on
  for (let n = 0; n < starts; n += 1) {
    const nodeMs = timed(() => execFileSync(process.execPath, ['-e', '0']));
    const modulesMs = timed(() =>
      execFileSync(process.execPath, ['-e', `import(${JSON.stringify(program)})`]),
    );
    const service = await programs.startService(url);
    takes.push({
      nodeMs,
      modulesMs,
      readyMs: service.readyMs,
      memoryMb: memoryMbOf(service.program.pid).now,
    });
    await stop(service.program);
    log(`ready after ${round(service.readyMs)} ms`);
  }
  return takes;
}

/** @returns ms until it was ready under the profiler, by package. */
async function profile() {
  const profiler = ['--cpu-prof', `--cpu-prof-dir=${scratch}`, '--cpu-prof-interval=500'];
  const service = await programs.startService(url, {}, profiler);
  const readyAtUs = Number(process.hrtime.bigint() / 1000n); // the profiler's clock is the same
  await stop(service.program);
  const profiles = readdirSync(scratch)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => JSON.parse(readFileSync(join(scratch, name), 'utf8')));
  const { nodes, samples, timeDeltas, startTime } = profiles.toSorted((a, b) => a.startTime - b.startTime)[0];
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const packages = new Map(nodes.map(({ id }) => [id, packageOf(id, byId, parents)]));
  const spent = new Map();
  let atUs = startTime;
  for (const [i, sample] of samples.entries()) {
    atUs += timeDeltas[i];
    if (atUs > readyAtUs) break;
    const name = packages.get(sample);
    spent.set(name, (spent.get(name) ?? 0) + timeDeltas[i] / 1000);
  }
  return [...spent].sort((a, b) => b[1] - a[1]);
}

/** Node's own work is that of the package which asked for it, if one did. */
function packageOf(id, byId, parents) {
  for (let at = id; at !== undefined; at = parents.get(at)) {
    const { url, functionName } = byId.get(at).callFrame;
    const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
    if (found) return found;
    if (url.includes('/dist/')) return 'the service itself';
    if (url.startsWith('node:internal/modules')) return 'Node: finding and compiling modules';
    if (functionName === '(idle)') return 'waiting, for PostgreSQL or for files';
    if (functionName === '(garbage collector)') return 'Node: collecting garbage';
  }
  return 'Node: all else';
}

function timed(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

async function reportOf(takes, spent) {
  const median = (name) => medianOf(takes, (take) => take[name]);
  const all = takes.map(({ readyMs }) => round(readyMs)).join(', ');
  return [
    '# From the start to ready',
    `${await conditions(database)}; all on this one machine, whose load was ${load} before. Medians of ${starts} starts ` +
      'on a migrated database. By `node bench/studies/start.mjs`.',
    table(
      ['until', 'ms'],
      [
        ['Node runs and ends', round(median('nodeMs'))],
        ['the modules of the service are loaded, too', round(median('modulesMs'))],
        ['/readyz says 200', `${round(median('readyMs'))} (${all})`],
      ],
    ),
    `Then it uses ${median('memoryMb')} MB. Under the profiler, which slows it down, the time until then fell into:`,
    table(
      ['package', 'ms'],
      spent.slice(0, SHOWN_PACKAGES).map(([name, ms]) => [name, round(ms)]),
    ),
  ].join('\n\n');
}
