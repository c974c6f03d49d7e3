import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import { judgePayment } from '../matching/inquiry-view.ts';
import type { PaymentProvider, ProviderAnswer, RouteDescription } from '../providers/provider.ts';
import { PROVIDERS } from '../providers/registry.ts';
import type { ReceiptQueue } from '../receipts/commands.ts';
import { receiveNotification } from './commands.ts';
import { isOurs, readAmountOf, readReport } from './rules.ts';
import { insertRejected } from './store.ts';

/** Thirty times what a provider sends; the body is kept word for word, and a page of them is shown. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** The addresses that payment providers call: one for notifications, and one that some of them ask before. */
export function webhookRoutes(api: Api, context: Context, queue: ReceiptQueue): void {
  api.register(async (inbound) => {
    // The handler wants the bytes, whatever type the gateway names: what cannot be read is kept too.
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
  queue: ReceiptQueue,
): void {
  const { config, currency } = context;
  const rules = { currency, timeZone: config.BUSINESS_TIMEZONE, paybillNumbers: config.paybillNumbers };
  inbound.post(
    `/webhooks/payments/${provider.name}`,
    optionsOf(context, provider, provider.description),
    async (request, reply) => {
      const body = bytesOf(request);
      const rawBody = storable(body);
      const sent = provider.read(body);
      const reading = sent
        ? readReport(provider, sent, rawBody, context.clock.now(), rules)
        : { problems: unreadable(provider) };
      if (!sent || 'problems' in reading) {
        const problems = 'problems' in reading ? reading.problems : [];
        const failure = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
        await insertRejected(context.db, provider.name, rawBody, failure);
        return answer(reply, provider.refuse(sent, { reason: 'unreadable', problems }));
      }
      const receipt = await receiveNotification(context, request.log, queue, reading.report);
      return answer(
        reply,
        'reason' in receipt ? provider.refuse(sent, receipt) : provider.accept(sent, receipt),
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
      const { verdict, accountNumber } = await judgePayment(context, {
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
      // Outside production both settings may be empty; then nothing is asked.
      security: [{ webhookSecret: [] }, { webhookToken: [] }, {}] as Record<string, string[]>[],
      body: contentOf(body),
      querystring: Type.Object({ token: Type.Optional(Type.String({ maxLength: 500 })) }),
      response: { 200: contentOf(answer) },
    },
    // The provider's file accepts more than the description promises, and names what it cannot do without. So does the
    // query beside the token: a gateway may add what it likes to the address that it was given.
    validatorCompiler: () => () => true,
    onRequest: async (request: FastifyRequest) => {
      provider.authenticate(request, config);
      request.headers['content-type'] = JSON_TYPE; // Whatever the gateway names: the bytes are read as they are.
    },
  } satisfies RouteShorthandOptions;
}

const JSON_TYPE = 'application/json';

/** What is JSON is described by its schema alone. */
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

/** The body as text that PostgreSQL can store: NUL is written as JSON would escape it. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\\u0000');
}

function unreadable({ format }: PaymentProvider): FieldProblem[] {
  return [{ path: 'body', message: `must be ${format}` }];
}
