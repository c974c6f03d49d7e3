import type { FastifyReply } from 'fastify';

/**
 * The quality of one option in a header such as Accept or Accept-Encoding (RFC 9110, section 12.5). The package `negotiator` only
 * picks an option from a list. With this function, the caller can compare two options, and decide which wildcards match them.
 * @param names - names of the option in the header, most specific first, wildcards last.
 * @returns a number from 0 (not acceptable, or not listed) to 1.
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

export function varyBy(reply: FastifyReply, header: string): FastifyReply {
  const present = reply.getHeader('vary');
  return reply.header('vary', present === undefined ? header : `${present}, ${header}`);
}

/** Whether an If-Match or If-None-Match header lists the tag, by weak comparison (RFC 9110, section 8.8.3.2). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const withoutWeakMark = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => withoutWeakMark(tag) === withoutWeakMark(etag));
}
