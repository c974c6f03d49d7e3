import type {} from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { closed } from '../../core/http/validation.ts';
import { type Access, rolesWith } from '../../rights.ts';
import { type ErrorName, NAME_OF } from './errors.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Internal: document.ts replaces it by responses. */
    'x-errors'?: ErrorName[];
  }
}

/** Adds to the schema of a route who may call it, its headers and its errors. */
export function describeOperation(route: RouteOptions): FastifySchema {
  const { schema = {}, config = {} } = route;
  if (!schema.operationId && !schema.hide)
    throw new Error(`${route.method} ${route.url} has no operationId.`);
  const { access = 'public', repeatable } = config;
  return {
    ...schema,
    description: [schema.description, needs(access)].filter(Boolean).join('\n\n'),
    security: schema.security ?? (access === 'public' ? [] : [{ bearer: [] }]),
    headers: {
      type: 'object',
      properties: { ...REQUEST_ID, ...(repeatable && IDEMPOTENCY_KEY) },
    },
    ...(schema.querystring !== undefined && { querystring: closed(schema.querystring) }),
    ...(schema.body !== undefined && { body: closed(schema.body) }),
    'x-errors': errorsOf(route),
  };
}

function needs(access: Access): string {
  if (access === 'public') return 'Needs no token.';
  if (access === 'signed-in') return 'Needs a token; any role.';
  return `Needs the permission \`${access}\`: ${rolesWith(access).join(', ')}.`;
}

function errorsOf({ schema, config = {} }: RouteOptions): ErrorName[] {
  const { access = 'public', rate, errors = [], repeatable } = config;
  return [
    'ValidationError',
    ...(access === 'public' ? [] : (['Unauthorized'] as const)),
    ...(access === 'public' || access === 'signed-in' ? [] : (['Forbidden'] as const)),
    ...errors.map((code) => NAME_OF[code]),
    ...(repeatable ? (['KeyInUse', 'KeyReused'] as const) : []),
    ...(schema?.body === undefined ? [] : (['BodyTooLarge', 'UnsupportedType'] as const)),
    ...(rate === 'none' ? [] : (['RateLimited'] as const)),
    'InternalError',
    'Unavailable',
  ];
}

const REQUEST_ID = {
  'X-Request-Id': {
    type: 'string',
    description:
      'Comes back in the answer and stands in log and audit, when it is 1 to 64 letters, digits, _, . or -; otherwise one is made.',
  },
};

const IDEMPOTENCY_KEY = {
  'Idempotency-Key': {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description:
      'Makes the request safe to repeat: for 24 hours a repeat with the same key and body gets the stored answer, marked Idempotent-Replayed.',
  },
};
