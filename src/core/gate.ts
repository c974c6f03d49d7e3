import type {} from '@fastify/swagger';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Config } from '../config.ts';
import { mayDo, type RateClass, rolesWith } from './access.ts';
import type { Actor } from './context.ts';
import { AppError } from './errors.ts';
import type { HttpServer } from './http.ts';
import { createLimiter, type Limiter, type LimitState, limited } from './rate-limit.ts';
import type { SharedRedis } from './redis.ts';

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null;
  }
}

const WINDOW_SECONDS = 60;

/** @throws AppError UNAUTHORIZED when the request shows no valid token. */
export type Identify = (request: FastifyRequest) => Promise<Actor>;

interface GateOptions {
  identify: Identify;
  config: Config;
  redis: SharedRedis | undefined;
  /** The documentation's own pages are public and not counted. */
  docsPath: string;
}

/**
 * Who may pass: every request is identified, counted in its budget, and held against the permission
 * that its route declares. In this order, so that guessing tokens is limited too.
 */
export function guardRoutes(app: HttpServer, { identify, config, redis, docsPath }: GateOptions): void {
  const limiters = {
    auth: limiter('auth', config.RATE_LIMIT_AUTH, redis),
    bulk: limiter('bulk', config.RATE_LIMIT_BULK, redis),
    general: limiter('general', config.RATE_LIMIT_GENERAL, redis),
    webhook: limiter('webhook', config.RATE_LIMIT_WEBHOOK, redis),
    none: undefined,
  } satisfies Record<RateClass, Limiter | undefined>;

  app.decorateRequest('actor', null);
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith(docsPath)) route.config = { ...route.config, access: 'public', rate: 'none' };
    else if (route.method !== 'OPTIONS') declareAccess(route);
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
        details: {
          permission: access,
          roles: access === 'signed-in' || access === 'public' ? [] : rolesWith(access),
        },
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

/** Credential endpoints are counted one by one for an address; all else for the user, or the address. */
function budgetKey(request: FastifyRequest, rate: RateClass): string {
  if (rate === 'auth') return `${request.routeOptions.config.budget ?? ''} ${request.ip}`;
  return request.actor?.userId ? `user ${request.actor.userId}` : request.ip;
}

function announceLimit(
  reply: FastifyReply,
  rate: RateClass,
  { limit, remaining, resetSeconds }: LimitState,
): void {
  reply.header('ratelimit-policy', `"${rate}";q=${limit};w=${WINDOW_SECONDS}`);
  reply.header('ratelimit', `"${rate}";r=${remaining};t=${resetSeconds}`);
}

/** Refuses to start with a route that names no access, and prints what each needs into the description. */
function declareAccess(route: RouteOptions): void {
  const { access } = route.config ?? {};
  if (!access) throw new Error(`${route.method} ${route.url} declares no access.`);
  if (!route.schema) throw new Error(`${route.method} ${route.url} declares no schema.`);
  // What a route does not name it does not accept: not in the query, and not in a body.
  route.schema.querystring ??= NOTHING;
  if (route.method === 'POST' || route.method === 'PUT') route.schema.body ??= NOTHING;
  if (route.schema.hide) return;
  const description = route.schema.description ? `${route.schema.description}\n\n` : '';
  const secured = access !== 'public';
  const needs =
    access === 'public'
      ? 'Needs no token.'
      : access === 'signed-in'
        ? 'Needs a token; any role.'
        : `Needs the permission \`${access}\`: ${rolesWith(access).join(', ')}.`;
  const errors = [
    400,
    ...(secured ? [401] : []),
    ...(secured && access !== 'signed-in' ? [403] : []),
    ...(route.config?.errors ?? []),
    429,
    500,
    503,
  ];
  route.schema = {
    ...route.schema,
    operationId: operationId(route),
    description: description + needs,
    security: secured ? [{ bearer: [] }] : [],
    response: {
      ...(route.schema.response as Record<string, unknown>),
      ...Object.fromEntries(
        errors.map((status) => [status, { $ref: 'Error#', description: ERROR_MEANING[status] }]),
      ),
    },
  };
}

/** GET /api/accounts/:id → getAccountsById */
function operationId({ method, url }: RouteOptions): string {
  const words = url
    .replace(/^\/api\//, '')
    .split(/[/-]/)
    .filter((word) => word !== '')
    .map((word) => (word.startsWith(':') ? `by-${word.slice(1)}` : word))
    .flatMap((word) => word.split('-'))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${String(method).toLowerCase()}${words.join('')}`;
}

const NOTHING = { type: 'object', properties: {} };

const ERROR_MEANING: Record<number, string> = {
  400: 'VALIDATION_ERROR: every wrong field is named in error.details.fields.',
  401: 'UNAUTHORIZED: the token is missing or not valid (AUTH_FAILED where signing in failed).',
  403: 'FORBIDDEN: the role lacks the permission.',
  404: 'NOT_FOUND: the resource, or one that the body refers to, does not exist.',
  409: 'DUPLICATE_ENTRY: error.details.field names what is taken.',
  429: 'RATE_LIMITED: too many requests; Retry-After says when to come back.',
  500: 'INTERNAL_ERROR: a defect on our side.',
  503: 'INTERNAL_ERROR: a part that the service needs is down; Retry-After says when to come back.',
};
