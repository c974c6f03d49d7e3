import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The path of a URL. Removes the part from `?` or `#` on, because this part can contain secrets. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/**
 * Makes paths that are safe to log: they have only ids, and words that occur in routes. Any other part can contain a secret such
 * as `;token=…`. Such a part becomes the name of the route's parameter. If the path has no route, it becomes an ellipsis.
 */
export function createPathLogger(app: FastifyInstance): (request: FastifyRequest) => string {
  const words = new Set(['']);
  app.addHook('onRoute', ({ url }) => {
    for (const word of url.split('/')) words.add(word);
  });

  return ({ originalUrl, routeOptions, params }) => {
    const { url: pattern } = routeOptions;
    if (pattern === undefined) {
      const parts = pathOf(originalUrl).split('/', MAX_PARTS);
      return parts.map((part) => (words.has(part) ? part : '…')).join('/');
    }
    if (!pattern.includes(':')) return pattern;
    const given = (params ?? {}) as Record<string, unknown>;
    return pattern.replace(/:(\w+)/g, (name, key) => (isId(given[key]) ? String(given[key]) : name));
  };
}

/** More segments than any route has. */
const MAX_PARTS = 10;

function isId(value: unknown): boolean {
  return /^\d{1,16}$/.test(String(value));
}
