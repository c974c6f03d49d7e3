import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The path of a request, where the router ends it: what comes after it may hold secrets, and says nothing more of the address. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/**
 * What the log may say of a request's path: the words of the routes, and ids. Anything else in it may be a secret that the
 * caller has put there, such as `;token=…`, and is replaced by an ellipsis.
 */
export function createPathLogger(app: FastifyInstance): (request: FastifyRequest) => string {
  const words = new Set(['']);
  app.addHook('onRoute', ({ url }) => {
    for (const word of url.split('/')) words.add(word);
  });

  return ({ originalUrl, routeOptions, params }) => {
    const { url: pattern } = routeOptions;
    if (pattern === undefined) {
      const parts = pathOf(originalUrl).split('/', MOST_PARTS);
      return parts.map((part) => (words.has(part) ? part : '…')).join('/');
    }
    if (!pattern.includes(':')) return pattern;
    const given = (params ?? {}) as Record<string, unknown>;
    return pattern.replace(/:(\w+)/g, (name, key) => (isId(given[key]) ? String(given[key]) : name));
  };
}

/** More parts than any route has. */
const MOST_PARTS = 10;

function isId(value: unknown): boolean {
  return /^\d{1,16}$/.test(String(value));
}
