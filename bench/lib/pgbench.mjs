import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs one round of pgbench.
 * @param defines - the values of the variables of the script, as `name=text`.
 * @returns transactions per second.
 */
export async function pgbench({ script, defines = [], url, connections, seconds, scratch }) {
  const file = `${scratch}/pgbench.sql`;
  writeFileSync(file, script);
  const args = ['-n', '-M', 'prepared', '-c', connections, '-j', 2, '-T', seconds, '-f', file];
  const texts = defines.flatMap((define) => ['-D', define]);
  const { stdout } = await run('pgbench', [...args, ...texts, url].map(String)).catch(({ stderr }) => {
    throw new Error(`pgbench: ${stderr.slice(0, 500)}`);
  });
  const failed = /number of failed transactions: (\d+)/.exec(stdout)?.[1];
  if (failed !== '0') throw new Error(stdout);
  return Number(/tps = ([\d.]+)/.exec(stdout)[1]);
}
