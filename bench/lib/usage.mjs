/** What the parts of a running service use of the machine, from /proc and from PostgreSQL and Redis themselves. */
import { processesOf } from './nginx.mjs';
import { cpuMsOf } from './programs.mjs';

/**
 * All so far; the difference of two answers is what happened between them. PostgreSQL is the connections of this
 * database and the server's processes that belong to none, so that nobody else should be using it.
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
    // The limits are one script, whatever it calls inside.
    redisScripts: Number(/cmdstat_evalsha:calls=(\d+)/.exec(commands)?.[1] ?? 0),
  };
}

/** @returns CPU of each part in ms, and the rest, for each request between the two. */
export function usedPerRequest(before, after, requests) {
  return Object.fromEntries(
    Object.entries(after).map(([part, amount]) => {
      const used = amount instanceof Map ? cpuBetween(before[part], amount) : amount - before[part];
      return [part, used / requests];
    }),
  );
}

/** Of those that are still running: PostgreSQL ends a process when it pleases. */
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
