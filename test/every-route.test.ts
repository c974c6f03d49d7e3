import type { OpenAPIV3_1 } from 'openapi-types';
import { beforeAll, describe, expect, it } from 'vitest';
import { PROVIDERS } from '../src/mobile-money/providers/registry.ts';
import { API_KEY_PERMISSIONS } from '../src/rights.ts';
import { type Description, examplesOfMedia, readDescription } from './support/api-description.ts';
import { newApiKey, useService, wrongFields } from './support/harness.ts';
import { type Answer, createCaller } from './support/http.ts';
import { PROVIDER_ROUTES } from './support/provider-routes.ts';

/**
 * Rules for every route. The routes are read from the running application. The table lists who may call each route, so a new route
 * without a line in the table fails here.
 */
const EVERYONE = ['admin', 'manager', 'finance', 'agent', 'collector', 'viewer'];
/** All but agents and collectors, who see no figures of the company. */
const ALL_BUT_AGENTS = ['admin', 'manager', 'finance', 'viewer'];
const ALL_BUT_SELLERS = ['admin', 'manager', 'finance', 'collector', 'viewer'];
const ADMIN = ['admin'];
const PUBLIC = 'public';

const WHO_MAY: Record<string, string[] | typeof PUBLIC> = {
  'POST /auth/register': PUBLIC,
  'POST /auth/login': PUBLIC,
  'POST /auth/refresh': PUBLIC,
  'POST /auth/session': PUBLIC,
  'POST /auth/session/refresh': PUBLIC,
  'DELETE /auth/session': PUBLIC,
  'GET /settings': PUBLIC,
  'GET /auth/:provider': PUBLIC,
  'GET /auth/:provider/callback': PUBLIC,
  ...Object.fromEntries(PROVIDER_ROUTES.map((route) => [route, PUBLIC] as const)),
  'PUT /test/clock': PUBLIC, // exists only with TEST_CLOCK=on, as in these tests
  'POST /auth/logout': EVERYONE,
  'GET /auth/me': EVERYONE,
  'PUT /auth/password': EVERYONE,
  'GET /users': ADMIN,
  'POST /users': ADMIN,
  'GET /users/:id': ADMIN,
  'PUT /users/:id': ADMIN,
  'GET /users/invitations': ADMIN,
  'POST /users/invitations': ADMIN,
  'GET /users/invitations/:id': ADMIN,
  'POST /users/invitations/:id/revoke': ADMIN,
  'POST /users/:id/invitations': ADMIN,
  'GET /api-keys': ADMIN,
  'POST /api-keys': ADMIN,
  'GET /api-keys/:id': ADMIN,
  'PUT /api-keys/:id': ADMIN,
  'POST /api-keys/:id/rotate': ADMIN,
  'POST /api-keys/:id/revoke': ADMIN,
  'GET /audit': ADMIN,
  'GET /exports/portfolio': ADMIN,
  'GET /imports/templates/:file': EVERYONE,
  'GET /imports': ADMIN,
  'POST /imports': ADMIN,
  'GET /imports/:id': ADMIN,
  'PUT /imports/:id/files/:file': ADMIN,
  'POST /imports/:id/check': ADMIN,
  'POST /imports/:id/run': ADMIN,
  'POST /imports/:id/undo': ADMIN,
  'GET /imports/:id/problems': ADMIN,
  'GET /imports/:id/problems.csv': ADMIN,
  'GET /imports/:id/differences': ADMIN,
  'GET /events': EVERYONE, // a role gets only the events of resources that it may read
  'GET /webhook-endpoints': ADMIN,
  'POST /webhook-endpoints': ADMIN,
  'GET /webhook-endpoints/:id': ADMIN,
  'PUT /webhook-endpoints/:id': ADMIN,
  'DELETE /webhook-endpoints/:id': ADMIN,
  'POST /webhook-endpoints/:id/rotate-secret': ADMIN,
  'POST /webhook-endpoints/:id/test': ADMIN,
  'POST /webhook-endpoints/:id/resend': ADMIN,
  'GET /webhook-endpoints/:id/deliveries': ADMIN,
  'GET /webhook-endpoints/:id/deliveries/:deliveryId': ADMIN,
  'GET /customers': EVERYONE,
  'POST /customers': ['admin', 'manager', 'agent'],
  'GET /customers/by-external-id/:externalId': EVERYONE,
  'PUT /customers/by-external-id/:externalId': ['admin', 'manager'],
  'POST /customers/check': ['admin', 'manager', 'agent'],
  'POST /customers/bulk': ['admin', 'manager', 'agent'],
  'GET /customers/:id': EVERYONE,
  'PUT /customers/:id': ['admin', 'manager'],
  'GET /customers/:id/kyc': EVERYONE,
  'GET /customers/:id/timeline': EVERYONE, // only the kinds that the role may read
  'GET /accounts/:id/timeline': EVERYONE,
  'GET /customers/:id/notes': EVERYONE,
  'POST /customers/:id/notes': ['admin', 'manager', 'finance', 'agent', 'collector'],
  'GET /customers/:id/notes/:noteId': EVERYONE,
  'PUT /customers/:id/notes/:noteId': ['admin', 'manager', 'finance', 'agent', 'collector'],
  'POST /customers/:id/notes/:noteId/hide': ['admin', 'manager'],
  'PUT /customers/:id/kyc': ['admin', 'manager', 'agent'],
  'GET /accounts': EVERYONE,
  'POST /accounts': ['admin', 'manager', 'agent'],
  'GET /accounts/by-external-id/:externalId': EVERYONE,
  'POST /accounts/bulk': ['admin', 'manager', 'agent'],
  'GET /accounts/:id': EVERYONE,
  'PUT /accounts/:id': ['admin', 'manager'],
  'GET /accounts/:id/history': EVERYONE,
  'GET /accounts/:id/statement': EVERYONE,
  'GET /accounts/:id/quote': EVERYONE,
  'GET /accounts/:id/payment-instructions': EVERYONE,
  'GET /accounts/:id/overview': EVERYONE, // a part that the role may not read is null
  'GET /accounts/:id/schedule': EVERYONE,
  'GET /accounts/:accountId/payments': EVERYONE,
  'POST /accounts/:id/credit/transfer': ['admin', 'manager', 'finance'],
  'POST /accounts/:id/credit/refund': ['admin', 'manager', 'finance'],
  'GET /accounts/:id/credit/moves': EVERYONE,
  'GET /credit-moves': EVERYONE,
  'POST /accounts/:id/plan-changes': ['admin', 'manager', 'finance'],
  'GET /accounts/:id/plan-changes': EVERYONE,
  'GET /plan-changes': EVERYONE,
  'POST /plan-changes/bulk-deferrals': ['admin', 'manager', 'finance'],
  'GET /plan-changes/bulk-deferrals': EVERYONE,
  'GET /plan-changes/bulk-deferrals/:id': EVERYONE,
  'GET /plan-changes/bulk-deferrals/:id/accounts': EVERYONE,
  'POST /plan-changes/bulk-deferrals/:id/confirm': ['admin', 'manager', 'finance'],
  'POST /plan-changes/bulk-deferrals/:id/discard': ['admin', 'manager', 'finance'],
  'POST /plan-changes/bulk-deferrals/:id/stop': ['admin', 'manager', 'finance'],
  'POST /plan-changes/bulk-deferrals/:id/undo': ['admin', 'manager', 'finance'],
  'GET /approvals': ALL_BUT_AGENTS,
  'GET /approvals/:id': ALL_BUT_AGENTS,
  'POST /approvals/:id/approve': ['admin', 'manager', 'finance'],
  'POST /approvals/:id/reject': ['admin', 'manager', 'finance'],
  'POST /approvals/:id/withdraw': ALL_BUT_AGENTS, // only the requester
  'GET /payments': EVERYONE,
  'POST /payments': ['admin', 'manager', 'finance', 'agent'],
  'GET /payments/by-external-id/:externalId': EVERYONE,
  'POST /payments/bulk': ['admin', 'manager', 'finance', 'agent'],
  'GET /payments/:id': EVERYONE,
  'PUT /payments/:id': ['admin', 'manager', 'finance'],
  'GET /payments/unmatched': ['admin', 'manager', 'finance'],
  'POST /accounts/:accountId/payment-requests': ['admin', 'manager', 'finance', 'agent'],
  'GET /accounts/:accountId/payment-requests': EVERYONE,
  'GET /payment-requests': EVERYONE,
  'GET /payment-requests/:id': EVERYONE,
  'GET /notifications': ['admin', 'manager', 'finance'],
  'GET /providers/status': ['admin', 'manager', 'finance'],
  'GET /providers/balance-gaps': ['admin', 'manager', 'finance'],
  'GET /notifications/:id': ['admin', 'manager', 'finance'],
  'POST /payments/:id/status-queries': ['admin', 'manager', 'finance'],
  'POST /notifications/:id/status-queries': ['admin', 'manager', 'finance'],
  'GET /status-queries': ['admin', 'manager', 'finance'],
  'GET /status-queries/:id': ['admin', 'manager', 'finance'],
  'POST /payments/:id/assign': ['admin', 'manager', 'finance'],
  'POST /notifications/:id/resolve': ['admin', 'manager', 'finance'],
  'POST /payments/:id/unassign': ['admin', 'manager', 'finance'],
  'POST /payments/:id/reverse': ['admin', 'manager', 'finance'],
  'POST /payments/:id/receipt': ['admin', 'manager', 'finance', 'agent'],
  'GET /receipts/:number': EVERYONE,
  'POST /payments/:id/correct-amount': ['admin', 'manager', 'finance'],
  'POST /payments/reconcile': ['admin', 'manager', 'finance'],
  'GET /cash/own': ['admin', 'manager', 'finance', 'agent'],
  'GET /cash/overview': ['admin', 'manager', 'finance'],
  'GET /cash/counts': ['admin', 'manager', 'finance', 'agent'], // agents see only their own
  'POST /cash/counts': ['admin', 'manager', 'finance', 'agent'],
  'GET /cash/counts/:id': ['admin', 'manager', 'finance', 'agent'],
  'POST /cash/counts/:id/explain': ['admin', 'manager', 'finance', 'agent'], // only the holder
  'POST /cash/counts/:id/confirm': ['admin', 'finance'], // only another person
  'GET /cash/hand-overs': ['admin', 'manager', 'finance', 'agent'], // agents see only their own
  'POST /cash/hand-overs': ['admin', 'manager', 'finance', 'agent'],
  'GET /cash/hand-overs/:id': ['admin', 'manager', 'finance', 'agent'],
  'POST /cash/hand-overs/:id/receive': ['admin', 'manager', 'finance', 'agent'], // only the receiver
  'POST /cash/hand-overs/:id/withdraw': ['admin', 'manager', 'finance', 'agent'], // only the giver
  'POST /cash/hand-overs/:id/confirm': ['admin', 'finance'], // only another person
  'POST /cash/hand-overs/:id/reject': ['admin', 'finance'], // only another person
  'POST /cash/settlements': ['admin', 'finance'],
  'GET /cash/settlements': ['admin', 'manager', 'finance'],
  'GET /cash/settlements/:id': ['admin', 'manager', 'finance'],
  'POST /cash/settlements/:id/confirm': ['admin', 'manager', 'finance'], // only a second person
  'POST /cash/settlements/:id/reject': ['admin', 'manager', 'finance'],
  'GET /reconciliations': ALL_BUT_AGENTS,
  'GET /reconciliations/:id': ALL_BUT_AGENTS,
  'GET /reconciliations/statements': ALL_BUT_AGENTS,
  'POST /reconciliations/statements': ['admin', 'manager', 'finance'],
  'GET /reconciliations/statements/:id': ALL_BUT_AGENTS,
  'GET /reconciliations/statements/:id/lines': ['admin', 'manager', 'finance'],
  'POST /reconciliations/statements/:id/match': ['admin', 'manager', 'finance'],
  'POST /reconciliations/statements/:id/import': ['admin', 'manager', 'finance'],
  'POST /reconciliations/statements/:id/reconcile': ['admin', 'manager', 'finance'],
  'GET /invoices': EVERYONE,
  'POST /invoices': ['admin', 'manager', 'finance', 'agent'],
  'GET /invoices/:id': EVERYONE,
  'GET /invoices/:id/pdf': EVERYONE,
  'POST /invoices/:id/void': ['admin', 'manager', 'finance'],
  'GET /products': EVERYONE,
  'POST /products': ['admin', 'manager'],
  'GET /products/by-external-id/:externalId': EVERYONE,
  'PUT /products/by-external-id/:externalId': ['admin', 'manager'],
  'GET /products/:id': EVERYONE,
  'PUT /products/:id': ['admin', 'manager'],
  'GET /products/:id/configurations': EVERYONE,
  'POST /products/:id/configurations': ['admin', 'manager'],
  'GET /payplans': EVERYONE,
  'POST /payplans': ['admin', 'manager'],
  'GET /payplans/:id': EVERYONE,
  'PUT /payplans/:id': ['admin', 'manager'],
  'POST /payplans/:id/preview': EVERYONE,
  'GET /payment-methods': EVERYONE,
  'POST /payment-methods': ['admin', 'manager'],
  'PUT /payment-methods/:id': ['admin', 'manager'],
  'GET /employees': EVERYONE,
  'POST /employees': ['admin', 'manager'],
  'GET /employees/by-external-id/:externalId': EVERYONE,
  'PUT /employees/by-external-id/:externalId': ['admin', 'manager'],
  'GET /employees/:id': EVERYONE,
  'PUT /employees/:id': ['admin', 'manager'],
  'POST /commissions/calculate': ['admin', 'manager', 'finance'],
  'GET /commissions/payments': EVERYONE, // agents see only the commissions of their own employee
  'GET /commissions/payments/:id': EVERYONE, // agents see only the commissions of their own employee
  'PUT /commissions/payments/:id': ['admin', 'manager', 'finance'],
  'GET /commissions/unclaimed-sales': EVERYONE, // agents see only the sales of their own employee
  'GET /commissions/months/:period': ALL_BUT_AGENTS,
  'POST /commissions/months/:period/calculate': ['admin', 'manager', 'finance'],
  'POST /commissions/months/:period/status': ['admin', 'manager', 'finance'],
  'GET /customers.csv': ['admin', 'manager', 'finance'],
  'GET /accounts.csv': ['admin', 'manager', 'finance'],
  'GET /payments.csv': ['admin', 'manager', 'finance'],
  'GET /call-list.csv': ['admin', 'manager', 'finance'],
  'GET /invoices.csv': ['admin', 'manager', 'finance'],
  'GET /credit-moves.csv': ['admin', 'manager', 'finance'],
  'GET /payment-requests.csv': ['admin', 'manager', 'finance'],
  'GET /commissions/payments.csv': ['admin', 'manager', 'finance'],
  'GET /commissions/rules': ALL_BUT_AGENTS,
  'POST /commissions/rules': ['admin', 'manager'],
  'GET /call-list': ALL_BUT_SELLERS,
  'GET /call-list/:id/form': ALL_BUT_SELLERS,
  'GET /call-list/officers': ALL_BUT_SELLERS,
  'PUT /call-list/assignments': ['admin', 'manager'],
  'PUT /call-list/:id/lease': ['admin', 'manager', 'collector'],
  'DELETE /call-list/:id/lease': ['admin', 'manager', 'collector'],
  'GET /calls': ALL_BUT_SELLERS,
  'POST /calls': ['admin', 'manager', 'collector'],
  'GET /calls/:id': ALL_BUT_SELLERS,
  'POST /calls/:id/mark-mistake': ['admin', 'manager', 'collector'],
  'POST /calls/:id/close-dispute': ['admin', 'manager'],
  'POST /calls/:id/hide-note': ['admin', 'manager'],
  'GET /promises': ALL_BUT_SELLERS,
  'GET /call-results': ALL_BUT_SELLERS, // collectors see only their own results
  'GET /search': EVERYONE, // each type also needs its own permission
  'GET /reports/accounts/summary': ALL_BUT_AGENTS,
  'GET /reports/payments': ALL_BUT_AGENTS,
  'GET /reports/refunds.csv': ALL_BUT_AGENTS,
  'GET /reports/today': EVERYONE, // a part that the role may not read is null
  'GET /reports/today/money': ALL_BUT_AGENTS,
  'GET /reports/proof': ALL_BUT_AGENTS,
  'GET /reports/proof/last': ALL_BUT_AGENTS,
};

