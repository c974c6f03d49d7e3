import type { FastifyReply } from 'fastify';
import { varyBy } from './negotiation.ts';
import type { HttpServer } from './server.ts';
import { compressAnswer, encodingFor, isSharedContent, MIN_COMPRESSED_BYTES } from './static-content.ts';

interface CompressionOptions {
  /**
   * Whether answers of the route may contain tokens. Such answers are not compressed: the compressed length could reveal a token.
   */
  mayContainTokens(route: string): boolean;
}

/** Compresses larger JSON answers for clients that accept compression. Does not change streams, documents or static content. */
export function compressJson(app: HttpServer, { mayContainTokens }: CompressionOptions): void {
  app.addHook<unknown>('onSend', (request, reply, payload, done) => {
    if (!isLargeJson(reply, payload) || mayContainTokens(request.routeOptions.url ?? ''))
      return done(null, payload);
    varyBy(reply, 'accept-encoding');
    const encoding = encodingFor(request.headers['accept-encoding'], payload.length);
    if (encoding === 'identity') return done(null, payload);
    compressAnswer(encoding, payload).then((compressed) => {
      if (reply.raw.headersSent) return; // The time limit for the answer has passed, and 503 was sent.
      reply.header('content-encoding', encoding);
      done(null, compressed);
    }, done);
  });
}

function isLargeJson(reply: FastifyReply, payload: unknown): payload is string | Buffer {
  if (typeof payload !== 'string' && !(Buffer.isBuffer(payload) && !isSharedContent(payload))) return false;
  return (
    payload.length >= MIN_COMPRESSED_BYTES &&
    String(reply.getHeader('content-type')).startsWith('application/json')
  );
}
