import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Config } from '../config.ts';
import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { ok } from '../core/envelope.ts';
import { AppError, invalid } from '../core/errors.ts';
import { Nullable } from '../core/fields.ts';
import { parseJson } from '../core/http.ts';
import { sameSecret } from '../core/secret.ts';
import { receiveNotification } from '../payments/inbox.ts';
import { insertRejected } from '../payments/inbox-store.ts';
import { PROVIDER, readNotification } from './notification.ts';

/** Thirty times what the provider sends; the body is kept word for word, and a page of them is shown. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** What the provider promises to send. */
const NotificationBody = Type.Object(
  {
    TransactionType: Type.Optional(Type.String()),
    TransID: Type.String({ description: 'The provider’s id of the transaction.' }),
    TransTime: Type.Optional(Type.String({ description: 'yyyyMMddHHmmss, UTC+3' })),
    TransAmount: Type.String({ description: 'A decimal above 0.' }),
    BusinessShortCode: Type.Optional(Type.String()),
    BillRefNumber: Type.Optional(Type.String({ description: 'The account that the payer typed.' })),
    MSISDN: Type.Optional(Type.String({ description: 'The payer’s number: plain, masked or hashed.' })),
  },
  {
    additionalProperties: true,
    title: 'ProviderNotification',
    examples: [
      {
        TransactionType: 'Pay Bill',
        TransID: 'SKB2XQ19ZT',
        TransTime: '20261102101530',
        TransAmount: '2400.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'ACC10000012',
        MSISDN: '254712345678',
      },
      {
        TransactionType: 'Pay Bill',
        TransID: 'SKB7MD40PL',
        TransTime: '20261102102244',
        TransAmount: '800.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'SOLAR',
        MSISDN: '254701000000',
      },
    ],
  },
);

/** The envelope plus what the provider's gateway reads. */
const Acknowledgement = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object({
      outcome: Type.String({
        description:
          'matched, unmatched, linked (to a payment entered by hand), conflict, differs (from an earlier notification of the transaction), repeated, pending',
      }),
      paymentId: Nullable(Type.Integer()),
    }),
    message: Type.String(),
    ResultCode: Type.Integer(),
    ResultDesc: Type.String(),
  },
  {
    title: 'Acknowledgement',
    description: 'Notification accepted.',
    examples: [
      {
        success: true,
        data: { outcome: 'matched', paymentId: 2 },
        message: 'Notification accepted.',
        ResultCode: 0,
        ResultDesc: 'Accepted',
      },
    ],
  },
);

export function webhookRoutes(api: Api, context: Context): void {
  const { config, currency } = context;
  api.register(async (inbound) => {
    const checkPart = inbound.validatorCompiler;
    // The handler wants the bytes: what cannot be read is kept too.
    inbound.removeAllContentTypeParsers();
    inbound.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    );

    inbound.post(
      '/webhooks/payments/mobilemoney',
      {
        config: { access: 'public', rate: 'webhook', errors: ['UNAUTHORIZED', 'FORBIDDEN'] },
        schema: {
          tags: ['Webhook'],
          // Outside production both settings may be empty; then nothing is asked.
          security: [{ webhookSecret: [] }, { webhookToken: [] }, {}],
          summary: 'The mobile-money provider says that a customer has paid',
          description:
            'Further keys are kept. Authenticated by X-Webhook-Secret or ?token=, or by the address. One payment per TransID: repeats are acknowledged and change nothing.',
          body: NotificationBody,
          querystring: Type.Object({ token: Type.Optional(Type.String({ maxLength: 500 })) }),
          response: { 200: Acknowledgement },
        },
        bodyLimit: BODY_LIMIT_BYTES,
        // The reader accepts more than the description promises, and names what it cannot do without.
        validatorCompiler: (part) => (part.httpPart === 'body' || !checkPart ? () => true : checkPart(part)),
        onRequest: async (request) => {
          authenticateProvider(request, config);
          // Whatever type the gateway names, or misspells: the bytes are read as they are.
          request.headers['content-type'] = 'application/json';
        },
      },
      async (request) => {
        const bytes: unknown = request.body;
        const rawBody = storable(bytes);
        const reading = readNotification(parsedOrUndefined(bytes), rawBody, context.clock.now(), {
          currency,
          timeZone: config.BUSINESS_TIMEZONE,
          paybillNumbers: config.paybillNumbers,
        });
        if ('problems' in reading) {
          const failure = reading.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
          await insertRejected(context.db, PROVIDER, rawBody, failure);
          throw invalid(reading.problems);
        }
        const receipt = await receiveNotification(context, request.log, reading.notification);
        return { ...ok(receipt, 'Notification accepted.'), ResultCode: 0, ResultDesc: 'Accepted' };
      },
    );
  });
}

function authenticateProvider(request: FastifyRequest, config: Config): void {
  if (config.WEBHOOK_SECRET !== '') {
    const query = request.query as { token?: unknown };
    const given = request.headers['x-webhook-secret'] ?? query.token;
    if (typeof given !== 'string' || !sameSecret(given, config.WEBHOOK_SECRET)) {
      throw new AppError('UNAUTHORIZED', 'Send the webhook secret as X-Webhook-Secret or as ?token=.');
    }
  }
  if (
    config.webhookNetworks &&
    !config.webhookNetworks.check(request.ip, isIPv6(request.ip) ? 'ipv6' : 'ipv4')
  ) {
    throw new AppError('FORBIDDEN', 'This address may not post notifications.');
  }
}

/** The body as text that PostgreSQL can store: NUL is written as JSON would escape it. */
function storable(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString('utf8').replaceAll('\0', '\\u0000') : '';
}

function parsedOrUndefined(body: unknown): unknown {
  try {
    return Buffer.isBuffer(body) ? parseJson(body) : undefined;
  } catch {
    return undefined; // Not JSON: its missing fields are named to the caller, and the text is kept.
  }
}
