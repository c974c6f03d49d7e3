import swagger from '@fastify/swagger';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { HttpServer } from '../../core/http/server.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../core/lists/query.ts';
import { API_KEY_PATTERN } from '../../core/values/secret.ts';
import { API_KEY_PERMISSIONS, RIGHTS } from '../../rights.ts';
import { finishDocument } from './document.ts';
import { describeOperation } from './operation.ts';

/**
 * Generates the API description from the schemas of the routes. pages.ts serves it.
 * @param serverUrl the address of the service for callers.
 */
export function describeApi(app: HttpServer, version: string, serverUrl: string): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Account Management Service',
        version,
        description: overview(),
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: serverUrl }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      webhooks: { event: { post: EVENT_DELIVERY } },
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

const EVENT_DELIVERY = {
  operationId: 'receiveEvent',
  summary: 'Receive an event',
  description:
    'The service sends each event to webhook endpoints, signed as [Standard Webhooks](https://www.standardwebhooks.com) specifies. Verify the signature of the raw body. The test of an endpoint sends an event of the type `test`.',
  tags: ['Webhook endpoints'],
  security: [],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Event' } } },
  },
  responses: {
    '2XX': { description: 'The event was stored. Any other answer is a failure; 410 ends deliveries.' },
  },
};

/** In the order in which a new user needs them. */
const TAGS = {
  Authentication:
    'Sign in with e-mail and password or through an identity provider, renew tokens, change your password.',
  Settings: 'The company, its currency and its calendar, for pages that show them.',
  Customers: 'People who buy, and whether their identity is verified (KYC).',
  Accounts: 'A customer, a product and a pay plan, with the paid, due and late amounts.',
  Payments: 'Received money: recorded, matched to accounts, assigned and reversed, but never edited.',
  'Payment requests': 'Payment requests that are sent to phones of customers, and their outcomes.',
  Cash: 'The cash in the hands of staff: counts, hand-overs, deposits at the bank, and settlements of differences.',
  Reconciliation:
    'Batches of payments whose money has arrived, and statements of the provider that prove it.',
  Approvals: 'Actions above APPROVAL_LIMIT, which a second user approves or rejects.',
  Invoices: 'Invoices, numbered without gaps and never changed after issue, as JSON and PDF.',
  Products: 'Products for sale and their configurations.',
  'Pay plans': 'The terms that an account copies when it is opened.',
  'Payment methods': 'The ways in which customers pay.',
  Employees: 'People who earn commission.',
  Commissions:
    'Commissions of an employee for a month, calculated by versioned rules, then approved and paid.',
  Search: 'One search over customers, accounts, payments and invoices.',
  Collections: 'Whom to call, what came of the calls, and whether promises were kept.',
  'Files of lists': 'All rows of a list as a CSV file, with the filters and the order of the list.',
  Reports: 'The portfolio and the payments of a period.',
  Portfolio: 'All customers, accounts and payments as CSV files, to move to or from another system.',
  Webhook: 'Routes that the payment providers call.',
  Users: 'People who can sign in, and their roles. For admins.',
  'API keys': 'Keys of other systems that call the API. For admins.',
  Audit: 'Every change: who changed what, the old and the new values. For admins.',
  Events: 'Every change as an event, for other systems. See docs/events.md.',
  'Webhook endpoints': 'URLs of other programs to which the service sends events by POST. For admins.',
  Test: 'Only with the setting TEST_CLOCK.',
  Health:
    'For load balancers and people. The paths do not begin with /api, and the answers have no envelope.',
};

const SECURITY_SCHEMES: Record<string, OpenAPIV3_1.SecuritySchemeObject> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The accessToken from POST /api/auth/login or /api/auth/register.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: API_KEY_PATTERN,
    description: 'The `key` from POST /api/api-keys or /api/api-keys/{id}/rotate.',
  },
  webhookSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Webhook-Secret',
    description: 'The setting WEBHOOK_SECRET, only for the payment provider.',
  },
  webhookToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description:
      'The setting WEBHOOK_SECRET as a part of the address, for providers that cannot send a header.',
  },
};