/** The routes that no API key may call, because they concern a person, need a second person, or would let a key extend its own rights. */
const NO_API_KEY = [
  'POST /auth/logout',
  'GET /auth/me',
  'PUT /auth/password',
  'GET /users',
  'POST /users',
  'GET /users/:id',
  'PUT /users/:id',
  'GET /users/invitations',
  'POST /users/invitations',
  'GET /users/invitations/:id',
  'POST /users/invitations/:id/revoke',
  'POST /users/:id/invitations',
  'GET /api-keys',
  'POST /api-keys',
  'GET /api-keys/:id',
  'PUT /api-keys/:id',
  'POST /api-keys/:id/rotate',
  'POST /api-keys/:id/revoke',
  'POST /approvals/:id/approve',
  'POST /approvals/:id/reject',
  'GET /cash/own',
  'GET /cash/counts',
  'POST /cash/counts',
  'GET /cash/counts/:id',
  'POST /cash/counts/:id/explain',
  'POST /cash/counts/:id/confirm',
  'GET /cash/hand-overs',
  'POST /cash/hand-overs',
  'GET /cash/hand-overs/:id',
  'POST /cash/hand-overs/:id/receive',
  'POST /cash/hand-overs/:id/withdraw',
  'POST /cash/hand-overs/:id/confirm',
  'POST /cash/hand-overs/:id/reject',
  'POST /cash/settlements',
  'POST /cash/settlements/:id/confirm',
  'POST /cash/settlements/:id/reject',
  'PUT /call-list/assignments',
  'PUT /call-list/:id/lease',
  'DELETE /call-list/:id/lease',
  'POST /calls',
  'POST /calls/:id/mark-mistake',
  'POST /calls/:id/close-dispute',
  'POST /calls/:id/hide-note',
  'GET /webhook-endpoints',
  'POST /webhook-endpoints',
  'GET /webhook-endpoints/:id',
  'PUT /webhook-endpoints/:id',
  'DELETE /webhook-endpoints/:id',
  'POST /webhook-endpoints/:id/rotate-secret',
  'POST /webhook-endpoints/:id/test',
  'POST /webhook-endpoints/:id/resend',
  'GET /webhook-endpoints/:id/deliveries',
  'GET /imports/templates/:file',
  'GET /imports',
  'POST /imports',
  'GET /imports/:id',
  'PUT /imports/:id/files/:file',
  'POST /imports/:id/check',
  'POST /imports/:id/run',
  'POST /imports/:id/undo',
  'GET /imports/:id/problems',
  'GET /imports/:id/problems.csv',
  'GET /imports/:id/differences',
  'GET /webhook-endpoints/:id/deliveries/:deliveryId',
];
/** An agent sees the commissions of their own employee. A key has no employee. */
const OWN_COMMISSIONS = [
  'GET /commissions/payments',
  'GET /commissions/payments/:id',
  'GET /commissions/unclaimed-sales',
];
/** A key sees all events, and needs `events:read`. */
const EVENTS = 'GET /events';

