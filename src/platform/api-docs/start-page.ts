import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ok } from '../../core/http/envelope.ts';
import { quality, varyBy } from '../../core/http/negotiation.ts';
import type { HttpServer } from '../../core/http/server.ts';
import type { HealthCheck, HealthStatus } from '../health/status.ts';
import { DOCS_PATH, PAGE_ROUTE, templatePath } from './pages.ts';

interface StartPageOptions {
  check: HealthCheck;
  version: string;
  /** Whether anyone may register. */
  registration: boolean;
}

/** The root: a page for people, and a short answer in the envelope for programs that request JSON. */
export function startPageRoute(app: HttpServer, { check, version, registration }: StartPageOptions): void {
  const template = readFileSync(templatePath('start-page.html'), 'utf8');
  const style = /<style>(.*?)<\/style>/s.exec(template)?.[1] ?? '';
  const digest = createHash('sha256').update(style).digest('base64');
  const policy =
    `default-src 'none'; style-src 'sha256-${digest}'; img-src data:; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  app.get('/', PAGE_ROUTE, async (request, reply) => {
    const health = await check();
    varyBy(reply, 'accept');
    if (wantsJson(request.headers.accept)) {
      const addresses = {
        api: '/api',
        documentation: DOCS_PATH,
        description: DESCRIPTION,
        health: '/health',
      };
      return ok({ name: NAME, version, status: health.status, ...addresses }, `${NAME}.`);
    }
    const values = {
      version,
      status: health.status,
      health: describeHealth(health),
      firstStep: registration ? REGISTER : SIGN_IN,
    };
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .send(fill(template, values));
  });
}

const NAME = 'Account Management Service';
const DESCRIPTION = `${DOCS_PATH}/openapi.json`;

const REGISTER = `<a href="${DOCS_PATH}#/Authentication/registerUser">Register</a>. Outside production, the first user becomes the admin.`;
const SIGN_IN = `<a href="${DOCS_PATH}#/Authentication/signIn">Sign in</a>. The first admin is created on the server by <code>npm run create-admin</code>.`;

/** Browsers request text/html. A client without a preference also gets the page. */
function wantsJson(accept = ''): boolean {
  return quality(accept, 'application/json') > quality(accept, 'text/html', 'text/*');
}

const PROBLEMS: Record<HealthStatus['database'], string | undefined> = {
  up: undefined,
  down: 'Down: the database does not answer',
  'other version': 'Down: this version cannot work with the migrations of the database',
};

function describeHealth({
  status,
  database,
  writes,
  redis,
  replica,
  silentProviders = [],
}: HealthStatus): string {
  if (status === 'ok') return 'Healthy';
  const down = PROBLEMS[database];
  if (down !== undefined) return down;
  const isWithoutReplica = replica !== 'up' && replica !== 'disabled';
  const reasons = [
    writes === 'refused' && 'PostgreSQL refuses writes, because its disk is full or it is read-only',
    !['up', 'disabled'].includes(redis) &&
      `Redis ${redis === 'down' ? 'does not answer' : redis}, so each instance counts the requests of its rate limits separately`,
    isWithoutReplica && `the replica is ${replica}, so reports read the primary`,
    ...silentProviders.map((provider) => `${provider} is silent for longer than usual`),
  ];
  return `Degraded: ${reasons.filter(Boolean).join('; ')}`;
}

/** Replaces {{name}} in the template by values, which are HTML. */
function fill(template: string, values: Record<string, string>): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The start page has no value for {{${name}}}.`);
    return value;
  });
}
