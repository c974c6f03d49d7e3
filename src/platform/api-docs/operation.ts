import type {} from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { closed } from '../../core/http/validation.ts';
import { type Access, neededByApiKeys, rolesWith } from '../../rights.ts';
import { type ErrorName, NAME_OF } from './errors.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Internal field, which document.ts replaces by responses. */
    'x-errors'?: ErrorName[];
    /** Internal field, which document.ts replaces by a header of the answer. */
    'x-snapshot'?: true;
  }
}

/** Adds the roles that may call a route, its headers and its errors to the schema of the route. */
export function describeOperation(route: RouteOptions): FastifySchema {
  const { schema = {}, config = {} } = route;
  if (!schema.operationId && !schema.hide)
    throw new Error(`${route.method} ${route.url} has no operationId.`);
  const { access = 'public', repeatable, snapshot } = config;
  const takesEtag = config.editable !== undefined && route.method !== 'GET';
  return {
    ...schema,
    description: [schema.description, describeAccess(access)].filter(Boolean).join('\n\n'),
    security: schema.security ?? securityOf(access),
    headers: {
      type: 'object',
      properties: { ...REQUEST_ID, ...(repeatable && IDEMPOTENCY_KEY), ...(takesEtag && IF_MATCH) },
    },
    ...(schema.querystring !== undefined && { querystring: closed(schema.querystring) }),
    ...(schema.body !== undefined && { body: closed(schema.body) }),
    'x-errors': errorsOf(route),
    ...(snapshot && { 'x-snapshot': snapshot }),
  };
}

function describeAccess(access: Access): string {
  if (access === 'public') return 'Needs no access token.';
  if (access === 'signed-in') return 'Needs the access token of a user with any role. API keys are refused.';
  const roles = rolesWith(access).join(', ');
  return `Needs the permission \`${access}\` (roles: ${roles}). ${describeAccessOfApiKeys(access, neededByApiKeys(access))}`.trim();
}

function describeAccessOfApiKeys(access: Access, needed: Access | null): string {
  if (needed === null) return 'API keys are refused.';
  return needed === access ? '' : `An API key needs \`${needed}\`.`;
}

/** The security schemes. A caller needs one of them. */
function securityOf(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  return neededByApiKeys(access) === null ? [{ bearer: [] }] : [{ bearer: [] }, { apiKey: [] }];
}

function errorsOf({ schema, method, config = {} }: RouteOptions): ErrorName[] {
  const { access = 'public', rate, errors = [], repeatable, confirmable, expires } = config;
  return [
    'ValidationError',
    ...(access === 'public' ? [] : (['Unauthorized', 'Forbidden'] as const)),
    ...errors.map((code) => NAME_OF[code]),
    ...(expires ? (['Gone'] as const) : []),
    ...(confirmable ? (['Unconfirmed'] as const) : []),
    ...(repeatable ? (['KeyInUse', 'KeyReused'] as const) : []),
    ...(method === 'GET' ? [] : (['Changed'] as const)),
    ...(schema?.body === undefined ? [] : (['BodyTooLarge', 'UnsupportedType'] as const)),
    ...(rate === 'none' ? [] : (['RateLimited'] as const)),
    'InternalError',
    'Unavailable',
  ];
}

const REQUEST_ID = {
  'X-Request-Id': {
    type: 'string',
    examples: ['import-2026-11-02.1'],
    description:
      'Your id for the request: 1 to 64 characters of A-Z, a-z, 0-9 and `_.-`. The answer, the log and the audit list show it. Without a valid id, the service makes one.',
  },
};

const IDEMPOTENCY_KEY = {
  'Idempotency-Key': {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    examples: ['5f0c1f6e-2c0c-4c3e-9a3b-6f6d7c0b8f11'],
    description:
      'Makes the request safe to repeat: for 24 hours a repeat with the same key and body gets the stored answer, marked Idempotent-Replayed.',
  },
};

const IF_MATCH = {
  'If-Match': {
    type: 'string',
    examples: ['*'],
    description:
      'The ETag that you got with the resource. If the resource has changed since then, the answer is 412 and nothing is saved. Without this header, the last change wins.',
  },
};
