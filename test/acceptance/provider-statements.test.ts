import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  cents,
  openAccount,
  read,
  readPayments,
  registerAdmin,
  STATEMENT_HEADER,
  statementLine,
  sumOf,
} from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  report,
  startService,
  USUAL_LIMITS,
} from './process.ts';

cleanUpAfterwards();

const LINES = 5_000;

let environment: Record<string, string>;
let service: RunningService;
let token: string;
let account: Awaited<ReturnType<typeof openAccount>>;

beforeAll(async () => {
  environment = { ...NO_RATE_LIMITS, ...USUAL_LIMITS, DATABASE_URL: await newDatabase(), LOG_LEVEL: 'warn' };
  service = await startService(environment);
  token = await registerAdmin(service);
  account = await openAccount(service, token);
});

function statement(): string {
  const lines = Array.from({ length: LINES }, (_, n) => statementLine(`KILL${n}`, account.accountNumber));
  return STATEMENT_HEADER + lines.join('');
}

const now = () => read(service, token, '/reconciliations/statements/1');

async function ask(path: string) {
  const answer = await service.call('POST', `/reconciliations/statements/1/${path}`, {}, { token });
  expect(answer.status, answer.text).toBe(200);
}

test('after kill -9 during an import the next process continues it, and each line becomes one payment', async () => {
  const upload = await service.call('POST', '/reconciliations/statements', statement(), {
    token,
    headers: { 'content-type': 'text/csv' },
  });
  expect(upload.status, upload.text).toBe(201);
  await eventually(async () => (await now()).status).toBe('done');

  const seen: number[] = [];
  await ask('import');
  for (let kills = 0; kills < 3; kills++) {
    const before = (await now()).progress.imported;
    await eventually(async () => (await now()).progress.imported).toBeGreaterThan(before);
    await sleep(Math.random() * 200);
    await service.kill();
    service = await startService(environment);
    const { status, progress } = await now();
    seen.push(progress.imported);
    if (status !== 'importing') break;
  }
  await eventually(async () => (await now()).status).toBe('done');

  expect(seen[0]).toBeLessThan(LINES);
  const { results } = await now();
  expect(results.matched).toEqual({ lines: LINES, total: LINES });
  const payments = await readPayments(service, token, account.id);
  expect(new Set(payments.map(({ transactionRef }) => transactionRef)).size).toBe(LINES);
  expect(payments).toHaveLength(LINES);
  expect(sumOf(payments.map(({ amount }) => cents(amount)))).toBe(LINES * 100);
  report(`kill -9 while importing: continued at ${seen.join(', ')} of ${LINES} lines`);
});
