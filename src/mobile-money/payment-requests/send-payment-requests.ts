import { setTimeout as sleep } from 'node:timers/promises';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import type { Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Log } from '../../core/log.ts';
import {
  LONGEST_CALL_SECONDS,
  type RequestConnection,
  type RequestResult,
  type SendResult,
} from '../providers/provider.ts';
import { REQUEST_PROVIDER } from '../providers/registry.ts';
import { answerUrl } from '../providers/rules.ts';
import { idColumns, setEnded, setPaid, setSent, setUnknown } from './change-commands.ts';
import { isOverdue, isTooLateToSend, nextQueryAt, nextSendAt, type PaymentRequestRow } from './rules.ts';
import { claimDue, lockRequest, type Step, updateRequest } from './store.ts';

/**
 * How long an instance has a request before another instance can take it. The time for `send` is short: if the instance dies
 * before `startSending`, another instance still sends the request in time. `startSending` extends the time for the call.
 */
export const LEASE_SECONDS: Readonly<Record<Step, number>> = { send: 10, ask: LONGEST_CALL_SECONDS };
/** Separate limits, so that slow calls for outcomes do not delay sending. */
const CALLS_AT_ONCE: Readonly<Record<Step, number>> = { send: 20, ask: 10 };
const POLL_INTERVAL_MS = 500;

/** Sends payment requests, and asks for outcomes that the provider has not reported. */
export interface RequestWorker {
  /** The number of steps since the start, by their result. */
  readonly counts: Readonly<Record<string, number>>;
  /** Starts no more calls, and waits a few seconds for the running calls. */
  stop(): Promise<void>;
}

/** Takes the next steps of payment requests. */
export interface RequestSteps {
  readonly counts: RequestWorker['counts'];
  /**
   * Claims requests whose next step is due, and takes this step for each of them.
   * @param limit - the maximum number of requests.
   * @returns the calls. They never reject.
   */
  takeDue(step: Step, limit: number): Promise<Promise<void>[]>;
}

/** @returns undefined if the settings do not turn payment requests on. */
export function createRequestSteps(context: Context, log: Log): RequestSteps | undefined {
  const { config, currency, clock, db } = context;
  const { requester } = REQUEST_PROVIDER;
  if (!requester.isOn(config)) return undefined;
  const connection = requester.connect(config, currency);
  const counts: Record<string, number> = {};

  async function work(request: PaymentRequestRow): Promise<void> {
    try {
      const outcome = await takeStep(context, connection, request);
      if (outcome !== undefined) counts[outcome] = (counts[outcome] ?? 0) + 1;
    } catch (error) {
      // The next step is taken when the lease ends.
      log.error({ err: error, paymentRequestId: request.id }, 'the next step of a payment request failed');
    }
  }

  return {
    counts,
    takeDue: async (step, limit) =>
      (await claimDue(db, step, limit, clock.now(), LEASE_SECONDS[step])).map(work),
  };
}

/** @returns undefined if the settings do not turn payment requests on. */
export function sendPaymentRequests(context: Context, log: Log): RequestWorker | undefined {
  const steps = createRequestSteps(context, log);
  if (!steps) return undefined;
  const { counts, takeDue } = steps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const callsOf = { send: new Set<Promise<void>>(), ask: new Set<Promise<void>>() };

  const pause = () => sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => {}); // Aborted by the stop.

  async function run(step: Step): Promise<void> {
    const calls = callsOf[step];
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        const free = CALLS_AT_ONCE[step] - calls.size;
        const begun = free > 0 ? await takeDue(step, free) : [];
        for (const call of begun) {
          calls.add(call);
          void call.then(() => calls.delete(call));
        }
        hasFailed = false;
        if (begun.length > 0 && begun.length === free) await Promise.race(calls);
        else await pause();
      } catch (error) {
        if (!hasFailed) log.warn({ err: error }, 'Payment requests wait for the database');
        hasFailed = true;
        await pause();
      }
    }
  }

  const running = Promise.all([run('send'), run('ask')]);
  return {
    counts,
    async stop() {
      stopping.abort();
      await running;
      const calls = Promise.all([...callsOf.send, ...callsOf.ask]);
      await Promise.race([calls, sleep(context.config.limits.jobStopMs, undefined, { ref: false })]);
    },
  };
}

