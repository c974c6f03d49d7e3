import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import { validatePayment } from '../matching/inquiry-view.ts';
import { insertRejected } from '../notifications/store.ts';
import { type PostingQueue, receiveNotification } from '../posting/commands.ts';
import type { PaymentProvider, ProviderAnswer, RouteDescription } from './provider.ts';
import { PROVIDERS } from './registry.ts';
import { isOurs, readAmountOf, readNotification } from './rules.ts';

/** Thirty times the usual size. The whole body is stored. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** The routes that payment providers call: notifications and, for some providers, validation before the money moves. */
export function providerRoutes(api: Api, context: Context, queue: PostingQueue): void {
  api.register(async (inbound) => {
    // The handler needs the bytes for every content type, because unreadable bodies are stored too.
    inbound.removeAllContentTypeParsers();
    inbound.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    );
    for (const provider of PROVIDERS) {
      if (provider.validation) validationRoute(inbound, context, provider, provider.validation);
      notificationRoute(inbound, context, provider, queue);
    }
  });
}

function notificationRoute(
  inbound: Api,
  context: Context,
  provider: PaymentProvider,
  queue: PostingQueue,
): void {
  const { config, currency } = context;
  const settings = { currency, timeZone: config.BUSINESS_TIMEZONE, paybillNumbers: config.paybillNumbers };
  inbound.post(
    `/webhooks/payments/${provider.name}`,
    optionsOf(context, provider, provider.description),
    async (request, reply) => {
      const body = bytesOf(request);
      const rawBody = storable(body);
      const sent = provider.read(body);
      const reading = sent
        ? readNotification(provider, sent, rawBody, context.clock.now(), settings)
        : { problems: unreadable(provider) };
      if (!sent || 'problems' in reading) {
        const problems = 'problems' in reading ? reading.problems : [];
        const failure = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
        await insertRejected(context.db, provider.name, rawBody, failure);
        return answer(reply, provider.refuse(sent, { reason: 'unreadable', problems }));
      }
      const result = await receiveNotification(context, request.log, queue, reading.notification);
      return answer(
        reply,
        'reason' in result ? provider.refuse(sent, result) : provider.accept(sent, result),
      );
    },
  );
}

function validationRoute(
  inbound: Api,
  context: Context,
  provider: PaymentProvider,
  validation: NonNullable<PaymentProvider['validation']>,
): void {
  const { config, currency } = context;
  inbound.post(
    `/webhooks/payments/${provider.name}/validation`,
    optionsOf(context, provider, validation.description, validation.deadlineMs),
    async (request, reply) => {
      const sent = provider.read(bytesOf(request));
      if (!sent) {
        return answer(reply, provider.refuse(sent, { reason: 'unreadable', problems: unreadable(provider) }));
      }
      const { verdict, accountNumber } = await validatePayment(context, {
        isOurs: isOurs(sent, config),
        amountMinor: readAmountOf(sent, currency),
        reference: sent.reference,
        payer: sent.payer,
      });
      return answer(reply, validation.answer(verdict, accountNumber));
    },
  );
}

function optionsOf(
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
      request.headers['content-type'] = JSON_TYPE; // Gateways name various types.
    },
  } satisfies RouteShorthandOptions;
}

const JSON_TYPE = 'application/json';

/** JSON needs no content type in the description. */
function contentOf({ contentType, schema }: RouteDescription['body']) {
  const { description = '' } = schema as { description?: string };
  return contentType === JSON_TYPE ? schema : { description, content: { [contentType]: { schema } } };
}

function bytesOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function answer(reply: FastifyReply, { status = 200, contentType, body }: ProviderAnswer) {
  return reply.status(status).type(contentType).send(body);
}

/** The body as text. NUL is escaped as in JSON, because PostgreSQL cannot store it. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\\u0000');
}

function unreadable({ format }: PaymentProvider): FieldProblem[] {
  return [{ path: 'body', message: `must be ${format}` }];
}
