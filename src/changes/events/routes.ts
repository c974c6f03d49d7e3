import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../../core/context.ts';
import { actorOf, type Identify, isRefusal } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { AppError, gone, invalidField } from '../../core/http/errors.ts';
import { quality, varyBy } from '../../core/http/negotiation.ts';
import { type Rights, refusalOf } from '../../rights.ts';
import { EVENT_TYPES, type EventType } from './catalogue-schema.ts';
import type { Feed, FeedPage } from './feed.ts';
import { maySee, readTypes } from './rules.ts';
import { EventPage, EventQuery, EventStream, MAX_WAIT_SECONDS } from './schema.ts';
import { streamEvents } from './server-sent-events.ts';
import type { EventRow } from './store.ts';
import { toEvent } from './view.ts';

interface EventParts {
  feed: Feed;
  sessions: { identify: Identify };
}

export function eventRoutes(api: Api, { currency, config }: Context, { feed, sessions }: EventParts): void {
  const show = (row: EventRow) => toEvent(row, currency);

  api.get(
    '/events',
    {
      config: {
        access: ACCESS,
        expires: true,
        mayWait: true,
        answerTimeoutMs: MAX_WAIT_SECONDS * 1_000 + config.limits.answerMs,
      },
      schema: {
        tags: ['Events'],
        operationId: 'listEvents',
        summary: 'Read the events after an id',
        description:
          'Each change is published as an event. Read from the start, then send the `after` of each answer with the next request: no event is skipped, and none comes twice. The events of an account come in the order of their versions. Events are kept for 30 days. An API key gets all events. A user gets the events of resources that the user may read.\n\nWith `Accept: text/event-stream` the answer is a stream of Server-Sent Events; `Last-Event-ID` replaces `after`. A caller may have at most 10 open requests and streams together.',
        querystring: EventQuery,
        response: {
          200: {
            description: 'Events found.',
            content: {
              'application/json': { schema: Envelope(EventPage, 'Events found.') },
              'text/event-stream': { schema: EventStream },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { limit = 100, types: filter, wait = 0 } = request.query;
      const after =
        request.query.after ?? (request.query.from === 'latest' ? await feed.latest() : undefined);
      const actor = actorOf(request);
      const types = typesFor(actor, readTypes(filter));
      varyBy(reply, 'accept');
      if (wantsStream(request)) {
        const position = readLastEventId(request) ?? after;
        const first = checked(position, await feed.read({ after: position, types, limit: 1 }));
        const signal = endOf(reply);
        const from = position ?? first.deletedToId;
        const mayRead = () => isStillAllowed(request, sessions.identify);
        const checkMs = config.limits.streamCheckMs;
        return reply
          .type('text/event-stream')
          .header('x-accel-buffering', 'no') // Without this header, nginx would buffer the messages.
          .send(streamEvents(feed, { after: from, types, show, mayRead, checkMs, signal }));
      }
      const page = await readPage(feed, { after, types, limit });
      const isWaiting = page.events.length === 0 && !page.hasMore && wait > 0;
      const limits = { timeoutMs: wait * 1_000, signal: endOf(reply) };
      const found = isWaiting ? { hasMore: false, ...(await feed.wait(page.toId, types, limits)) } : page;
      if (isWaiting) await checkAgain(request, sessions.identify);
      const shown = found.events.slice(0, limit);
      const last = found.events.length > limit ? shown.at(-1) : undefined;
      const hasMore = last !== undefined || found.hasMore;
      return ok({ events: shown.map(show), after: last?.id ?? found.toId, hasMore }, 'Events found.');
    },
  );
}

const ACCESS = 'events:follow';

/** The wanted types that the actor may see. Undefined: all types. */
function typesFor(
  actor: Rights,
  wanted: readonly EventType[] = EVENT_TYPES,
): readonly EventType[] | undefined {
  const types = wanted.filter((type) => maySee(actor, type));
  return types.length === EVENT_TYPES.length ? undefined : types;
}

interface PageQuery {
  after: number | undefined;
  types: readonly string[] | undefined;
  limit: number;
}

/** Reads pages until a page has events or is the last page. A page is empty if none of its events has a wanted type. */
async function readPage(feed: Feed, { after, ...query }: PageQuery): Promise<FeedPage> {
  let page = checked(after, await feed.read({ ...query, after }));
  for (let more = MAX_EMPTY_PAGES; page.events.length === 0 && page.hasMore && more > 0; more -= 1) {
    page = await feed.read({ ...query, after: page.toId });
  }
  return page;
}

/**
 * The maximum number of further pages that one request reads after an empty page. Each page covers 10,000 ids. The next request
 * continues after these pages.
 */
const MAX_EMPTY_PAGES = 20;

/** @throws AppError if the events after an id were deleted, or if the id is higher than the latest id. */
function checked(after: number | undefined, page: FeedPage): FeedPage {
  if (after === undefined) return page;
  if (after > page.lastId) {
    throw invalidField('after', `must be at most ${page.lastId}, the id of the latest event`);
  }
  if (after < page.deletedToId) {
    const firstId = page.deletedToId + 1;
    throw gone('after', `events before ${firstId} were deleted after 30 days`, firstId);
  }
  return page;
}

function wantsStream({ headers }: FastifyRequest): boolean {
  const { accept = '' } = headers;
  return quality(accept, 'text/event-stream') > quality(accept, 'application/json');
}

function readLastEventId({ headers }: FastifyRequest): number | undefined {
  const { 'last-event-id': text } = headers;
  if (text === undefined || text === '') return undefined;
  const id = Number(text);
  if (typeof text === 'string' && /^\d+$/.test(text) && Number.isSafeInteger(id)) return id;
  throw invalidField('Last-Event-ID', 'must be the id of an event');
}

/** Aborts when the answer was sent, or its connection has closed. */
function endOf(reply: FastifyReply): AbortSignal {
  const end = new AbortController();
  reply.raw.once('close', () => end.abort());
  if (reply.raw.closed || reply.raw.destroyed) end.abort();
  return end.signal;
}

/**
 * Checks the caller again after a wait, because the user or the API key may have lost rights. A new role is refused, too, because
 * the events were chosen by the role before the wait.
 * @throws AppError UNAUTHORIZED, FORBIDDEN
 */
async function checkAgain(request: FastifyRequest, identify: Identify): Promise<void> {
  const actor = await identify(request);
  const refusal = refusalOf(actor, ACCESS);
  if (refusal) throw refusal;
  if (actor.role !== actorOf(request).role) {
    throw new AppError('FORBIDDEN', 'Your role changed during this request. Send the request again.');
  }
}

/** False also after a change of the role: the client connects again, and gets the events of the new role. */
async function isStillAllowed(request: FastifyRequest, identify: Identify): Promise<boolean> {
  try {
    await checkAgain(request, identify);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}