/** The roles whose API keys may call a route. */
function rolesOfKeys(route: string): string[] {
  if (NO_API_KEY.includes(route)) return [];
  if (route === EVENTS) return ['admin', 'manager', 'finance'];
  return OWN_COMMISSIONS.includes(route) ? ALL_BUT_AGENTS : [...(WHO_MAY[route] ?? [])];
}

/** A file, which has no fields. */
const UPLOAD = /^(POST \/reconciliations\/statements|PUT \/imports\/[^/]+\/files\/:file)$/;

/** Routes outside /api, which need no token. */
const ROOT = ['GET /health', 'GET /livez', 'GET /readyz'];
const DOCUMENTATION = '/api-docs';
/** Like the documentation, the start page does not describe itself. */
const START_PAGE = 'GET /';

const service = useService();
/** API keys of each role. */
const roleKeys: Record<string, string> = {};
/** For each permission that a route needs: an API key with only this permission, and an API key with all others. */
const onlyKeys: Record<string, string> = {};
const exceptKeys: Record<string, string> = {};
let keyWithAll: string;
let description: Description;

beforeAll(async () => {
  description = readDescription(service.app.swagger() as OpenAPIV3_1.Document, { isValid: true });
  const keyOf = async (grant: string | string[]) => (await newApiKey(service, grant)).key;
  for (const role of EVERYONE) roleKeys[role] = await keyOf(role);
  keyWithAll = await keyOf(API_KEY_PERMISSIONS);
  for (const permission of new Set(closedRoutes.map(neededByKeys))) {
    if (permission === undefined) continue;
    onlyKeys[permission] = await keyOf([permission]);
    exceptKeys[permission] = await keyOf(API_KEY_PERMISSIONS.filter((other) => other !== permission));
  }
});

