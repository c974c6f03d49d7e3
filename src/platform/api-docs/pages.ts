import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { HttpServer } from '../../core/http/server.ts';
import { type StaticContent, staticContent } from '../../core/http/static-content.ts';
import { PACKAGE_ROOT } from '../../core/package-root.ts';

export const DOCS_PATH = '/api-docs';

const TEMPLATES = join(PACKAGE_ROOT, 'templates');
const { resolve } = createRequire(import.meta.url);

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

/** The page loads nothing from other hosts and runs only its own two scripts. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Pages and files are public and use the rate limit of pages. */
export const PAGE_ROUTE = {
  config: { access: 'public', rate: 'pages' },
  // Unknown parameters are allowed, because a shared link may have tracking parameters.
  schema: { hide: true, querystring: { type: 'object', additionalProperties: true } },
} as const;

/**
 * The interactive documentation and its API description. Uses the files of @fastify/swagger-ui, but not its routes: at each
 * request, those routes would read the files from disk, send them uncompressed, and serialize the description again.
 */
export function docsRoutes(app: HttpServer): void {
  const files: Record<string, StaticContent> = {
    '/openapi.json': staticContent(JSON_TYPE, () => JSON.stringify(app.swagger())),
    '/swagger-ui.js': staticContent(SCRIPT, swaggerFile('swagger-ui-bundle.js')),
    '/swagger-ui.css': staticContent(STYLE, swaggerFile('swagger-ui.css')),
    '/page.js': staticContent(SCRIPT, template('api-docs.js')),
    '/page.css': staticContent(STYLE, template('api-docs.css')),
  };
  for (const [path, send] of Object.entries(files)) app.get(`${DOCS_PATH}${path}`, PAGE_ROUTE, send);

  const page = staticContent(HTML, template('api-docs.html'));
  for (const path of [DOCS_PATH, `${DOCS_PATH}/`]) {
    app.get(path, PAGE_ROUTE, (request, reply) =>
      page(request, reply.header('content-security-policy', PAGE_POLICY)),
    );
  }
}

export function templatePath(name: string): string {
  return join(TEMPLATES, name);
}

function template(name: string): () => Buffer {
  return () => readFileSync(templatePath(name));
}

function swaggerFile(name: string): () => Buffer {
  return () => readFileSync(resolve(`@fastify/swagger-ui/static/${name}`));
}
