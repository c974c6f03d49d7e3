import { Stream } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addTo } from '../values/counts.ts';
import { callerOf } from './access.ts';
import { type AppError, busy, busyByCaller } from './errors.ts';
import type { HttpServer } from './server.ts';
import { isSharedContent } from './static-content.ts';

/**
 * The maximum number of requests in progress. Payment notifications have a separate, larger limit, because a refused notification
 * may be lost money.
 */
const MAX_IN_FLIGHT = 128;
const MAX_NOTIFICATIONS_IN_FLIGHT = 512;
/**
 * The maximum number of open requests to routes with `mayWait`: for all callers of this instance together, and for one caller.
 * These requests do not count in MAX_IN_FLIGHT.
 */
const MAX_WAITING = 200;
const MAX_WAITING_OF_CALLER = 10;
const RETRY_AFTER_SECONDS = 1;

/** The kernel accepts an answer of this size at once, even if its client does not read. */
const SMALL_ANSWER_BYTES = 16 * 1024;
/** Limits for unread answers in memory, for one caller and for all callers. */
const MAX_UNREAD_BYTES_OF_CALLER = 16 * 1024 * 1024;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * Limits the number of concurrent requests, and the bytes of answers that clients have not read yet. Refuses requests above a
 * limit at once: a quick refusal is better than a late answer. Small answers and answers to writes are sent even above the
 * limits of unread bytes.
 */
export function shedLoad(app: HttpServer): void {
  const endCall = limitCalls(app);
  const unread = createUnreadLimit();
  app.addHook<unknown>('onSend', (request, reply, payload, done) => {
    // The work is done, so the request no longer counts, even if the client reads the answer slowly.
    if (!(payload instanceof Stream)) endCall(reply);
    const bytes = largeAnswer(request, payload);
    // If the connection is already closed, no 'close' event would subtract the bytes again.
    if (!bytes || request.raw.socket.destroyed) return done(null, payload);
    const caller = callerOf(request);
    const refusal = request.method === 'GET' ? unread.refusal(caller) : undefined;
    if (refusal) return done(refusal);
    unread.add(caller, bytes.length);
    reply.raw.once('close', () => unread.add(caller, -bytes.length));
    done(null, bytes); // A string would take up to three times as much memory.
  });
}

/**
 * Refuses requests before any other work.
 * @returns a function that stops counting a request. If this function is not called, counting stops when the answer or the
 *   connection has ended.
 */
function limitCalls(app: HttpServer): (reply: FastifyReply) => void {
  const calls = { inFlight: 0, limit: MAX_IN_FLIGHT };
  const notifications = { inFlight: 0, limit: MAX_NOTIFICATIONS_IN_FLIGHT };
  const waiting = { inFlight: 0, limit: MAX_WAITING };
  const waitingOfCaller = new Map<string, number>();
  /** The functions that reduce the counters of a request when it is done. */
  const releases = new WeakMap<FastifyReply, (() => void)[]>();
  let isClosing = false;

  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    if (isClosing) {
      reply.header('connection', 'close'); // The next attempt should reach another instance.
      throw busy('The service is stopping.', RETRY_AFTER_SECONDS);
    }
    // Health checks must be answered under overload too.
    const { rate, mayWait } = request.routeOptions.config;
    if (rate === 'none') return;
    const counter = rate === 'webhook' ? notifications : mayWait ? waiting : calls;
    if (counter.inFlight >= counter.limit) throw busy('The service is busy.', RETRY_AFTER_SECONDS);
    counter.inFlight += 1;
    releases.set(reply, [() => (counter.inFlight -= 1)]);
    reply.raw.once('close', () => release(reply));
  });
  // This hook runs after the access hook, so the caller is known.
  app.addHook('preHandler', async (request, reply) => {
    const isConnected = releases.has(reply);
    if (!request.routeOptions.config.mayWait || !isConnected) return;
    const caller = callerOf(request);
    const own = waitingOfCaller.get(caller) ?? 0;
    if (own >= MAX_WAITING_OF_CALLER) {
      throw busyByCaller(`You already have ${own} open requests for events.`, RETRY_AFTER_SECONDS);
    }
    addTo(waitingOfCaller, caller, 1);
    releases.get(reply)?.push(() => addTo(waitingOfCaller, caller, -1));
  });

  function release(reply: FastifyReply): void {
    for (const countDown of releases.get(reply) ?? []) countDown();
    releases.delete(reply);
  }

  return release;
}

/** Counts the bytes of large answers until their clients have read them. */
function createUnreadLimit() {
  let all = 0;
  const byCaller = new Map<string, number>();

  function add(caller: string, bytes: number): void {
    all += bytes;
    addTo(byCaller, caller, bytes);
  }

  /** The error if the caller, or all callers together, have too many unread bytes. */
  function refusal(caller: string): AppError | undefined {
    const own = byCaller.get(caller) ?? 0;
    if (own >= MAX_UNREAD_BYTES_OF_CALLER) {
      const unread = `You have not read ${Math.floor(own / 2 ** 20)} MiB of earlier answers.`;
      return busyByCaller(`${unread} Read them first, or close their connections.`, RETRY_AFTER_SECONDS);
    }
    if (all >= MAX_UNREAD_BYTES) return busy('Too many answers are still unread.', RETRY_AFTER_SECONDS);
    return undefined;
  }

  return { add, refusal };
}

/** The bytes to count for an answer. Streams and static content do not count: they need little memory for each reader. */
function largeAnswer({ method }: FastifyRequest, payload: unknown): Buffer | undefined {
  if (method === 'HEAD') return undefined;
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return undefined;
  if (payload.length <= SMALL_ANSWER_BYTES) return undefined;
  if (typeof payload === 'string') return Buffer.from(payload);
  return isSharedContent(payload) ? undefined : payload;
}
