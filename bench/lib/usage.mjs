import { processesOf } from './nginx.mjs';
import { cpuMsOf } from './programs.mjs';

/**
 * Reads how much CPU time each part has used since its start, and how much WAL and how many Redis scripts there were.
 * `usedPerRequest` computes the difference of two results. `postgres` is the CPU time of the connections to this database and of
 * the server's background processes, so no other program should use the server.
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
    // The number of scripts, not of the Redis commands in them. Each check of a rate limit runs one script.
    redisScripts: Number(/cmdstat_evalsha:calls=(\d+)/.exec(commands)?.[1] ?? 0),
  };
}

/** @returns the averages for one request: the CPU time of each part in ms, the bytes of WAL, and the number of Redis scripts. */
export function usedPerRequest(before, after, requests) {
  return Object.fromEntries(
    Object.entries(after).map(([part, amount]) => {
      const used = amount instanceof Map ? cpuBetween(before[part], amount) : amount - before[part];
      return [part, used / requests];
    }),
  );
}

/** The CPU time of each process. Leaves out processes that have ended, because PostgreSQL can end a process at any time. */
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
