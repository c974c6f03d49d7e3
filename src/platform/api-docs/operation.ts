import type {} from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { closed } from '../../core/http/validation.ts';
import { type Access, neededByApiKeys, rolesWith } from '../../rights.ts';
import { type ErrorName, NAME_OF } from './errors.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Internal field, which document.ts replaces by responses. */
    'x-errors'?: ErrorName[];
  }
}

/** Adds the roles that may call a route, its headers and its errors to the schema of the route. */
export function describeOperation(route: RouteOptions): FastifySchema {
  const { schema = {}, config = {} } = route;
  if (!schema.operationId && !schema.hide)
    throw new Error(`${route.method} ${route.url} has no operationId.`);
  const { access = 'public', repeatable } = config;
  return {
    ...schema,
    description: [schema.description, needs(access)].filter(Boolean).join('\n\n'),
    security: schema.security ?? securityOf(access),
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
  if (access === 'signed-in') return 'Needs a token of a user; any role. API keys are refused.';
  const roles = rolesWith(access).join(', ');
  return `Needs the permission \`${access}\`: ${roles}. ${needsOfApiKeys(access, neededByApiKeys(access))}`.trim();
}

function needsOfApiKeys(access: Access, needed: Access | null): string {
  if (needed === null) return 'API keys are refused.';
  return needed === access ? '' : `An API key needs \`${needed}\`.`;
}

/** The security schemes. A caller needs one of them. */
function securityOf(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  return neededByApiKeys(access) === null ? [{ bearer: [] }] : [{ bearer: [] }, { apiKey: [] }];
}

function errorsOf({ schema, config = {} }: RouteOptions): ErrorName[] {
  const { access = 'public', rate, errors = [], repeatable, expires } = config;
  return [
    'ValidationError',
    ...(access === 'public' ? [] : (['Unauthorized'] as const)),
    ...(access === 'public' ? [] : (['Forbidden'] as const)),
    ...errors.map((code) => NAME_OF[code]),
    ...(expires ? (['Gone'] as const) : []),
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
      'Returned in the answer, and shown in log and audit, if it is 1 to 64 letters, digits, _, . or -. Otherwise the service generates an id.',
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
