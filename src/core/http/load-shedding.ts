import { Stream } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from './access.ts';
import { type AppError, busy, busyByCaller } from './errors.ts';
import type { HttpServer } from './server.ts';
import { isSharedContent } from './static-content.ts';

/**
 * About what the connections of the database work off within a second. A notification that is refused may
 * be lost money, so those have room of their own, and more of it.
 */
const MOST_IN_FLIGHT = 128;
const MOST_NOTIFICATIONS_IN_FLIGHT = 512;
const RETRY_AFTER_SECONDS = 1;

/** An answer of this size goes to the system at once, whether its client reads or not. */
const SMALL_ANSWER_BYTES = 16 * 1024;
/** Answers that clients have not taken yet stay in memory: those of one caller, and of all together. */
const MOST_UNREAD_BYTES_OF_CALLER = 16 * 1024 * 1024;
const MOST_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * Load shedding. Takes as many requests at once as can be answered soon, and keeps as many bytes of answers as memory has
 * room for. The rest is refused quickly, which under overload is worth more to everyone than a late answer. Small answers,
 * and those that tell of a change, are always given.
 */
export function shedLoad(app: HttpServer): void {
  const endCall = limitCalls(app);
  const unread = createUnreadLimit();
  app.addHook<unknown>('onSend', (request, reply, payload, done) => {
    // The work is done. How long the client takes to read the answer is no reason to refuse others.
    if (!(payload instanceof Stream)) endCall(reply);
    const bytes = largeAnswer(request, payload);
    // A closed connection emits no further 'close' event.
    if (!bytes || request.raw.socket.destroyed) return done(null, payload);
    const caller = callerOf(request);
    const refusal = request.method === 'GET' ? unread.refusal(caller) : undefined;
    if (refusal) return done(refusal);
    unread.add(caller, bytes.length);
    reply.raw.once('close', () => unread.add(caller, -bytes.length));
    done(null, bytes); // Text takes up to three times its bytes until it is sent.
  });
}

/**
 * Refuses requests before anything is looked up.
 * @returns what is called when a call is worked off; it is called by itself when its connection ends.
 */
function limitCalls(app: HttpServer): (reply: FastifyReply) => void {
  const calls = { inFlight: 0, most: MOST_IN_FLIGHT };
  const notifications = { inFlight: 0, most: MOST_NOTIFICATIONS_IN_FLIGHT };
  const releases = new WeakMap<FastifyReply, () => void>();
  let closing = false;

  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    if (closing) {
      reply.header('connection', 'close'); // The next attempt shall find another instance.
      throw busy('The service is stopping.', RETRY_AFTER_SECONDS);
    }
    // Whether the service lives must be heard also, and above all, when it is overloaded.
    const { rate } = request.routeOptions.config;
    if (rate === 'none') return;
    const room = rate === 'webhook' ? notifications : calls;
    if (room.inFlight >= room.most) throw busy('The service is busy.', RETRY_AFTER_SECONDS);
    room.inFlight += 1;
    const release = () => {
      if (releases.delete(reply)) room.inFlight -= 1;
    };
    releases.set(reply, release);
    reply.raw.once('close', release);
  });
  return (reply) => releases.get(reply)?.();
}

/** Counts the bytes of large answers until their clients have taken them. */
function createUnreadLimit() {
  let all = 0;
  const byCaller = new Map<string, number>();

  function add(caller: string, bytes: number): void {
    all += bytes;
    const own = (byCaller.get(caller) ?? 0) + bytes;
    if (own === 0) byCaller.delete(caller);
    else byCaller.set(caller, own);
  }

  /** Why a caller gets no further large answer now. */
  function refusal(caller: string): AppError | undefined {
    const own = byCaller.get(caller) ?? 0;
    if (own >= MOST_UNREAD_BYTES_OF_CALLER) {
      const unread = `You have not read ${Math.floor(own / 2 ** 20)} MiB of earlier answers.`;
      return busyByCaller(`${unread} Read them first, or close their connections.`, RETRY_AFTER_SECONDS);
    }
    if (all >= MOST_UNREAD_BYTES) return busy('Too many answers are being read.', RETRY_AFTER_SECONDS);
    return undefined;
  }

  return { add, refusal };
}

/**
 * The bytes that an answer takes up of its own. A stream brings only as many as its client takes, and static content is in
 * memory once for all that read it.
 */
function largeAnswer({ method }: FastifyRequest, payload: unknown): Buffer | undefined {
  if (method === 'HEAD') return undefined;
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return undefined;
  if (payload.length <= SMALL_ANSWER_BYTES) return undefined;
  if (typeof payload === 'string') return Buffer.from(payload);
  return isSharedContent(payload) ? undefined : payload;
}
