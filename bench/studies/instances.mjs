/**
 * Measures one, two and four instances of the service behind nginx. PostgreSQL, Redis and wrk are on the same machine. The
 * requests are a read, a list and a payment. For each, the study prints the rate, the latencies, the share of the requests that
 * an instance gets, and the CPU time of each part for one request.
 *
 *   npm run build && BENCH_REDIS_URL=redis://localhost:6379 node bench/studies/instances.mjs [--instances=1,2,4]
 *     [--payments=1000000] [--rounds=3] [--seconds=5] [--connections=32] [--database=URL]
 *
 * --database: the URL of a database that bench/lib/load.mjs has filled. The new payments remain in it. Needs wrk, nginx
 * (/usr/sbin/nginx, or the path in BENCH_NGINX), and a PostgreSQL server on this machine as for bench/run.mjs.
 *
 * Result (at 7735f54, before payments were posted in batches; 10,250,511 payments, two cores for everything): nginx sent 24.6 to
 * 25.4 % of the calls to each of four instances. CPU time of the service with one instance: 0.129 ms for a read, 0.951 ms for a
 * payment. With four instances, which share two cores: 0.276 ms and 1.996 ms. Payments a second that a core could serve if it ran
 * only one part: 501 for the service, 641 for PostgreSQL, 11,650 for nginx.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startNginx } from '../lib/nginx.mjs';
import { openBench, readOptions } from '../lib/open-bench.mjs';
import { memoryMbOf, SECRET, signIn } from '../lib/programs.mjs';
import { conditions, describeSize, loadBefore, log, medianOf, round, table } from '../lib/report.mjs';
import { wrkAndUsage } from '../lib/rounds.mjs';
import { workloads } from '../lib/workloads.mjs';
import { wrk } from '../lib/wrk.mjs';

const options = readOptions(['instances']);
const { rounds, seconds, connections } = options;
const counts = (options.instances ?? '1,2,4').split(',').map(Number);
const METRICS_TOKEN = SECRET;
const PARTS = ['service', 'nginx', 'postgres', 'redis', 'wrk'];

const load = loadBefore();
const { scratch, programs, redis, url, size, database, close } = await openBench('instances', options);

try {
  await database.connect();
  log(describeSize(size));
  const report = await reportOf(await measure());
  console.log(`\n${report}`);
} finally {
  await close();
}

/** Starts all instances at the beginning. While a group is measured, the instances outside the group are idle. */
async function measure() {
  const services = await Promise.all(
    Array.from({ length: Math.max(...counts) }, () =>
      programs.startService(url, { METRICS_TOKEN, TRUST_PROXY: '127.0.0.1' }),
    ),
  );
  const groups = counts.map((count) => services.slice(0, count));
  const nginx = await startNginx({
    ...{ programs, scratch },
    groups: groups.map((group) => group.map(({ port }) => port)),
  });
  const targets = [
    { name: '1, without nginx', base: services[0].base, services: services.slice(0, 1) },
    ...groups.map((group, i) => ({ name: String(group.length), base: nginx.bases[i], services: group })),
  ];
  await delay(2_000); // Wait for the first run of the minute jobs.
  const headers = { authorization: `Bearer ${await signIn(services[0].base)}` };

  const results = [];
  for (const workload of workloads(size).filter(({ name }) =>
    /^(GET .accounts.:id|GET .*customerId=.*|POST .payments with .*)$/.test(name),
  )) {
    const call = { workload, headers, connections, scratch };
    await database.query('checkpoint');
    await wrk({ ...call, base: nginx.bases.at(-1), seconds: 4 * services.length }); // warms up all instances
    const takes = targets.map(() => []);
    for (let n = 0; n < rounds; n += 1) {
      for (const [i, target] of targets.entries()) {
        takes[i].push(await measureOne(call, target, { services, nginx: nginx.program }));
      }
    }
    const lines = targets.map(({ name }, i) => ({ name, ...medians(takes[i]) }));
    for (const line of lines) log(`${workload.name}, ${line.name}: ${round(line.perSecond)} /s`);
    results.push({ name: workload.name, lines });
  }
  await delay(10_000); // Without load, to measure the memory that remains in use.
  return { results, memory: services.map(({ program }) => memoryMbOf(program.pid)) };
}