/** @returns the result of the step, for `counts`. Undefined if there is nothing to count. */
async function takeStep(
  context: Context,
  connection: RequestConnection,
  request: PaymentRequestRow,
): Promise<string | undefined> {
  const now = context.clock.now();
  if (request.status !== 'requested') return ask(context, connection, request);
  const start = await startSending(context, request);
  if (start !== 'ready') return start;
  const result = await connection.send(
    {
      phone: request.phone,
      amountMinor: BigInt(request.amount_minor),
      accountNumber: formatAccountNumber(request.account_id),
      answerUrl: answerUrl(context.config, REQUEST_PROVIDER.requester, 'requests', request),
    },
    now,
  );
  await recordInTries(() => recordSent(context, request.id, result));
  return result.outcome;
}

const RECORD_TRIES = 5;
const RECORD_PAUSE_MS = 1_000;

/**
 * Tries several times, because only this process knows the provider's id of the request. Without this id, the service could not
 * ask for the outcome.
 */
async function recordInTries(record: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await record();
    } catch (error) {
      if (tries === RECORD_TRIES) throw error;
      await sleep(RECORD_PAUSE_MS);
    }
  }
}

/**
 * Records that the request may reach the provider from now on, so that no instance sends it again. A request is not sent if an
 * earlier attempt to send it was interrupted, or if it is too late.
 * @returns undefined if the request has changed since it was read.
 */
async function startSending(
  { db, clock }: Context,
  { id, send_started_at: startedAt }: PaymentRequestRow,
): Promise<'ready' | 'interrupted' | 'too_late' | undefined> {
  return inTransaction(db, async (tx) => {
    const row = await lockRequest(tx, id);
    if (row?.status !== 'requested' || row.send_started_at !== startedAt) return undefined;
    const now = clock.now();
    if (startedAt !== null) {
      const message = 'It is not known whether the provider received the request.';
      await setUnknown(tx, row, message, nextQueryAt(row, now));
      return 'interrupted';
    }
    if (isTooLateToSend(row, now)) {
      await setEnded(tx, row, { reason: 'not_sent', message: 'The request was not sent in time.' }, now);
      return 'too_late';
    }
    await updateRequest(tx, id, {
      send_started_at: now,
      send_attempts: row.send_attempts + 1,
      next_step_at: new Date(now.getTime() + LONGEST_CALL_SECONDS * 1_000),
    });
    return 'ready';
  });
}

/** Changes the status only if the request has no outcome yet: the provider may post the outcome before it answers the call. */
async function recordSent({ db, clock }: Context, id: number, result: SendResult): Promise<void> {
  await inTransaction(db, async (tx) => {
    const now = clock.now();
    const row = await lockRequest(tx, id);
    if (!row) return;
    if (result.outcome === 'sent') {
      const known = await updateRequest(tx, id, idColumns(row, result));
      const nextStepAt = nextQueryAt(known, now);
      if (row.status === 'requested') await setSent(tx, known, now, nextStepAt);
      else if (row.status === 'unknown') await updateRequest(tx, id, { next_step_at: nextStepAt });
      return;
    }
    if (row.status !== 'requested' && row.status !== 'unknown') return;
    if (result.outcome === 'refused') await setEnded(tx, row, result, now);
    else if (row.status === 'unknown') {
      // The request became `unknown` during this call.
      if (result.outcome === 'not_sent')
        await setEnded(tx, row, { reason: 'not_sent', message: result.message }, now);
    } else if (result.outcome === 'unknown') await setUnknown(tx, row, result.message, nextQueryAt(row, now));
    else {
      const nextStepAt = nextSendAt(row, now);
      const unsent = await updateRequest(tx, id, { send_started_at: null, next_step_at: nextStepAt });
      const reason = 'not_sent' as const;
      if (nextStepAt === null) await setEnded(tx, unsent, { reason, message: result.message }, now);
    }
  });
}

async function ask(
  context: Context,
  connection: RequestConnection,
  { id, provider_request_id: requestId }: PaymentRequestRow,
): Promise<string | undefined> {
  const result: RequestResult =
    requestId === null
      ? { outcome: 'unknown', message: null }
      : await connection.findResult(requestId, context.clock.now());
  await inTransaction(context.db, async (tx) => {
    const now = context.clock.now();
    const row = await lockRequest(tx, id);
    if (!row || row.ended_at !== null) return;
    if (result.outcome === 'paid') await setPaid(tx, row, null, result.message, now);
    else if (result.outcome === 'ended') await setEnded(tx, row, result, now);
    else {
      const asked = await updateRequest(tx, id, {
        query_attempts: row.query_attempts + 1,
        next_step_at: nextQueryAt({ ...row, query_attempts: row.query_attempts + 1 }, now),
      });
      if (row.status === 'sent' && isOverdue(row, now))
        await setUnknown(tx, asked, result.message, nextQueryAt(asked, now));
    }
  });
  return requestId === null ? undefined : `asked_${result.outcome}`;
}