/** The permission that an API key needs for a route, according to the API description. */
function neededByKeys({ method, path }: Route): string | undefined {
  const described = service.app.swagger().paths ?? {};
  const operation = described[`/api${path.replace(/:(\w+)/g, '{$1}')}`];
  const { description = '' } = operation?.[method.toLowerCase() as 'get'] ?? {};
  if (description.includes('API keys are refused')) return undefined;
  return (/An API key needs `([^`]+)`/.exec(description) ?? /permission `([^`]+)`/.exec(description))?.[1];
}

interface Route {
  method: string;
  /** The path, with parameters as `:name`. */
  path: string;
}

/** Reads every route of the running application from the tree that its router prints. */
function runningRoutes(): Route[] {
  const tree = service.app.printRoutes({ commonPrefix: false });
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const node = /^([│ ]*)[├└]── (.+) \(([A-Z, ]+)\)$/.exec(line);
    if (!node) {
      expect(line.trim(), 'a line of the tree that is not understood').toBe('');
      return [];
    }
    const [, indent = '', segment = '', methods = ''] = node;
    const depth = indent.length / 4;
    const path = `${parents[depth - 1] ?? ''}${segment}`;
    parents[depth] = path;
    return methods
      .split(', ')
      .filter((method) => method !== 'HEAD' && method !== 'OPTIONS')
      .map((method) => ({ method, path }));
  });
}

