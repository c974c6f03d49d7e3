import type { FastifyRequest, RouteShorthandOptions } from 'fastify';
import { Type } from 'typebox';
import type { Config } from '../config.ts';
import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { ok } from '../core/envelope.ts';
import { AppError, invalid } from '../core/errors.ts';
import { Nullable } from '../core/fields.ts';
import { sameSecret } from '../core/secret.ts';
import { receiveNotification } from '../payments/inbox.ts';
import { insertRejected } from '../payments/inbox-store.ts';
import { validatePayment } from '../payments/validation.ts';
import { type Inquiry, NO_OBJECT, PROVIDER, readInquiry, readNotification } from './notification.ts';

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
      {
        TransactionType: 'Pay Bill',
        TransID: 'RECEIPT-0001',
        TransTime: '20261102102500',
        TransAmount: '450.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'ACC10000012',
        MSISDN: '254712345678',
      },
    ],
  },
);

/** What the provider's gateway reads of an answer: 0 accepts at both addresses; its codes of refusals are texts. */
const ACCEPTED = { ResultCode: 0, ResultDesc: 'Accepted' } as const;
const REFUSED = {
  wrong_account: { ResultCode: 'C2B00012', ResultDesc: 'Invalid Account Number' },
  wrong_amount: { ResultCode: 'C2B00013', ResultDesc: 'Invalid Amount' },
  wrong_short_code: { ResultCode: 'C2B00015', ResultDesc: 'Invalid Shortcode' },
} as const;
const RESULTS = { accepted: ACCEPTED, ...REFUSED };

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
    ResultCode: Type.Literal(ACCEPTED.ResultCode),
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
        ...ACCEPTED,
      },
    ],
  },
);

/** The provider waits for some seconds; a service that answers later than this might as well be down. */
const VALIDATION_DEADLINE_MS = 1_500;

const Validation = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object({
      accepted: Type.Boolean(),
      accountNumber: Nullable(Type.String({ description: 'The account that would be paid.' })),
    }),
    message: Type.String(),
    ResultCode: Type.Union([
      Type.Literal(ACCEPTED.ResultCode),
      Type.Enum(Object.values(REFUSED).map(({ ResultCode }) => ResultCode)),
    ]),
    ResultDesc: Type.String(),
  },
  {
    title: 'PaymentValidation',
    description: 'Payment validated.',
    examples: [
      {
        success: true,
        data: { accepted: true, accountNumber: 'ACC10000012' },
        message: 'Payment validated.',
        ...ACCEPTED,
      },
      {
        success: true,
        data: { accepted: false, accountNumber: null },
        message: 'Payment validated.',
        ...REFUSED.wrong_account,
      },
    ],
  },
);

export function webhookRoutes(api: Api, context: Context): void {
  const { config, currency } = context;
  api.register(async (inbound) => {
    const fromProvider = {
      bodyLimit: BODY_LIMIT_BYTES,
      config: { access: 'public', rate: 'webhook', errors: ['UNAUTHORIZED', 'FORBIDDEN'] },
      schema: {
        tags: ['Webhook'],
        // Outside production both settings may be empty; then nothing is asked.
        security: [{ webhookSecret: [] }, { webhookToken: [] }, {}] as Record<string, string[]>[],
        body: NotificationBody,
        querystring: Type.Object({ token: Type.Optional(Type.String({ maxLength: 500 })) }),
      },
      // The reader accepts more than the description promises, and names what it cannot do without. So does the query
      // beside the token: a gateway may add what it likes to the address that it was given.
      validatorCompiler: () => () => true,
      onRequest: async (request: FastifyRequest) => {
        authenticateProvider(request, config);
        // Whatever type the gateway names, or misspells: the bytes are read as they are.
        request.headers['content-type'] = 'application/json';
      },
    } satisfies RouteShorthandOptions;
    // The handler wants the bytes: what cannot be read is kept too.
    inbound.removeAllContentTypeParsers();
    inbound.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    );

    inbound.post(
      '/webhooks/payments/mobilemoney/validation',
      {
        ...fromProvider,
        config: { ...fromProvider.config, answerTimeoutMs: VALIDATION_DEADLINE_MS },
        schema: {
          ...fromProvider.schema,
          summary: 'The mobile-money provider asks whether a payment may be made, before the money moves',
          description:
            'Accepts what would find its account by itself, and every account number that exists; not on completed and cancelled ' +
            'accounts. 0 accepts, as in the answer to a notification; C2B00012 is a wrong account, C2B00013 a wrong amount, C2B00015 another short code. Nothing is stored. ' +
            'On a fault the answer is 503 within 2 seconds, and the provider does what is registered there.',
          response: { 200: Validation },
        },
      },
      async (request) => {
        const inquiry = readInquiry(parsedOrUndefined(request.body), {
          currency,
          paybillNumbers: config.paybillNumbers,
        });
        if (!inquiry) throw invalid([NO_OBJECT]);
        const { verdict, accountNumber } = await judge(context, inquiry);
        const data = { accepted: verdict === 'accepted', accountNumber };
        return { ...ok(data, 'Payment validated.'), ...RESULTS[verdict] };
      },
    );

    inbound.post(
      '/webhooks/payments/mobilemoney',
      {
        ...fromProvider,
        schema: {
          ...fromProvider.schema,
          summary: 'The mobile-money provider says that a customer has paid',
          description:
            'Further keys are kept. Authenticated by X-Webhook-Secret or ?token=, or by the address. One payment per TransID: repeats are acknowledged and change nothing.',
          response: { 200: Acknowledgement },
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
        return { ...ok(receipt, 'Notification accepted.'), ...ACCEPTED };
      },
    );
  });
}

async function judge(
  context: Context,
  { isOurs, amountMinor, billRef, payer }: Inquiry,
): Promise<{ verdict: keyof typeof RESULTS; accountNumber: string | null }> {
  if (!isOurs) return { verdict: 'wrong_short_code', accountNumber: null };
  if (amountMinor === undefined) return { verdict: 'wrong_amount', accountNumber: null };
  return validatePayment(context, { amountMinor, reference: billRef, payer });
}

function authenticateProvider(request: FastifyRequest, config: Config): void {
  if (config.WEBHOOK_SECRET !== '') {
    const query = request.query as { token?: unknown };
    const given = request.headers['x-webhook-secret'] ?? query.token;
    if (typeof given !== 'string' || !sameSecret(given, config.WEBHOOK_SECRET)) {
      throw new AppError('UNAUTHORIZED', 'Send the webhook secret as X-Webhook-Secret or as ?token=.');
    }
  }
  if (config.webhookNetworks?.has(request.ip) === false) {
    throw new AppError('FORBIDDEN', 'This address may not post notifications.');
  }
}

/** The body as text that PostgreSQL can store: NUL is written as JSON would escape it. */
function storable(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString('utf8').replaceAll('\0', '\\u0000') : '';
}

const utf8 = new TextDecoder();

/** What is no UTF-8 is replaced, as in the text that is kept: one letter of a name may not hold up money. */
function parsedOrUndefined(body: unknown): unknown {
  try {
    return Buffer.isBuffer(body) ? JSON.parse(utf8.decode(body)) : undefined;
  } catch {
    return undefined; // Not JSON: the caller is told, and the text is kept.
  }
}