async function measureOne(call, { base, services }, running) {
  const answeredBefore = await Promise.all(services.map(countAnswers));
  const take = await wrkAndUsage({ database, redis, ...running }, { ...call, base, seconds });
  const answeredAfter = await Promise.all(services.map(countAnswers));
  const { rows } = await database.query(
    `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'account-management-service'`,
  );
  return {
    ...take,
    shares: answeredAfter.map((count, i) => (count - answeredBefore[i]) / take.requests),
    connectionsOfServices: rows[0].n,
  };
}

/** The number of API calls that an instance has answered, from its metrics. */
async function countAnswers({ base }) {
  const response = await fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  const lines = (await response.text()).matchAll(/^http_request_duration_seconds_count\{(.*)\} (\d+)$/gm);
  return [...lines]
    .filter(([, labels]) => labels.includes('route="/api/'))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}

function medians(takes) {
  const figures = ['perSecond', 'p50', 'p99'].map((name) => [name, medianOf(takes, (take) => take[name])]);
  const used = [...PARTS, 'walBytes', 'redisScripts'].map((name) => [
    name,
    medianOf(takes, (take) => take.used[name]),
  ]);
  const shares = takes.flatMap((take) => take.shares);
  return {
    ...Object.fromEntries([...figures, ...used]),
    ...{ leastShare: Math.min(...shares), greatestShare: Math.max(...shares) },
    connectionsOfServices: Math.max(...takes.map((take) => take.connectionsOfServices)),
  };
}

async function reportOf({ results, memory }) {
  const all = results.flatMap(({ name, lines }) => lines.map((line) => ({ workload: name, ...line })));
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const perCore = (ms) => (ms > 0.0005 ? round(1000 / ms) : '–');
  return [
    '# Several instances behind nginx',
    `${await conditions(database)}; ${redis ? 'Redis' : 'no Redis'}; nginx; all on this one machine, including wrk. ` +
      `The load before the run was ${load}. ${describeSize(size)}; ${connections} connections, ${rounds} rounds of ${seconds} s ` +
      'for each line, taken in turns, medians. By `node bench/studies/instances.mjs`.',
    table(
      [
        'workload',
        'instances',
        '/s',
        'p50, ms',
        'p99, ms',
        'share of an instance',
        'database connections of all instances',
      ],
      all.map((line) => [
        ...[line.workload, line.name, round(line.perSecond), line.p50.toFixed(1), line.p99.toFixed(1)],
        `${percent(line.leastShare)} to ${percent(line.greatestShare)}`,
        line.connectionsOfServices,
      ]),
    ),
    'The cost of one request: CPU in ms, and other resources. Cores: the CPU of all parts together, at the rate above.',
    table(
      ['workload', 'instances', ...PARTS, 'cores', 'write-ahead log, bytes', 'scripts run by Redis'],
      all.map((line) => [
        ...[line.workload, line.name],
        ...PARTS.map((part) => line[part].toFixed(3)),
        (PARTS.reduce((sum, part) => sum + line[part], 0) * (line.perSecond / 1000)).toFixed(2),
        ...[round(line.walBytes), line.redisScripts.toFixed(1)],
      ]),
    ),
    `Requests a second that one core of each part can serve, and the write-ahead log at 1,000 requests a ` +
      `second (from the lines with ${counts.at(-1)} instances):`,
    table(
      ['workload', ...PARTS.slice(0, -1), 'write-ahead log, MB/s'],
      results.map(({ name, lines }) => {
        const line = lines.at(-1);
        return [
          ...[name, ...PARTS.slice(0, -1).map((part) => perCore(line[part]))],
          (line.walBytes / 1000).toFixed(1),
        ];
      }),
    ),
    `Memory of the instances at the end, after 10 s without load: ${memory.map(({ now }) => now).join(', ')} MB; at most ` +
      `${memory.map(({ most }) => most).join(', ')} MB.`,
  ].join('\n\n');
}
