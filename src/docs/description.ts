import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { OpenAPIV3_1 } from 'openapi-types';
import { RIGHTS } from '../core/access.ts';
import type { HttpServer } from '../core/http.ts';

export const DOCS_PATH = '/api-docs';

/** Only what the page itself brings: it works with no network but this service. */
const PAGE_POLICY =
  "default-src 'self'; base-uri 'self'; img-src 'self' data:; object-src 'none'; frame-ancestors 'self'; " +
  "script-src 'self'; style-src 'self' 'unsafe-inline'";

/** The API description, made from the routes' own schemas, and the page that shows it. */
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
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'From POST /api/auth/login.',
          },
        },
      },
    },
    refResolver: { buildLocalReference: (json) => String(json.$id) },
    transformObject: (document) =>
      'openapiObject' in document
        ? spellFilters(document.openapiObject as OpenAPIV3_1.Document)
        : document.swaggerObject,
  });
  app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    staticCSP: PAGE_POLICY,
    uiConfig: { persistAuthorization: true, docExpansion: 'none', tryItOutEnabled: true },
  });
  app.get(
    `${DOCS_PATH}/openapi.json`,
    { config: { access: 'public', rate: 'none' }, schema: { hide: true } },
    async () => app.swagger(),
  );
}

/** `filter[status]` holds an object of operators: OpenAPI calls that style deepObject. */
function spellFilters(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  for (const path of Object.values(document.paths ?? {})) {
    for (const parameter of path?.get?.parameters ?? []) {
      if ('name' in parameter && parameter.name.startsWith('filter[')) {
        parameter.style = 'deepObject';
        parameter.explode = true;
      }
    }
  }
  return document;
}

function overview(): string {
  const rights = Object.entries(RIGHTS).map(
    ([permission, roles]) => `| ${permission} | ${roles.join(', ')} |`,
  );
  return [
    'Customers, accounts and payments of a company that sells on instalments.',
    'Register or sign in, then send the access token as `Authorization: Bearer …`. `/api/…` and `/api/v1/…` are the same.',
    '',
    '| permission | roles |',
    '|---|---|',
    ...rights,
  ].join('\n');
}
