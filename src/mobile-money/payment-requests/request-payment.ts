import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, duplicate, invalid, notFound } from '../../core/http/errors.ts';
import { requirePhone } from '../../core/values/phone.ts';
import { newCallbackKey } from '../../core/values/secret.ts';
import { REQUEST_PROVIDER } from '../providers/registry.ts';
import { checkAmountOwed, DAY_SECONDS, exceededLimit, type PaymentRequestRow } from './rules.ts';
import type { NewPaymentRequest } from './schema.ts';
import {
  findAccount,
  findEarlier,
  findOpenRequest,
  insertRequest,
  lockPhone,
  releasePhone,
} from './store.ts';

/** The provider's prompt has certainly ended after this time, even if its outcome is unknown. */
const PROMPT_ENDED_MS = 3_600_000;

/** Stores a request for a payment to an account. The worker sends it to the phone after the transaction has committed. */
export async function requestPayment(
  context: Context,
  actor: Actor,
  accountId: number,
  body: NewPaymentRequest,
): Promise<PaymentRequestRow> {
  const { config, currency } = context;
  const { requester, name: provider } = REQUEST_PROVIDER;
  if (!requester.isOn(config)) throw turnedOff();
  const phone = requirePhone(body.phone, config.PHONE_REGION);
  const amountMinor = readAmount(body.amount, currency);
  const problems = requester.problemsOf({ phone, amountMinor }, currency);
  if (problems.length > 0) throw invalid(problems);
  return inTransaction(context.db, async (tx) => {
    const now = context.clock.now();
    await lockPhone(tx, phone);
    const account = await findAccount(tx, accountId);
    if (!account) throw notFound('account', accountId, 'accountId');
    checkAmountOwed(account, amountMinor, currency);
    await releasePhone(tx, phone, new Date(now.getTime() - PROMPT_ENDED_MS));
    const open = await findOpenRequest(tx, phone);
    if (open) throw duplicate('payment_request', 'phone', open.id);
    const earlier = await findEarlier(tx, phone, new Date(now.getTime() - DAY_SECONDS * 1_000));
    const exceeded = exceededLimit(earlier, amountMinor, limitsOf(context), now);
    if (exceeded) throw tooMany(exceeded);
    const request = await insertRequest(tx, {
      account_id: accountId,
      provider,
      phone,
      amount_minor: Number(amountMinor),
      callback_key: newCallbackKey(),
      created_by: actor.userId,
      api_key_id: actor.apiKey?.id ?? null,
      requested_by: actor.name,
    });
    await audit(tx, actor, {
      action: 'payment_request.create',
      resource: 'payment_request',
      resourceId: request.id,
      after: { accountId, amountMinor, phone },
      event: event('payment_request.created', { accountId, amountMinor }),
    });
    return request;
  });
}

function limitsOf({ config }: Context) {
  return {
    intervalSeconds: config.PAYMENT_REQUEST_INTERVAL,
    sameAmountSeconds: config.PAYMENT_REQUEST_SAME_AMOUNT_INTERVAL,
    perDay: config.PAYMENT_REQUESTS_PER_DAY,
  };
}

/** The status is not 503, because clients repeat a request that gets 503. */
function turnedOff(): AppError {
  return new AppError(
    'VALIDATION_ERROR',
    'Payment requests are turned off. The operator turns them on with the setting MOBILEMONEY_PASSKEY.',
    { status: 409 },
  );
}

function tooMany({ message, limit, resetSeconds }: { message: string; limit: number; resetSeconds: number }) {
  return new AppError('RATE_LIMITED', `${message} Retry in ${resetSeconds} s.`, {
    details: { limit, remaining: 0, resetSeconds },
    retryAfterSeconds: resetSeconds,
  });
}