const HEADERS: Record<string, OpenAPIV3_1.HeaderObject> = {
  RequestId: {
    description: 'The id of the request in the log and in the audit list.',
    schema: { type: 'string' },
  },
  IdempotentReplayed: {
    description: '"true" if the answer was stored by an earlier request with the same Idempotency-Key.',
    schema: { type: 'string' },
  },
  SnapshotAge: {
    description:
      'The age of the data in seconds. The report contains everything that was acknowledged before the data was read.',
    schema: { type: 'number' },
    example: 1.2,
  },
  UnprintableCharacters: {
    description:
      'Sent if no font has some characters of the document, such as Chinese characters and emoji. The PDF shows � for each of them. ' +
      'A dictionary of RFC 9651: `count` (how many � the PDF shows), `characters` (their code points, at most 20) and `fields` ' +
      '(where they are, such as `customer.name`).',
    schema: { type: 'string' },
    example: 'count=2, characters=(U+6F22 U+5B57), fields=(customer.name)',
  },
  Challenge: {
    description:
      'How to authenticate (RFC 6750). It has `error="invalid_token"` if a token was sent and refused.',
    schema: { type: 'string' },
    example: 'Bearer realm="api", error="invalid_token"',
  },
  RetryAfter: { description: 'Seconds to wait before trying again.', schema: { type: 'integer' } },
};

function overview(): string {
  const rights = Object.entries(RIGHTS).map(
    ([permission, roles]) =>
      `| ${permission} | ${roles.join(', ')} | ${API_KEY_PERMISSIONS.some((one) => one === permission) ? 'yes' : 'no'} |`,
  );
  return `
Customers, accounts and payments of a company that sells on instalments.

Register or sign in, then send the access token as \`Authorization: Bearer …\`. Outside production, the first
user becomes the admin. \`/api/…\` and \`/api/v1/…\` are the same.

**Answers.** \`{success: true, data, message}\`. Lists also have \`pagination\`. Errors are
\`{success: false, error: {code, message, details}}\`. There is a fixed list of codes, and each code has its own fields in \`details\`. Amounts are JSON numbers in
units of the currency, dates are business days as YYYY-MM-DD, timestamps are UTC.

**Requests.** Unknown body fields and query parameters are refused, and the error names them. Values in a body are not
converted: \`"5"\` is not a number. A PUT changes only the fields that are sent.

**Lists.** \`page\` (1 is the first), \`limit\` (1 to ${MAX_LIMIT}, default ${DEFAULT_LIMIT}), \`sort=field:asc,other:desc\`, and filters
\`filter[field][op]=value\`; \`filter[field]=value\` is short for \`filter[field][eq]=value\`. \`in\` and \`nin\` take
values separated by commas, \`isnull\` takes true or false. If a filter compares a timestamp with a date, the date means the whole day.
\`filter[metadata][region]=north\` finds rows with that metadata.

**Reading a whole list.** Send \`after\` instead of \`page\`: empty for the first page, then with the value of
\`pagination.nextCursor\` and the same sort, until \`nextCursor\` is null. If an index has the sort order, as for \`id\` and
\`createdAt\`, every page takes the same time. \`id\` and \`createdAt\` never change, so a row that exists from the first page to the last
is returned exactly once, even if others insert or delete rows. In other orders a row that changes meanwhile may be missed or returned twice.
With \`sort=updatedAt:asc\` a changed row is returned again later. To copy changes, read \`GET /events\` instead: timestamps
are set before a commit, so a changed row may be sorted before your cursor, and you miss the change.

**Bulk.** \`POST /customers/bulk\`, \`/accounts/bulk\` and \`/payments/bulk\` take \`{items: […]}\` with up to 1,000 items, and
answer 200 with the outcome of each item. Each call counts as one request in the rate limit for bulk operations.

**Limits.** Requests are counted per minute. The headers \`RateLimit-Policy\` and \`RateLimit\` show the limit and the remaining calls.
A user may make 100 calls a minute. With a session cookie, as in the console, the user may read 300 times a minute instead, and writes keep their limit.

**API keys.** Another system sends an API key in place of an access token: \`Authorization: Bearer ams_key_…\`. An admin
creates it (\`POST /api/api-keys\`) with a role or a list of permissions, and optionally an expiry and the networks from which it may
be used. \`invoices:read\` and \`reports:read\` also reveal the names of customers, because invoices and the payment report contain
them. The statement of an account needs \`accounts:read\`, \`customers:read\` and \`payments:read\`. Each key has its own rate limit and its
own Idempotency-Keys; audit entries name the key. Keys match \`${API_KEY_PATTERN}\`; the last six
characters are the CRC-32 of the others in base 62, so that secret scanners can recognize a key without a call.

<details><summary><b>Roles.</b> Which role may do what</summary>

| permission | roles | API keys |
|---|---|---|
${rights.join('\n')}

</details>
`.trim();
}
