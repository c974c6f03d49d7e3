import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { quality } from '../../core/http/negotiation.ts';
import { pathOf } from '../../core/http/path.ts';
import type { HttpServer } from '../../core/http/server.ts';
import {
  type CompressedEncoding,
  type StaticContent,
  staticContent,
} from '../../core/http/static-content.ts';
import { PAGE_ROUTE } from '../api-docs/pages.ts';

/** The console loads nothing from other hosts, and runs no inline script or style. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The name of an asset contains a hash of its content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const EXTENSIONS: Record<CompressedEncoding, string> = { br: '.br', gzip: '.gz' };

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
};

/** First segments of paths that are never pages of the console. */
const OTHER_PATHS = ['api', 'api-docs', 'assets', 'health', 'livez', 'readyz', 'metrics'];

/**
 * Serves the staff console: its page at `/` and its files below `/assets/`. Files are read at their first request, and then sent
 * from memory.
 * @param folder - contains the build, in which each file `x` has compressed copies `x.br` and `x.gz`.
 * @returns the handler that sends the page.
 */
export function consoleRoutes(app: HttpServer, folder: string): StaticContent {
  const sendFile = builtFile(join(folder, 'index.html'), 'text/html; charset=utf-8');
  const sendPage: StaticContent = (request, reply) =>
    sendFile(request, reply.header('content-security-policy', POLICY));
  app.get('/', PAGE_ROUTE, sendPage);

  const assets = readAssets(join(folder, 'assets'));
  const schema = { ...PAGE_ROUTE.schema, params: Type.Object({ file: Type.String() }) };
  app.get('/assets/:file', { ...PAGE_ROUTE, schema }, async (request, reply) => {
    const send = assets.get(request.params.file);
    return send ? send(request, reply) : reply.callNotFound();
  });
  return sendPage;
}

/** Whether a browser opens an address that may be a page of the console. Only the console knows which pages exist. */
export function isConsoleNavigation({ method, headers, url }: FastifyRequest): boolean {
  const [, segment = ''] = pathOf(url).split('/', 2);
  const opensPage = quality(headers.accept ?? '', 'text/html') > 0;
  return (method === 'GET' || method === 'HEAD') && opensPage && !OTHER_PATHS.includes(segment);
}

function readAssets(folder: string): Map<string, StaticContent> {
  const names = readdirSync(folder).filter((name) => !Object.values(EXTENSIONS).includes(extname(name)));
  return new Map(
    names.map((name) => {
      const contentType = CONTENT_TYPES[extname(name)];
      if (!contentType)
        throw new Error(`${join(folder, name)} has an unknown type. Add it to CONTENT_TYPES.`);
      return [name, builtFile(join(folder, name), contentType, IMMUTABLE)];
    }),
  );
}

function builtFile(path: string, contentType: string, cacheControl?: string): StaticContent {
  return staticContent(contentType, () => readFileSync(path), {
    readCompressed: (encoding) => readFile(`${path}${EXTENSIONS[encoding]}`),
    ...(cacheControl !== undefined && { cacheControl }),
  });
}
