/**
 * How long the proof takes: `npm run verify`'s own program on a million payments with their entries and
 * notifications, on 20,000 accounts; the median of three rounds, and what one check costs.
 *
 *   npm run build && node bench/studies/verify.mjs [payments=1000000] [accounts=20000] [rounds=3]
 *
 * Needs a server on which it may create a database: BENCH_DATABASE_URL, by default
 * postgres://postgres@localhost:55432/postgres. The database is dropped afterwards.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openLongReads } from '../../dist/core/database/long-reads.js';
import { PROOF_READS, runChecks } from '../../dist/proof/store.js';
import { createDatabase, fill, sizes } from '../lib/load.mjs';

const [payments, accounts, rounds] = [1_000_000, 20_000, 3].map((value, i) =>
  Number(process.argv[2 + i] ?? value),
);
const { url, drop } = await createDatabase('verify');

try {
  const filled = await seconds(() => fill(url, sizes({ payments, accounts })));
  console.log(`filled with ${payments} payments in ${filled.toFixed(1)} s`);
  await measureChecks();
  const times = [];
  for (let round = 1; round <= rounds; round += 1) {
    times.push(await seconds(verify));
    console.log(`verify, round ${round}: ${times.at(-1).toFixed(1)} s`);
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)];
  console.log(`verify, median of ${rounds}: ${median.toFixed(1)} s`);
} finally {
  await drop();
}

/** Each check once, on the connection that the service uses. */
async function measureChecks() {
  const prover = openLongReads({ connection: url, ...PROOF_READS, onConnectionLost: console.error });
  let before = performance.now();
  await prover.read((tx) =>
    runChecks(tx, {
      onFinding({ check, lookedAt, violationCount }) {
        const now = performance.now();
        console.log(
          `${check}: ${lookedAt} rows, ${violationCount} violations, ${Math.round(now - before)} ms`,
        );
        before = now;
      },
    }),
  );
  await prover.close();
}

function verify() {
  const program = spawn(
    process.execPath,
    [join(import.meta.dirname, '..', '..', 'dist', 'cli', 'verify.js')],
    {
      env: { PATH: process.env.PATH, NODE_ENV: 'test', DATABASE_URL: url },
      cwd: import.meta.dirname, // where no .env is
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  return new Promise((resolve, reject) => {
    program.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`verify ended with ${code}`))));
  });
}

async function seconds(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
