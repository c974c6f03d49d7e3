import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import { invalidField } from '../../core/http/errors.ts';
import { insertRejected } from '../../payments/notifications/store.ts';
import type { AnswerReceiver, PaymentProvider, ProviderAnswer, RouteDescription } from './provider.ts';

// The common parts of the routes that payment providers call.

/** Many times the size of a usual body. The limit exists because the whole body is stored. */
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

interface AnswerHandling<Answer> {
  /** The part of the path that names the kind of the answer: `status` or `requests`. */
  call: string;
  receiver: AnswerReceiver<Answer>;
  /** The failure that is stored with an unreadable answer, and the message to the provider. */
  unreadable: { failure: string; message: string };
  handle(request: FastifyRequest, key: string, body: string, answer: Answer): Promise<void>;
}

/** Adds the route for the addresses that `answerUrl` returns. */
export function answerRoute<Answer>(
  api: Api,
  context: Context,
  provider: PaymentProvider,
  { call, receiver, unreadable, handle }: AnswerHandling<Answer>,
): void {
  const options = optionsOf(context, provider, receiver.description);
  const params = Type.Object({
    key: Type.String({ maxLength: 100, examples: ['0123456789abcdef0123456789abcdef'] }),
  });
  api.register(async (inbound: Api) => {
    acceptBytes(inbound);
    inbound.post(
      `/webhooks/payments/${provider.name}/${call}/:key`,
      { ...options, schema: { ...options.schema, params } },
      async (request, reply) => {
        const bytes = bytesOf(request);
        const body = storable(bytes);
        const read = receiver.read(bytes);
        if (!read) {
          await insertRejected(context.db, provider.name, body, unreadable.failure);
          throw invalidField('body', unreadable.message);
        }
        await handle(request, request.params.key, body, read);
        return answer(reply, receiver.acknowledgement);
      },
    );
  });
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
    // Do not validate by the schema: `read` accepts more than the schema, and the gateway may add query parameters.
    validatorCompiler: () => () => true,
    onRequest: async (request: FastifyRequest) => {
      try {
        provider.authenticate(request, config);
      } catch (error) {
        request.server.refusedCalls.record(request, provider.name, error as Error);
        throw error;
      }
      request.headers['content-type'] = JSON_TYPE; // Gateways send various content types.
    },
  } satisfies RouteShorthandOptions;
}

const JSON_TYPE = 'application/json';

/** A body for the API description. A schema without a content type means JSON. */
function contentOf({ contentType, schema }: RouteDescription['body']) {
  const { description = '' } = schema as { description?: string };
  return contentType === JSON_TYPE ? schema : { description, content: { [contentType]: { schema } } };
}

export function bytesOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

export function answer(reply: FastifyReply, { contentType, body }: ProviderAnswer) {
  return reply.type(contentType).send(body);
}

/** The body as text. NUL is escaped as in JSON, because PostgreSQL cannot store it. */
export function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\\u0000');
}
