import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Config } from '../../config.ts';
import type { Actor } from '../context.ts';
import { clientKey } from './addresses.ts';
import { AppError, type ErrorCode } from './errors.ts';
import { createLimiter, type Limiter, type LimitState, limited } from './rate-limit.ts';
import type { SharedRedis } from './redis.ts';
import type { HttpServer } from './server.ts';

/** The budget that a request counts in; see rate-limit.ts. */
export type RateClass = 'auth' | 'bulk' | 'general' | 'pages' | 'webhook' | 'none';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
  }
  interface FastifyContextConfig {
    rate?: RateClass;
    /** For rate class auth: the name under which calls of the endpoint are counted. */
    budget?: string;
    /** Errors of this route, besides those of every route with its access. */
    errors?: ErrorCode[];
    /** How long the body may take to arrive; see server.ts. */
    bodyTimeoutMs?: number;
    /** How long the answer may take to start; see server.ts. */
    answerTimeoutMs?: number;
    /** Accepts an `Idempotency-Key`; see idempotency.ts. */
    repeatable?: true;
  }
}

const WINDOW_SECONDS = 60;

/** @throws AppError UNAUTHORIZED for a request without a valid token. */
export type Identify = (request: FastifyRequest) => Promise<Actor>;

/** What a route may declare; see rights.ts. */
type Access = NonNullable<FastifyContextConfig['access']>;

interface AccessOptions {
  identify: Identify;
  /** Whether a role has a permission. */
  mayDo(role: Actor['role'], access: Access): boolean;
  /** The roles with a permission, for the refusal. */
  rolesWith(access: Access): readonly string[];
  config: Config;
  redis: SharedRedis | undefined;
}

/**
 * The access hook: identifies each request, counts it in its budget and checks the permission of its route. It counts before it
 * refuses, so that guessing tokens is limited too.
 */
export function guardRoutes(
  app: HttpServer,
  { identify, mayDo, rolesWith, config, redis }: AccessOptions,
): void {
  const limiters = {
    auth: limiter('auth', config.RATE_LIMIT_AUTH, redis),
    bulk: limiter('bulk', config.RATE_LIMIT_BULK, redis),
    general: limiter('general', config.RATE_LIMIT_GENERAL, redis),
    pages: limiter('pages', config.RATE_LIMIT_PAGES, redis),
    webhook: limiter('webhook', config.RATE_LIMIT_WEBHOOK, redis),
    none: undefined,
  } satisfies Record<RateClass, Limiter | undefined>;

  app.decorateRequest('actor', null);
  app.addHook('onRoute', (route) => {
    if (route.method !== 'OPTIONS') declareAccess(route);
  });
  app.addHook('onRequest', async (request, reply) => {
    const { access = 'public', rate = 'general' } = request.routeOptions.config;
    const refusal = access === 'public' ? undefined : await identifyRequest(request, identify);
    const state = await limiters[rate]?.count(budgetKey(request, rate));
    if (state) announceLimit(reply, rate, state);
    if (state?.exceeded) throw limited(state, WINDOW_SECONDS);
    if (refusal) throw refusal;
    if (request.actor && !mayDo(request.actor.role, access)) {
      throw new AppError('FORBIDDEN', `Your role (${request.actor.role}) may not do this.`, {
        details: { permission: access, roles: rolesWith(access) },
      });
    }
  });
}

/** The signed-in user of a route that needs one. */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new Error('This route is public: there is no user.');
  return request.actor;
}

async function identifyRequest(request: FastifyRequest, identify: Identify): Promise<AppError | undefined> {
  try {
    request.actor = await identify(request);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.status === 401) return error;
    throw error;
  }
}

function limiter(name: RateClass, perMinute: number, redis: SharedRedis | undefined): Limiter | undefined {
  return perMinute === 0 ? undefined : createLimiter(name, perMinute, WINDOW_SECONDS, redis);
}

/** Counts each credential endpoint by address, and everything else by user, or by address if no user is signed in. */
function budgetKey(request: FastifyRequest, rate: RateClass): string {
  if (rate === 'auth') return `${request.routeOptions.config.budget ?? ''} ${clientKey(request.ip)}`;
  return callerOf(request);
}

/** Who is counted for a request where callers share a resource: the user, or the client address. */
export function callerOf(request: FastifyRequest): string {
  return request.actor?.userId ? `user ${request.actor.userId}` : clientKey(request.ip);
}

function announceLimit(
  reply: FastifyReply,
  rate: RateClass,
  { limit, remaining, resetSeconds }: LimitState,
): void {
  reply.header('ratelimit-policy', `"${rate}";q=${limit};w=${WINDOW_SECONDS}`);
  reply.header('ratelimit', `"${rate}";r=${remaining};t=${resetSeconds}`);
}

/** Fails the start if a route declares no access. */
function declareAccess(route: RouteOptions): void {
  if (!route.config?.access) throw new Error(`${route.method} ${route.url} declares no access.`);
  if (!route.schema) throw new Error(`${route.method} ${route.url} declares no schema.`);
  // A route without a schema for its query or body accepts none.
  route.schema.querystring ??= NOTHING;
  if (route.method === 'POST' || route.method === 'PUT') route.schema.body ??= NOTHING;
}

const NOTHING = { type: 'object', properties: {}, examples: [{}] };
