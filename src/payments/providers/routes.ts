import type { Context } from '../../core/context.ts';
import type { Api } from '../../core/http/api.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import { validatePayment } from '../matching/validation-view.ts';
import { insertRejected } from '../notifications/store.ts';
import { type PostingQueue, receiveNotification } from '../posting/commands.ts';
import { acceptBytes, answer, bytesOf, optionsOf, storable } from './inbound.ts';
import type { PaymentProvider } from './provider.ts';
import { PROVIDERS } from './registry.ts';
import { isOurs, readAmountOf, readingSettings, readNotification } from './rules.ts';

/** The routes that payment providers call: notifications and, for some providers, validation before the money moves. */
export function providerRoutes(api: Api, context: Context, queue: PostingQueue): void {
  api.register(async (inbound) => {
    acceptBytes(inbound);
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
  const settings = readingSettings(context);
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
    optionsOf(context, provider, validation.description, config.limits.validationMs),
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

function unreadable({ format }: PaymentProvider): FieldProblem[] {
  return [{ path: 'body', message: `must be ${format}` }];
}
