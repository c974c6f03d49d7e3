import { expect, it } from 'vitest';
import { readConfig } from '../config/config.ts';
import { multiplyTimeLimits, TIME_LIMITS } from './time-limits.ts';

/** The promises of the documentation. A change of one of these figures changes what clients and operators see. */
const PROMISED = {
  connectMs: 3_000,
  statementMs: 5_000,
  lockMs: 3_000,
  idleInTransactionMs: 10_000,
  existingIdMs: 1_000,
  slotMs: 3_000,
  summaryMs: 60_000,
  proofMs: 120_000,
  exportMs: 600_000,
  headersMs: 5_000,
  bodyMs: 10_000,
  bulkBodyMs: 60_000,
  uploadMs: 900_000,
  uploadStallMs: 20_000,
  answerMs: 5_500,
  bulkAnswerMs: 30_000,
  uploadAnswerMs: 60_000,
  drainMs: 5_000,
  closeMs: 10_000,
  redisConnectMs: 1_000,
  redisMs: 200,
  bulkSlotMs: 10_000,
  bulkDeferralTurnMs: 10_000,
  postingMs: 4_000,
  namesMs: 1_500,
  validationMs: 1_500,
  horizonMs: 3_000,
  streamCheckMs: 5_000,
  printSlotMs: 4_000,
  printMs: 10_000,
  identityProviderMs: 5_000,
  providerSignOutMs: 1_000,
  deliveryMs: 10_000,
  leaseMs: 6_000,
  deliveryStopMs: 3_000,
  probeMs: 2_000,
  replicaMs: 2_000,
  figureMs: 1_000,
  jobStepMs: 60_000,
  statementTurnMs: 60_000,
  silenceMs: 15_000,
  jobStopMs: 5_000,
};

it('a service has the documented time limits unless TIME_LIMIT_FACTOR is set', () => {
  expect(readConfig({}).limits).toEqual(PROMISED);
});

it('TIME_LIMIT_FACTOR multiplies every time limit', () => {
  const { limits } = readConfig({ TIME_LIMIT_FACTOR: '3' });
  for (const [name, ms] of Object.entries(PROMISED)) expect(limits, name).toHaveProperty(name, 3 * ms);
});

it('a request ends before its answer is due, whichever of its parts is slow', () => {
  const { postingMs, statementMs, lockMs, answerMs } = TIME_LIMITS;
  for (const partMs of [postingMs, statementMs, lockMs]) expect(partMs).toBeLessThan(answerMs);
});

it('a stop ends its parts before the process is ended', () => {
  const { drainMs, jobStopMs, deliveryStopMs, closeMs } = TIME_LIMITS;
  for (const partMs of [drainMs, jobStopMs, deliveryStopMs]) expect(partMs).toBeLessThan(closeMs);
});

it('a multiplied limit is still one that timers and PostgreSQL accept', () => {
  for (const ms of Object.values(multiplyTimeLimits(1_000))) expect(ms).toBeLessThan(2 ** 31);
});
