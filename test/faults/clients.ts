import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { cents, inParallel, inTurn, openAccount, readPayments, sumOf } from '../acceptance/client.ts';
import type { RunningService } from '../acceptance/process.ts';
import { send as sendRequest } from '../security/wire.ts';
import { eventually } from '../support/waiting.ts';

/** The result of one request. No status if the connection broke. */
export interface Outcome {
  status: number | undefined;
  ms: number;
  /** When it ended, by `performance.now()`. */
  at: number;
  retryAfter: string | undefined;
  body: string;
}

const PAUSE_MS = 50;
const MOST_ATTEMPTS = 1_200;

/** Sends a request. If the connection breaks, the outcome has no status. */
export async function send(
  origin: string,
  method: string,
  path: string,
  { token, body, headers }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Outcome> {
  const began = performance.now();
  const reply = await sendRequest(origin, {
    ...{ method, path },
    ...(token && { token }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(headers && { headers }),
  }).catch(() => undefined);
  return {
    status: reply?.status,
    ms: performance.now() - began,
    at: performance.now(),
    retryAfter: reply?.headers['retry-after'],
    body: reply?.text ?? '',
  };
}

/** A payment in the records of a client. */
export interface Entry {
  reference: string;
  cents: number;
  /** Undefined until the service acknowledged it. */
  paymentId: number | undefined;
}

/** Clients that pay continuously, and record each request before they send it and each answer when it arrives. */
export interface PayingClients {
  /** The results of all requests. */
  readonly outcomes: Outcome[];
  /** All payments so far, by account number. */
  records(): ReadonlyMap<string, readonly Entry[]>;
  /** When a payment was last acknowledged, by `performance.now()`. */
  lastSuccess(): number;
  /** Starts no further payment, and waits until every started one is acknowledged. */
  stop(): Promise<void>;
  /** Compares the records with what the API shows. @returns the figures as text. */
  compare(service: RunningService): Promise<string>;
}

interface PayingOptions {
  clients: number;
  accounts?: number;
  /** The pause of a client after a payment. */
  pauseMs?: number;
  /** Whether all payments come from the provider, none from staff. */
  onlyByPhone?: boolean;
}

/**
 * Each client pays on one of a few accounts. Every second client pays as staff with an Idempotency-Key, the others as the
 * provider. A client repeats the same payment until it is acknowledged. The requests go to the instances in turn.
 */
export async function startPaying(
  origins: readonly string[],
  service: RunningService,
  token: string,
  { clients, accounts = 5, pauseMs = 0, onlyByPhone = false }: PayingOptions,
): Promise<PayingClients> {
  const targets = await inParallel(5, Array.from({ length: accounts }), () => openAccount(service, token));
  const journal = new Map<number, Entry[]>(targets.map(({ id }) => [id, []]));
  const outcomes: Outcome[] = [];
  let stopping = false;
  let lastSuccess = performance.now();
  let sent = 0;

  function isByStaff(client: number): boolean {
    return !onlyByPhone && client % 2 === 1;
  }

  async function pay(client: number): Promise<void> {
    const target = inTurn(targets, client);
    for (let n = 1; !stopping; n++) {
      const reference =
        `${isByStaff(client) ? 'STAFF' : 'PHONE'}-${client}-${n}-${randomUUID().slice(0, 8)}`.toUpperCase();
      const entry: Entry = { reference, cents: 1 + ((client * 7 + n * 13) % 499), paymentId: undefined };
      journal.get(target.id)?.push(entry);
      await untilAcknowledged(entry, target, client);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }

  async function untilAcknowledged(
    entry: Entry,
    target: { id: number; accountNumber: string },
    client: number,
  ): Promise<void> {
    const amount = entry.cents / 100;
    const byStaff = isByStaff(client);
    const request = byStaff
      ? {
          token,
          headers: { 'idempotency-key': entry.reference },
          body: { accountId: target.id, amount, paymentMethodId: 1, transactionRef: entry.reference },
        }
      : {
          body: {
            TransID: entry.reference,
            TransAmount: amount.toFixed(2),
            BillRefNumber: target.accountNumber,
            TransTime: '20260105101500',
          },
        };
    const path = byStaff ? '/api/payments' : '/api/webhooks/payments/mobilemoney';
    let attempts = 0;
    for (;;) {
      sent += 1;
      const outcome = await send(inTurn(origins, sent), 'POST', path, request);
      outcomes.push(outcome);
      if (outcome.status === 200 || outcome.status === 201) {
        const { data } = JSON.parse(outcome.body) as { data: { id?: number; paymentId?: number | null } };
        entry.paymentId = data.id ?? data.paymentId ?? 0; // 0: the notification is stored, and the minute job will post it
        lastSuccess = performance.now();
        return;
      }
      attempts += 1;
      if (attempts > MOST_ATTEMPTS) {
        throw new Error(`${entry.reference} is not acknowledged: ${outcome.status} ${outcome.body}`);
      }
      await sleep(PAUSE_MS);
    }
  }

  const running = Promise.all(Array.from({ length: clients }, (_, client) => pay(client)));
  running.catch(() => {}); // `stop` reports the error.
  return {
    outcomes,
    records: () => new Map(targets.map(({ id, accountNumber }) => [accountNumber, journal.get(id) ?? []])),
    lastSuccess: () => lastSuccess,
    async stop() {
      stopping = true;
      await running;
    },
    async compare(reader) {
      let payments = 0;
      for (const { id, total } of targets) {
        const entries = journal.get(id) ?? [];
        const wanted = new Map(entries.map((entry) => [entry.reference, entry.cents]));
        // The minute job posts what was stored as pending.
        await eventually(async () => (await readPayments(reader, token, id)).length).toBe(entries.length);
        const seen = await readPayments(reader, token, id);
        const found = seen.map((payment) => [payment.transactionRef, cents(payment.amount)]);
        expect(found.sort()).toEqual([...wanted].sort());
        const { body } = await reader.call('GET', `/accounts/${id}`, undefined, { token });
        const sum = sumOf(wanted.values());
        expect(cents(body.data.paid)).toBe(sum);
        expect(cents(body.data.balance)).toBe(Math.max(0, cents(total) - sum));
        payments += entries.length;
      }
      return `${payments} payments acknowledged, ${payments} there, 0 lost, 0 doubled, ${sent} requests`;
    },
  };
}

/** Answers that are neither a success nor a 503 with Retry-After. Leaves out requests whose connection broke. */
export function strangeOf(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter(({ status, retryAfter }) => {
    if (status === 200 || status === 201 || status === undefined) return false;
    return !(status === 503 && retryAfter !== undefined);
  });
}

/** The longest time between two payments that were acknowledged one after the other, from a moment on. */
export function longestPause(outcomes: readonly Outcome[], from: number): number {
  const times = outcomes.filter(({ status }) => status === 200 || status === 201).map(({ at }) => at);
  let last = from;
  let longest = 0;
  for (const time of times.filter((at) => at > from)) {
    longest = Math.max(longest, time - last);
    last = time;
  }
  return Math.round(longest);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}