/** The router prints `/accounts/:id|:accountId/payments` if two routes have different names for one parameter. */
function oneName({ method, path }: Route): string {
  const key = `${method} ${path}`;
  if (!key.includes('|')) return key;
  const [either, or] = [key.replace(/\|:\w+/, ''), key.replace(/:\w+\|/, '')];
  return either in WHO_MAY ? either : or;
}

function below(prefix: string): string[] {
  return runningRoutes()
    .filter(({ path }) => path.startsWith(`${prefix}/`))
    .map(({ method, path }) => oneName({ method, path: path.slice(prefix.length) }))
    .sort();
}

const routes = Object.entries(WHO_MAY).map(([route, who]) => {
  const [method = '', path = ''] = route.split(' ');
  return { route, method, path, who };
});
const closedRoutes = routes.filter(({ who }) => who !== PUBLIC);
const bodyRoutes = routes.filter(({ method }) => method !== 'GET');
const idRoutes = routes.filter(({ path }) => /\/:(id|accountId)\b/.test(path));
const restrictedRoutes = routes.filter(({ who }) => who !== PUBLIC && who.length < EVERYONE.length);
const PREFIXES = ['/api', '/api/v1'];
const MALFORMED_IDS = ['abc', '0', '-1', '1.5', '1e3', '01', '+1', '%20', '9007199254740993', '9'.repeat(40)];

/** A path for a request, with an id and the name of a provider that is not configured. */
function concrete(path: string): string {
  return path.replace(':provider', 'nobody').replace('files/:file', 'files/customers').replace(/:\w+/, '1');
}

/**
 * The example of the API description, so that only the query is wrong. A webhook gets an empty body, because its provider may add
 * query parameters.
 */
function validBody(route: string): unknown {
  if (route.includes(' /webhooks/')) return {};
  const name = route.replace(' ', ' /api').replace(/:(\w+)/g, '{$1}');
  const operation = description.operations.find((one) => one.name === name);
  return operation?.body ? examplesOfMedia(operation.body)[0] : {};
}

