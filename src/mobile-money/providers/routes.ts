import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { validatePayment } from '../../payments/matching/validate-payment.ts';
import { receiveNotification } from '../../payments/notifications/receive-notification.ts';
import { insertRejected, insertRejectedOnce } from '../../payments/notifications/store.ts';
import type { PostingContext } from '../../payments/posting/post-payments.ts';
import { acceptBytes, answer, bytesOf, optionsOf, storable } from './inbound.ts';
import type { PaymentProvider, SentPayment } from './provider.ts';
import { PROVIDERS } from './registry.ts';
import { isOurs, readAmountOf, readingSettings, readNotification } from './rules.ts';

/** The routes that payment providers call: notifications and, for some providers, validation before the money moves. */
export function providerRoutes(api: Api, context: PostingContext): void {
  api.register(async (inbound) => {
    acceptBytes(inbound);
    for (const provider of PROVIDERS) {
      if (provider.validation) validationRoute(inbound, context, provider, provider.validation);
      notificationRoute(inbound, context, provider);
    }
  });
}

function notificationRoute(inbound: Api, context: PostingContext, provider: PaymentProvider): void {
  const settings = readingSettings(context, provider);
  inbound.post(
    `/webhooks/payments/${provider.name}`,
    optionsOf(context, provider, provider.description),
    async (request, reply) => {
      const body = bytesOf(request);
      const rawBody = storable(body);
      const sent = provider.read(body);
      const reading = sent
        ? readNotification(provider, sent, rawBody, context.clock.now(), settings)
        : { problems: unreadable(provider), readable: {} };
      if (!sent || 'problems' in reading) {
        const { problems, readable } = 'problems' in reading ? reading : { problems: [], readable: {} };
        const failure = problems.map(({ path, message }) => `${path} ${message}`).join('; ');
        await insertRejected(context.db, provider.name, rawBody, failure, 'webhook', readable);
        return answer(reply, provider.refuse(sent, { reason: 'unreadable', problems }));
      }
      const result = await receiveNotification(context, request.log, reading.notification);
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
    optionsOf(context, provider, validation.description, config.limits.validationMs),
    async (request, reply) => {
      const body = bytesOf(request);
      const sent = provider.read(body);
      if (sent && provider.readBalance?.(body))
        await storeConfirmation(context, request.log, provider, sent, body);
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

/**
 * Stores a call with a balance, which the provider sends only after the money has moved: its two addresses are probably swapped.
 * The call posts nothing, because this address is asked before the money moves. A pull or a statement posts the payment.
 */
async function storeConfirmation(
  context: Context,
  log: Log,
  provider: PaymentProvider,
  sent: SentPayment,
  body: Buffer,
): Promise<void> {
  const rawBody = storable(body);
  const settings = readingSettings(context, provider);
  const reading = readNotification(provider, sent, rawBody, context.clock.now(), settings);
  const fields = 'notification' in reading ? reading.notification : reading.readable;
  await insertRejectedOnce(context.db, provider.name, rawBody, CONFIRMATION_AT_VALIDATION, 'webhook', fields);
  log.warn({ provider: provider.name, transId: fields.transId }, CONFIRMATION_AT_VALIDATION);
}

const CONFIRMATION_AT_VALIDATION =
  'The provider sent the confirmation of this payment to the validation address, so it was not posted. Register the two addresses again. A pull or a statement posts the payment, or ask the provider about it.';

function unreadable({ format }: PaymentProvider): FieldProblem[] {
  return [{ path: 'body', message: `must be ${format}` }];
}
