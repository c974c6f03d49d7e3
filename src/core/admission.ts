import { AppError } from './errors.ts';
import type { HttpServer } from './http.ts';

/**
 * About what the connections of the database work off within a second. A notification that is refused may
 * be lost money, so those have room of their own, and more of it.
 */
const MOST_IN_FLIGHT = 128;
const MOST_NOTIFICATIONS_IN_FLIGHT = 512;
const RETRY_AFTER_SECONDS = 1;

/**
 * Takes as many requests at once as can be answered soon and refuses the rest at the door, before anything
 * is looked up: under overload a quick refusal is worth more to everyone than a late answer.
 */
export function admitRequests(app: HttpServer): void {
  const calls = { inFlight: 0, most: MOST_IN_FLIGHT };
  let closing = false;
  const notifications = { inFlight: 0, most: MOST_NOTIFICATIONS_IN_FLIGHT };

  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    if (closing) {
      reply.header('connection', 'close'); // The next attempt shall find another instance.
      throw busy('The service is stopping. Try again shortly.');
    }
    // Whether the service lives must be heard also, and above all, when it is overloaded.
    const { rate } = request.routeOptions.config;
    if (rate === 'none') return;
    const room = rate === 'webhook' ? notifications : calls;
    if (room.inFlight >= room.most) throw busy('The service is busy. Try again shortly.');
    room.inFlight += 1;
    reply.raw.once('close', () => {
      room.inFlight -= 1;
    });
  });
}

function busy(message: string): AppError {
  return new AppError('INTERNAL_ERROR', message, { status: 503, retryAfterSeconds: RETRY_AFTER_SECONDS });
}