function ask(prefix: string, method: string, path: string, body?: unknown, token?: string): Promise<Answer> {
  const call = createCaller(`${service.origin}${prefix}`);
  const route = `${method} ${path.split('?', 1)[0]}`;
  const sent = body ?? (method === 'GET' ? undefined : validBody(route));
  const options = token ? { token } : {};
  if (UPLOAD.test(route)) {
    return call(method, concrete(path), 'a,b\n', { ...options, headers: { 'content-type': 'text/csv' } });
  }
  return call(method, concrete(path), sent, options);
}

function expectError(answer: Answer, status: number, code: string): void {
  expect(answer.body, answer.text).toEqual({
    success: false,
    error: { code, message: expect.stringMatching(/\S/), details: expect.any(Object) },
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/);
}

describe('the routes of the running application', () => {
  it('are exactly those of the table, below /api', () => {
    const withoutV1 = below('/api').filter((route) => !route.includes(' /v1/'));
    expect(withoutV1).toEqual(Object.keys(WHO_MAY).sort());
  });

  it('are the same below /api/v1', () => {
    expect(below('/api/v1')).toEqual(Object.keys(WHO_MAY).sort());
  });

  it('outside the API are only the start page, health and documentation', () => {
    const others = runningRoutes().filter(({ path }) => !path.startsWith('/api/'));
    const root = others.filter(({ path }) => !path.startsWith(DOCUMENTATION));
    expect(root.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([START_PAGE, ...ROOT]);
    expect(others.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('are each in the API description once', () => {
    const paths = Object.entries<object | undefined>(service.app.swagger().paths ?? {});
    const described = paths.flatMap(([path, methods]) =>
      Object.keys(methods ?? {}).map(
        (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
      ),
    );
    const expected = [...Object.keys(WHO_MAY).map((route) => route.replace(' /', ' /api/')), ...ROOT];
    expect(described.sort()).toEqual(expected.sort());
  });

  it('require the same permission for one row as for its list', () => {
    const paths = service.app.swagger().paths ?? {};
    const permissionOf = (path: string) =>
      /permission `([^`]+)`/.exec(paths[path]?.get?.description ?? '')?.[1] ?? 'none';
    const rows = Object.keys(paths).filter((path) => path.endsWith('/{id}') && paths[path]?.get);
    const permissions = rows.map((path) => [path, permissionOf(path)]);
    expect(rows.length).toBeGreaterThan(10);
    expect(permissions).toEqual(rows.map((path) => [path, permissionOf(path.slice(0, -'/{id}'.length))]));
  });

  it('accept an Idempotency-Key on every POST except for sign-in, checks, previews, invitations, API keys, receipts, webhooks and uploads', () => {
    const paths = Object.entries(service.app.swagger().paths ?? {});
    const posts = paths.flatMap(([path, methods]) => (methods?.post ? [{ path, post: methods.post }] : []));
    const withoutKey = posts
      .filter(({ post }) => !JSON.stringify(post.parameters ?? []).includes('"Idempotency-Key"'))
      .map(({ path }) => path);
    expect(withoutKey.sort()).toEqual([
      '/api/api-keys',
      '/api/api-keys/{id}/rotate',
      '/api/auth/login',
      '/api/auth/logout',
      '/api/auth/refresh',
      '/api/auth/register',
      '/api/auth/session',
      '/api/auth/session/refresh',
      '/api/customers/check',
      '/api/payments/{id}/receipt',
      '/api/payplans/{id}/preview',
      '/api/reconciliations/statements',
      '/api/users/invitations',
      '/api/users/{id}/invitations',
      '/api/webhook-endpoints',
      '/api/webhook-endpoints/{id}/rotate-secret',
      '/api/webhook-endpoints/{id}/test',
      ...PROVIDER_ROUTES.map((route) => route.replace('POST ', '/api').replace(':key', '{key}')).sort(),
    ]);
  });
});

describe('a POST whose answer is not stored', () => {
  it.each([
    '/api-keys',
    '/api-keys/1/rotate',
    '/users/invitations',
    '/users/1/invitations',
    '/webhook-endpoints',
    '/webhook-endpoints/1/rotate-secret',
    '/webhook-endpoints/1/test',
  ])('refuses an Idempotency-Key: %s', async (path) => {
    const answer = await service.call('POST', path, {}, { headers: { 'idempotency-key': 'one' } });
    expect(answer.status).toBe(400);
    expect(wrongFields(answer)).toEqual(['Idempotency-Key']);
  });
});

describe('a POST that takes an Idempotency-Key', () => {
  it('has no query, because the key is not compared with it', () => {
    const posts = Object.values(service.app.swagger().paths ?? {}).flatMap((methods) => methods?.post ?? []);
    const parameters = posts.map((post) => JSON.stringify(post.parameters ?? []));
    const withKey = parameters.filter((text) => text.includes('"Idempotency-Key"'));
    expect(withKey.length).toBeGreaterThan(0);
    expect(withKey.filter((text) => text.includes('"in":"query"'))).toEqual([]);
  });
});

describe('without a token', () => {
  it('only sign-in, the public settings, the webhook, health, the pages and the test clock are open', () => {
    // The whole list, so that a route does not become public by accident.
    const open = routes.filter(({ who }) => who === PUBLIC).map(({ route }) => route);
    expect(open).toEqual([
      'POST /auth/register',
      'POST /auth/login',
      'POST /auth/refresh',
      'POST /auth/session',
      'POST /auth/session/refresh',
      'DELETE /auth/session',
      'GET /settings',
      'GET /auth/:provider',
      'GET /auth/:provider/callback',
      ...PROVIDER_ROUTES,
      'PUT /test/clock',
    ]);
  });

  it.each(closedRoutes)('$route answers 401', async ({ method, path }) => {
    const answers = await Promise.all(PREFIXES.map((prefix) => ask(prefix, method, path)));
    for (const answer of answers) {
      expectError(answer, 401, 'UNAUTHORIZED');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="api"');
    }
  });

  it.each(closedRoutes)('$route answers 401 to an invalid token', async ({ method, path }) => {
    const answers = await Promise.all(
      PREFIXES.map((prefix) => ask(prefix, method, path, undefined, 'no.token.here')),
    );
    for (const answer of answers) {
      expectError(answer, 401, 'UNAUTHORIZED');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="api", error="invalid_token"');
    }
  });

  // A provider that returns the money of refused payments, or that asks for a validation, reads the outcome from the body.
  const refusesBy200 = PROVIDERS.flatMap(({ name, acceptsUnmatched, validation }) => [
    ...(acceptsUnmatched ? [] : [`POST /webhooks/payments/${name}`]),
    ...(validation ? [`POST /webhooks/payments/${name}/validation`] : []),
  ]);

  it.each(routes.filter(({ who }) => who === PUBLIC))(
    '$route does not ask for one',
    async ({ method, path }) => {
      // An unknown query parameter, an unknown provider or an empty body prevents the request from changing anything.
      for (const prefix of PREFIXES) {
        expect(refusesBy200.includes(`${method} ${path}`) ? [200] : [400, 404]).toContain(
          (await ask(prefix, method, `${path}?unknownParameter=1`)).status,
        );
      }
    },
  );

  it.each([START_PAGE, ...ROOT, 'GET /api-docs', 'GET /api-docs/openapi.json'])(
    '%s answers 200',
    async (route) => {
      const answer = await createCaller(service.origin)('GET', route.slice(4));
      expect(answer.status, answer.text).toBe(200);
    },
  );
});

describe('a user', () => {
  it.each(restrictedRoutes)('without the permission gets 403 from $route', async ({ method, path, who }) => {
    const refused = EVERYONE.filter((one) => !who.includes(one));
    const answers = await Promise.all(
      PREFIXES.flatMap((prefix) =>
        refused.map(async (role) => ask(prefix, method, path, undefined, await service.tokenOf(role))),
      ),
    );
    for (const answer of answers) {
      expectError(answer, 403, 'FORBIDDEN');
      expect(answer.body.error.details.roles.toSorted()).toEqual([...who].sort());
    }
  });

  it.each(closedRoutes)('with the permission is not refused by $route', async ({ method, path, who }) => {
    const passing = await Promise.all(
      [...who].map(async (role) => {
        const token = await service.tokenOf(role);
        const { status } = await ask('/api', method, `${path}?unknownParameter=1`, undefined, token);
        return status === 400 ? role : `${role}: ${status}`;
      }),
    );
    expect(passing).toEqual([...who]);
  });
});

describe('an API key', () => {
  it.each(closedRoutes)('of each role may call $route if it does not need a person', async (one) => {
    const { route, method, path } = one;
    const rolesThatPass = async (prefix: string, roles: string[]) => {
      const answers = await Promise.all(
        roles.map((role) => ask(prefix, method, `${path}?unknownParameter=1`, undefined, roleKeys[role])),
      );
      for (const answer of answers) if (answer.status !== 400) expectError(answer, 403, 'FORBIDDEN');
      return roles.filter((_role, at) => answers[at]?.status === 400);
    };
    const allowed = rolesOfKeys(route);
    expect(await rolesThatPass('/api', EVERYONE)).toEqual(allowed);
    const refused = EVERYONE.filter((role) => !allowed.includes(role));
    const some = [...allowed.slice(0, 1), ...refused.slice(-1)];
    expect(await rolesThatPass('/api/v1', some)).toEqual(allowed.slice(0, 1));
  });

  it.each(closedRoutes)(
    'with the permission that $route names may call it, and a key with all others may not',
    async (one) => {
      const { route, method, path } = one;
      const askWith = (key: string | undefined) =>
        ask('/api', method, `${path}?unknownParameter=1`, undefined, key);
      const needed = neededByKeys(one);
      expect(needed === undefined).toBe(NO_API_KEY.includes(route));
      if (needed === undefined) return expectError(await askWith(keyWithAll), 403, 'FORBIDDEN');
      const [only, allOthers] = await Promise.all([askWith(onlyKeys[needed]), askWith(exceptKeys[needed])]);
      expect(only.status, only.text).toBe(400);
      expectError(allOthers, 403, 'FORBIDDEN');
      expect(allOthers.body.error.details).toEqual({ permission: needed });
    },
  );

  it('is described as one of two ways to authenticate where keys are accepted, and nowhere else', () => {
    const described = closedRoutes.filter(({ method, path }) => {
      const operation = service.app.swagger().paths?.[`/api${path.replace(/:(\w+)/g, '{$1}')}`];
      const { security } = operation?.[method.toLowerCase() as 'get'] ?? {};
      expect(security?.[0]).toEqual({ bearer: [] });
      return security?.some((scheme) => 'apiKey' in scheme);
    });
    const accepting = closedRoutes.filter(({ route }) => !NO_API_KEY.includes(route));
    expect(described.map(({ route }) => route)).toEqual(accepting.map(({ route }) => route));
  });
});

describe('an answer with a payer’s number or name, or with what the provider sent', () => {
  it('is for admin, manager and finance on every route', () => {
    const paths = Object.entries<object | undefined>(service.app.swagger().paths ?? {});
    const operations = paths.flatMap(([path, methods]) =>
      Object.entries<{ responses?: object }>({ ...methods }).map(([method, { responses }]) => ({
        route: `${method.toUpperCase()} ${path.replace(/^\/api/, '').replace(/\{(\w+)\}/g, ':$1')}`,
        fields: new Set(JSON.stringify(responses).match(/(?<=")\w+(?=":)/g)),
      })),
    );
    const PAYER_FIELDS = ['payer', 'payerName', 'rawBody'];
    const showing = operations.filter(({ fields }) => PAYER_FIELDS.some((field) => fields.has(field)));
    expect(showing.length).toBeGreaterThanOrEqual(3);
    for (const { route } of showing) {
      for (const who of ['agent', 'collector', 'viewer', PUBLIC])
        expect(WHO_MAY[route], route).not.toContain(who);
    }
  });
});

describe('what a route does not know', () => {
  // In PROVIDER_ROUTES, additional keys of the provider are stored and not refused. Its gateway may also add query parameters.
  const passed = 'GET /auth/:provider/callback'; // identity providers add their own parameters

  it.each(bodyRoutes.filter(({ route }) => !PROVIDER_ROUTES.includes(route) && !UPLOAD.test(route)))(
    '$route refuses an unknown body field by name',
    async ({ method, path }) => {
      const answers = await Promise.all(
        PREFIXES.map((prefix) => ask(prefix, method, path, { unknownField: 1 }, service.adminToken)),
      );
      for (const answer of answers) expect(wrongFields(answer)).toContain('unknownField');
    },
  );

  it.each(routes.filter(({ route }) => ![...PROVIDER_ROUTES, passed].includes(route)))(
    '$route refuses an unknown query parameter by name',
    async ({ method, path }) => {
      const answers = await Promise.all(
        PREFIXES.map((prefix) =>
          ask(prefix, method, `${path}?unknownParameter=1`, undefined, service.adminToken),
        ),
      );
      for (const answer of answers) expect(wrongFields(answer)).toContain('unknownParameter');
    },
  );

  it.each(ROOT)('%s refuses an unknown query parameter by name', async (route) => {
    const answer = await createCaller(service.origin)('GET', `${route.slice(4)}?unknownParameter=1`);
    expect(wrongFields(answer)).toEqual(['unknownParameter']);
  });

  it.each(idRoutes)('$route refuses a malformed id', async ({ method, path }) => {
    const parameter = /:(\w+)/.exec(path)?.[1];
    const accepted = await Promise.all(
      MALFORMED_IDS.map(async (id) => {
        const answer = await ask('/api', method, path.replace(/:\w+/, id), undefined, service.adminToken);
        return wrongFields(answer).includes(String(parameter)) ? [] : [id];
      }),
    );
    expect(accepted.flat()).toEqual([]);
  });

  it.each(idRoutes.filter(({ method }) => method === 'GET'))(
    '$route answers 404 for an id that nothing has',
    async ({ path }) => {
      const answer = await ask(
        '/api',
        'GET',
        path.replace(/:\w+/, '9007199254740991'),
        undefined,
        service.adminToken,
      );
      expectError(answer, 404, 'NOT_FOUND');
      expect(answer.body.error.details).toMatchObject({ id: 9007199254740991 });
    },
  );
});

describe('the request id', () => {
  it.each(routes)('of the caller is echoed by $route', async ({ method, path }) => {
    const sent = { 'x-request-id': 'Trace-1.2_3' };
    const target = concrete(path);
    const body = method === 'GET' ? undefined : {};
    const answer = await createCaller(`${service.origin}/api`)(method, target, body, { headers: sent });
    expect(answer.headers.get('x-request-id')).toBe('Trace-1.2_3');
  });
});
