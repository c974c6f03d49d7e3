import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { queueDuePulls } from '../../src/mobile-money/lost-notifications/pull-payments.ts';
import { type Book, openBook } from '../../tools/simulator/provider-api/book.ts';
import { type PullOperations, pullOperations } from '../../tools/simulator/provider-api/pull.ts';
import { type ProviderApi, startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import { notify, runJobs, type TestService, useService } from './harness.ts';
import { useQueuedJobs } from './queued-jobs.ts';

export const SHORT_CODE = '600638';

/** A service that pulls payments, and the simulated API of the mobile-money provider. */
export interface ProviderTest {
  service: TestService;
  api: ProviderApi;
  pull: PullOperations;
  /** The provider's book. Payments of other tests are in it, too. */
  book: Book;
  /** Adds a payment of a customer to the book. @returns the body of its notification, which is not posted. */
  pays(reference: string, amountMinor: bigint, time?: Date): Record<string, string>;
  /** Posts the body of a notification. @returns its outcome. */
  delivers(body: Record<string, string>): Promise<string>;
  /** Pulls the payments of the short code if its pull is due, as the minute jobs do. */
  runsPulls(): Promise<void>;
  /** Runs the minute jobs, and the jobs that they add. */
  runsMinuteJobs(): Promise<void>;
  pullRow(): Promise<PullState>;
}

interface PullState {
  completeUntil: Date | null;
  lostFrom: Date | null;
  lostUntil: Date | null;
  failure: string | null;
  failuresInARow: number;
  isDue: boolean;
}

/** @param settings - settings in addition to those that turn pulling on. */
export function useProvider(settings: Record<string, string> = {}): ProviderTest {
  const environment: Record<string, string> = {
    PAYBILL_NUMBERS: SHORT_CODE,
    PUBLIC_URL: 'https://pay.example.com',
    MOBILEMONEY_PULL_NUMBER: '254700000001',
    ...settings,
  };
  const test = {} as ProviderTest;
  beforeAll(async () => {
    test.book = openBook(SHORT_CODE, 500_000n);
    test.pull = pullOperations([test.book], () => service.context.clock.now());
    test.api = await startProviderApi({ operations: test.pull.operations });
    environment.MOBILEMONEY_API_URL = test.api.url;
    environment.MOBILEMONEY_CONSUMER_KEY = test.api.credentials.consumerKey;
    environment.MOBILEMONEY_CONSUMER_SECRET = test.api.credentials.consumerSecret;
  });
  const service = useService(environment);
  const runQueuedJobs = useQueuedJobs(service);
  test.service = service;
  afterAll(() => test.api.close());
  const usual = {
    ...{ isDown: false, errorStatus: null, refusedAsBusy: 0, retryAfterSeconds: null },
    singleUseTokens: false,
  };
  beforeEach(() => void Object.assign(test.api.failures, usual));

  test.pays = (reference, amountMinor, time = service.context.clock.now()) => {
    const transId = randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase();
    return test.book.pay({ transId, amountMinor, time, reference, payer: '254700000001' });
  };
  test.delivers = async (body) => {
    const answer = await notify(service, body);
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data.outcome;
  };
  test.pullRow = async () => {
    const { rows } = await sql<PullState>`
      select complete_until as "completeUntil", lost_from as "lostFrom", lost_until as "lostUntil", failure,
        failures_in_a_row as "failuresInARow", next_at <= business_now() as "isDue"
      from provider_pulls where short_code = ${SHORT_CODE}`.execute(service.context.db);
    const [row] = rows;
    if (!row) throw new Error('Nothing was pulled.');
    const date = (moment: Date | string | null) => (moment === null ? null : new Date(moment));
    return {
      ...row,
      completeUntil: date(row.completeUntil),
      lostFrom: date(row.lostFrom),
      lostUntil: date(row.lostUntil),
    };
  };
  test.runsPulls = async () => {
    await queueDuePulls(service.context);
    await runQueuedJobs();
    expect((await test.pullRow()).isDue).toBe(false);
  };
  test.runsMinuteJobs = async () => {
    expect(await runJobs(service)).toBe(true);
    await runQueuedJobs();
  };
  return test;
}
