import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';
import type { Config, Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import type { PaymentProvider, ProviderAnswer, RouteDescription } from './provider.ts';

// The common parts of the routes that payment providers call.

/** Thirty times the usual size. The whole body is stored. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** The handlers need the bytes for every content type, because unreadable bodies are stored too. */
export function acceptBytes(inbound: Api): void {
  inbound.removeAllContentTypeParsers();
  inbound.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, bytes: Buffer) => bytes,
  );
}

/**
 * The address to which a provider posts its answer to a call of the service.
 * @param base - the address of this service, without a slash at its end.
 */
export function answerAddress({ WEBHOOK_SECRET: secret }: Config, base: string, path: string): string {
  const token = secret === '' ? '' : `?token=${encodeURIComponent(secret)}`;
  return `${base}/api/webhooks/payments/${path}${token}`;
}

export function optionsOf(
  { config }: Context,
  provider: PaymentProvider,
  { operationId, summary, description, body, answer }: RouteDescription,
  answerTimeoutMs?: number,
) {
  return {
    bodyLimit: BODY_LIMIT_BYTES,
    config: {
      access: 'public',
      rate: 'webhook',
      errors: ['UNAUTHORIZED', 'FORBIDDEN'],
      ...(answerTimeoutMs !== undefined && { answerTimeoutMs }),
    },
    schema: {
      tags: ['Webhook'],
      operationId,
      summary,
      description,
      // Outside production, the secret and the networks may both be empty. Calls are then not authenticated.
      security: [{ webhookSecret: [] }, { webhookToken: [] }, {}] as Record<string, string[]>[],
      body: contentOf(body),
      querystring: Type.Object({ token: Type.Optional(Type.String({ maxLength: 500 })) }),
      response: { 200: contentOf(answer) },
    },
    // The provider's file validates the body, and accepts more than the schema describes. The gateway may add query parameters.
    validatorCompiler: () => () => true,
    onRequest: async (request: FastifyRequest) => {
      provider.authenticate(request, config);
      request.headers['content-type'] = JSON_TYPE; // Gateways send various content types.
    },
  } satisfies RouteShorthandOptions;
}

const JSON_TYPE = 'application/json';

/** JSON needs no content type in the description. */
function contentOf({ contentType, schema }: RouteDescription['body']) {
  const { description = '' } = schema as { description?: string };
  return contentType === JSON_TYPE ? schema : { description, content: { [contentType]: { schema } } };
}

export function bytesOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

export function answer(reply: FastifyReply, { status = 200, contentType, body }: ProviderAnswer) {
  return reply.status(status).type(contentType).send(body);
}

/** The body as text. NUL is escaped as in JSON, because PostgreSQL cannot store it. */
export function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\\u0000');
}
