import swagger from '@fastify/swagger';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { HttpServer } from '../../core/http/server.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../core/lists/query.ts';
import { RIGHTS } from '../../rights.ts';
import { finishDocument } from './document.ts';
import { describeOperation } from './operation.ts';

/** Generates the API description from the schemas of the routes. pages.ts serves it. */
export function describeApi(app: HttpServer, version: string): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Account Management Service',
        version,
        description: overview(),
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: { securitySchemes: SECURITY_SCHEMES, headers: HEADERS },
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
    transform: ({ url, route }) => ({ url, schema: describeOperation(route) }),
    transformObject: (document) =>
      'openapiObject' in document
        ? finishDocument(document.openapiObject as OpenAPIV3_1.Document)
        : document.swaggerObject,
  });
}

/** In the order in which a new user meets them. */
const TAGS = {
  Authentication:
    'Sign in with e-mail and password or through an identity provider; tokens and the own password.',
  Customers: 'Who buys, and whether their identity is verified (KYC).',
  Accounts: 'A customer, a product and a pay plan, with what is paid, due and late.',
  Payments: 'Money that was received: recorded, matched to accounts, assigned and reversed, never edited.',
  Reconciliation: 'Payments proved to have arrived, in batches.',
  Invoices: 'Numbered without gap, frozen when issued, as JSON and as PDF.',
  Products: 'What is sold, and its configurations.',
  'Pay plans': 'The terms that an account copies when it is opened.',
  'Payment methods': 'The ways in which money comes.',
  Employees: 'Who earns commission.',
  Commissions: 'Calculated by employee and month from versioned rules, then approved and paid.',
  Reports: 'The portfolio and the payments of a period.',
  Webhook: 'What the mobile-money provider calls.',
  Users: 'Who signs in, and as what. For admins.',
  Audit: 'Every change: who, what, from, to. For admins.',
  Test: 'Only with the setting TEST_CLOCK.',
  Health: 'For load balancers and people; outside /api and the envelope.',
};

const SECURITY_SCHEMES: Record<string, OpenAPIV3_1.SecuritySchemeObject> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The accessToken that POST /api/auth/login or /api/auth/register answers.',
  },
  webhookSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Webhook-Secret',
    description: 'The setting WEBHOOK_SECRET; for the payment provider alone.',
  },
  webhookToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'The same secret, where the provider can be given nothing but an address.',
  },
};

const HEADERS: Record<string, OpenAPIV3_1.HeaderObject> = {
  RequestId: {
    description: 'Names the request in the log and in the audit list.',
    schema: { type: 'string' },
  },
  IdempotentReplayed: {
    description: '"true" on an answer that was stored at the first request with the Idempotency-Key.',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds to wait before trying again.', schema: { type: 'integer' } },
};

function overview(): string {
  const rights = Object.entries(RIGHTS).map(
    ([permission, roles]) => `| ${permission} | ${roles.join(', ')} |`,
  );
  return `
Customers, accounts and payments of a company that sells on instalments.

Register or sign in, then send the access token as \`Authorization: Bearer …\`. The first user of a new
service becomes its admin. \`/api/…\` and \`/api/v1/…\` are the same.

**Answers.** \`{success: true, data, message}\`, lists with \`pagination\` beside \`data\`. Errors are
\`{success: false, error: {code, message, details}}\` with one code of a closed list. Amounts are JSON numbers
in units of the currency, dates are days of the business as YYYY-MM-DD, timestamps are UTC.

**Requests.** Unknown body fields and query parameters are refused by name. Nothing is coerced: \`"5"\` is no
number. A PUT changes the fields sent.

**Lists.** \`page\` from 1, \`limit\` 1 to ${MAX_LIMIT} (default ${DEFAULT_LIMIT}), \`sort=field:asc,other:desc\`, and filters
\`filter[field][op]=value\`; \`filter[field]=value\` is short for \`filter[field][eq]=value\`. \`in\` and \`nin\` take
values separated by commas, \`isnull\` takes true or false. A date given for a timestamp means that whole day.

**Limits.** Requests are counted in windows of one minute; \`RateLimit\` and \`RateLimit-Policy\` show the remaining calls.

<details><summary><b>Roles.</b> Which role may do what</summary>

| permission | roles |
|---|---|
${rights.join('\n')}

</details>
`.trim();
}
