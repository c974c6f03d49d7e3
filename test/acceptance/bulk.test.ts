import { afterAll, expect, test } from 'vitest';
import { findRunningEmbeddedPostgres } from '../../src/platform/embedded-postgres/supervisor.ts';
import { NoAnswer } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';
import { expectBooksToHold } from './books.ts';
import { openAccount, read, registerAdmin } from './client.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newFolder,
  type RunningService,
  report,
  startService,
} from './process.ts';

cleanUpAfterwards();

const PAYMENTS = 1_000;
let service: RunningService;
afterAll(() => service.stop());

test('a bulk call that kill -9 interrupted is completed by its repeat: every payment exists once', async () => {
  const dataDir = await newFolder();
  const start = () => startService({ ...NO_RATE_LIMITS, DATA_DIR: dataDir, LOG_LEVEL: 'warn' });
  service = await start();
  const token = await registerAdmin(service);
  const { id: accountId } = await openAccount(service, token);
  const items = Array.from({ length: PAYMENTS }, (_, at) => ({
    ...{ accountId, amount: 1, paymentMethodId: 2 },
    transactionRef: `BULK-${at}`,
  }));
  const send = () =>
    service.call('POST', '/payments/bulk', { items }, { token, headers: { 'idempotency-key': 'killed' } });
  const paid = async () => (await read(service, token, `/accounts/${accountId}`)).paid;

  const interrupted = send().catch((error: unknown) => error);
  await eventually(paid).toBeGreaterThan(0);
  await service.kill();
  expect(await interrupted).toBeInstanceOf(NoAnswer);
  service = await start();
  const before = await paid();
  const answer = await send();
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.data).toMatchObject({ created: PAYMENTS, failed: 0 });
  expect(await paid()).toBe(PAYMENTS);
  const again = await send();
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.body).toEqual(answer.body);
  const running = await findRunningEmbeddedPostgres(dataDir);
  if (running) await expectBooksToHold(running);
  report(`bulk call: killed after ${before} of ${PAYMENTS} payments, completed by its repeat`);
});
