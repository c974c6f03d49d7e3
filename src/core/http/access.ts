import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify';
import type { Actor } from '../context.ts';
import { clientKey } from './addresses.ts';
import { AppError, type ErrorCode } from './errors.ts';
import { announceLimit, type Limiters, type RateClass } from './rate-limit.ts';
import type { HttpServer } from './server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
  }
  interface FastifyContextConfig {
    rate?: RateClass;
    /** For the rate class auth: the name of the counter for calls of this endpoint. */
    budget?: string;
    /** Error codes of this route, in addition to the codes of all routes with the same access. */
    errors?: ErrorCode[];
    /** The time limit for receiving the body, see server.ts. */
    bodyTimeoutMs?: number;
    /** The time limit for the first byte of the answer, see server.ts. */
    answerTimeoutMs?: number;
    /** The same, of a list, for a request with `totals=true`. */
    totalsTimeoutMs?: number;
    /** Requests to this route can stay open for long without doing work. They have their own limits, see load-shedding.ts. */
    mayWait?: true;
    /** Whether an `Idempotency-Key` is accepted (true), refused (false) or ignored (absent). See idempotency.ts. */
    repeatable?: boolean;
    /** The route answers 409 with warnings that the caller has to confirm, see `unconfirmed`. */
    confirmable?: true;
    /** The route answers 410 if the query refers to data that has been deleted. */
    expires?: true;
  }
}

/** @throws AppError UNAUTHORIZED without a valid token or API key, FORBIDDEN for an API key that is used outside its networks. */
export type Identify = (request: FastifyRequest) => Promise<Actor>;

/** The access rule of a route, see rights.ts. */
type Access = NonNullable<FastifyContextConfig['access']>;

interface AccessOptions {
  identify: Identify;
  /** The error if the actor is not allowed to call the route. */
  refusalOf(actor: Actor, access: Access): AppError | undefined;
  limiters: Limiters;
  /** The rate class of a request whose path has no route. */
  rateWithoutRoute(request: FastifyRequest): RateClass;
}

/**
 * The access hook. The hook identifies the caller, counts the request for its rate limit, and checks whether the caller has the
 * permission that the route needs. The hook counts refused requests too, so that guessing tokens is limited.
 */
export function guardRoutes(
  app: HttpServer,
  { identify, refusalOf, limiters, rateWithoutRoute }: AccessOptions,
): void {
  app.decorateRequest('actor', null);
  app.addHook('onRoute', (route) => {
    if (route.method !== 'OPTIONS') checkDeclarations(route);
  });
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'public' } = request.routeOptions.config;
    const identityRefusal = access === 'public' ? undefined : await identifyRequest(request, identify);
    const rate = request.is404 ? rateWithoutRoute(request) : rateClassOf(request);
    const state = await limiters[rate]?.count(budgetKey(request, rate));
    if (state) announceLimit(reply, rate, state);
    const refusal = identityRefusal ?? (request.actor && refusalOf(request.actor, access));
    if (refusal) throw refusal;
  });
}

/** The signed-in user or the API key. Only for routes that are not public. */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new Error('This route is public, so the request has no actor.');
  return request.actor;
}

/** Sets the actor of the request. @returns the error if the caller cannot be identified. */
async function identifyRequest(request: FastifyRequest, identify: Identify): Promise<AppError | undefined> {
  try {
    request.actor = await identify(request);
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

/** Whether the error says that the caller is unknown, or lacks a permission. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

/** An API key has a separate limit instead of the general limit. So have the reads of a browser session. */
function rateClassOf({ actor, routeOptions, method }: FastifyRequest): RateClass {
  const { rate = 'general' } = routeOptions.config;
  if (rate !== 'general') return rate;
  if (actor?.apiKey) return 'api_key';
  return actor?.isBrowser && (method === 'GET' || method === 'HEAD') ? 'browser' : rate;
}

/** Calls of the rate class auth are counted by `budget` and client address, all other calls by caller. */
function budgetKey(request: FastifyRequest, rate: RateClass): string {
  if (rate === 'auth') return `${request.routeOptions.config.budget ?? ''} ${clientKey(request.ip)}`;
  return callerOf(request);
}

/** The name of the caller for limits: the user or the API key. If the caller is not identified, the client address. */
export function callerOf({ actor, ip }: FastifyRequest): string {
  return actor ? nameCaller(actor) : clientKey(ip);
}

/** A unique name of a user or an API key, for limits and idempotency keys. */
export function nameCaller({ userId, apiKey }: Actor): string {
  if (apiKey) return `api key ${apiKey.id}`;
  if (userId === null)
    throw new Error('The actor of an HTTP request must be a user or an API key, not the system.');
  return `user ${userId}`;
}

/** Makes the start fail if a route declares no access or no schema. */
function checkDeclarations(route: RouteOptions): void {
  if (!route.config?.access) throw new Error(`${route.method} ${route.url} declares no access.`);
  if (!route.schema) throw new Error(`${route.method} ${route.url} declares no schema.`);
  // A route that declares no schema for its query or body accepts no query or body.
  route.schema.querystring ??= NOTHING;
  if (['POST', 'PUT', 'DELETE'].includes(String(route.method))) route.schema.body ??= NOTHING;
}

const NOTHING = { type: 'object', properties: {}, examples: [{}] };
