/** The resources that the parts of a running service use. The figures come from /proc, PostgreSQL and Redis. */
import { processesOf } from './nginx.mjs';
import { cpuMsOf } from './programs.mjs';

/**
 * Reads what each part has used since its start. Subtract two results to get the use between them. `postgres` is the CPU time of
 * the connections to this database and of the server's background processes, so no other program should use the server.
 */
export async function usage({ database, redis, services, nginx }) {
  const { rows } = await database.query(
    `select pid from pg_stat_activity
    where (datname = current_database() and pid <> pg_backend_pid()) or datid is null`,
  );
  const {
    rows: [{ wal }],
  } = await database.query(`select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal`);
  const [server, commands] = redis
    ? [await redis.info('server'), await redis.info('commandstats')]
    : ['', ''];
  const redisPid = /process_id:(\d+)/.exec(server)?.[1];
  return {
    service: cpuOf(services.map(({ program }) => program.pid)),
    nginx: cpuOf(nginx ? processesOf(nginx) : []),
    postgres: cpuOf(rows.map(({ pid }) => pid)),
    redis: cpuOf(redisPid ? [redisPid] : []),
    wrk: new Map([['ended', cpuMsOf('self', { endedChildren: true })]]),
    walBytes: wal,
    // Each check of a rate limit runs one script. Only scripts are counted, not the commands inside.
    redisScripts: Number(/cmdstat_evalsha:calls=(\d+)/.exec(commands)?.[1] ?? 0),
  };
}

/** @returns the average use per request: the CPU of each part in ms, the WAL bytes and the Redis scripts. */
export function usedPerRequest(before, after, requests) {
  return Object.fromEntries(
    Object.entries(after).map(([part, amount]) => {
      const used = amount instanceof Map ? cpuBetween(before[part], amount) : amount - before[part];
      return [part, used / requests];
    }),
  );
}

/** The CPU time of each process that still runs. PostgreSQL may end a process at any time. */
function cpuOf(pids) {
  return new Map(
    pids.flatMap((pid) => {
      try {
        return [[pid, cpuMsOf(pid)]];
      } catch (error) {
        if (error.code === 'ENOENT') return [];
        throw error;
      }
    }),
  );
}

function cpuBetween(before, after) {
  return [...after].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
}
