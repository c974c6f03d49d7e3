import type { FastifyReply } from 'fastify';

/**
 * How much a caller wants one thing, by a header such as Accept or Accept-Encoding (RFC 9110, section 12.5).
 * @param names of the thing as the header may spell it, the most specific first, wildcards last.
 * @returns from 0, not acceptable, to 1; 0 too where the header names none of them.
 */
export function quality(header: string, ...names: string[]): number {
  const wanted = new Map(
    header.split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, q === undefined ? 1 : Number(q.slice(2)) || 0];
    }),
  );
  for (const name of names) {
    const q = wanted.get(name);
    if (q !== undefined) return Math.min(Math.max(q, 0), 1);
  }
  return 0;
}

/** Tells caches that the answer depends on a header of the request, besides those that it depends on already. */
export function varyBy(reply: FastifyReply, header: string): FastifyReply {
  const present = reply.getHeader('vary');
  return reply.header('vary', present === undefined ? header : `${present}, ${header}`);
}

/** Whether an If-None-Match header names the tag (RFC 9110, 13.1.2: weak tags compare like strong ones). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const strong = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => strong(tag) === strong(etag));
}
