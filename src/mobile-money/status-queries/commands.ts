import { isDeepStrictEqual } from 'node:util';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Config, Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import type { StatusQueryState } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError, duplicate, invalidField, notFound } from '../../core/http/errors.ts';
import type { Log } from '../../core/log.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { newCallbackKey } from '../../core/values/secret.ts';
import { insertRejected } from '../../payments/notifications/store.ts';
import { methodCodeOf } from '../../payments/provider-name-rules.ts';
import { providerActor } from '../../payments/rules.ts';
import { type Attempt, addJob, jobOf } from '../../platform/jobs/queue.ts';
import { LONGEST_CALL_SECONDS, ProviderApiError, type StatusAnswer } from '../providers/provider.ts';
import { type ProviderApis, STATUS_PROVIDER } from '../providers/registry.ts';
import { nextTryAt } from '../providers/retry-rules.ts';
import { answerUrl, MAX_TRANSACTION_ID_LENGTH, shortened } from '../providers/rules.ts';
import {
  ANSWER_WITHIN_MS,
  isTooLateToSend,
  mayMove,
  type StatusQueryRow,
  type StoredAnswer,
} from './rules.ts';
import type { NewStatusQuery } from './schema.ts';
import {
  type AskableRow,
  claimUnsent,
  deleteEndedQueries,
  findAskableNotification,
  findAskablePayment,
  findOpenQueryId,
  findUnsentIds,
  insertQuery,
  lockQuery,
  lockQueryByKey,
  lockUnanswered,
  updateQuery,
} from './store.ts';

// Asks a provider about one transaction. The answer is stored and shown. It changes nothing in the books.

/** One status query at a time is sent, so that status queries cannot overload the provider. */
export const SEND_QUERY_TASK = 'send-status-query';

const BATCH_SIZE = 100;
/** Status queries are deleted after this time, because answers contain the names of payers. */
const KEPT_DAYS = 30;

export async function askAboutPayment(context: Context, actor: Actor, paymentId: number): Promise<number> {
  requireOn(context.config);
  return inTransaction(context.db, async (tx) => {
    const payment = await findAskablePayment(tx, paymentId, {
      provider: STATUS_PROVIDER.name,
      methodCode: methodCodeOf(STATUS_PROVIDER.name),
    });
    if (!payment) throw notFound('payment', paymentId);
    if (payment.provider === null || payment.transactionRef === null)
      throw notAskable(
        `Payment ${paymentId} has no transaction of a provider. Only mobile-money payments with a reference have a transaction.`,
      );
    return storeQuery(tx, actor, payment, payment.transactionRef, { paymentId, notificationId: null });
  });
}

export async function askAboutNotification(
  context: Context,
  actor: Actor,
  notificationId: number,
  { transactionRef: given }: NewStatusQuery,
): Promise<number> {
  requireOn(context.config);
  return inTransaction(context.db, async (tx) => {
    const notification = await findAskableNotification(tx, notificationId);
    if (!notification) throw notFound('notification', notificationId);
    const { transactionRef: known } = notification;
    if (known !== null && given !== undefined && referenceKey(given) !== known)
      throw invalidField(
        'transactionRef',
        `must be omitted, or be the transaction of the notification, ${known}`,
      );
    const transactionRef = known ?? (given === undefined ? null : referenceKey(given));
    if (transactionRef === null || transactionRef === '')
      throw invalidField(
        'transactionRef',
        'is required, because the notification has no readable transaction',
      );
    return storeQuery(tx, actor, notification, transactionRef, { paymentId: null, notificationId });
  });
}

/** @returns the id of the query. The query is sent after `tx` has committed. */
async function storeQuery(
  tx: Tx,
  actor: Actor,
  { provider }: AskableRow,
  transactionRef: string,
  { paymentId, notificationId }: { paymentId: number | null; notificationId: number | null },
): Promise<number> {
  if (provider !== STATUS_PROVIDER.name)
    throw notAskable(`The provider ${provider} cannot be asked about a transaction.`);
  const row = await insertQuery(tx, {
    provider,
    transaction_ref: transactionRef,
    payment_id: paymentId,
    notification_id: notificationId,
    callback_key: newCallbackKey(),
    created_by: actor.userId,
    api_key_id: actor.apiKey?.id ?? null,
    asked_by: actor.name,
  });
  if (!row)
    throw duplicate('status_query', 'transactionRef', await findOpenQueryId(tx, provider, transactionRef));
  await audit(tx, actor, {
    action: 'status_query.create',
    resource: 'status_query',
    resourceId: row.id,
    after: { paymentId, notificationId, transactionRef },
    event: event('status_query.created', factsOf(row)),
  });
  await addJob(tx, jobOf(SEND_QUERY_TASK, row.id));
  return row.id;
}

function requireOn(config: Config): void {
  if (STATUS_PROVIDER.statusAnswers.isOn(config)) return;
  // Not 503, because clients repeat a request that gets 503.
  throw notAskable(
    'Status queries are turned off. The operator turns them on with the setting MOBILEMONEY_INITIATOR.',
  );
}

function notAskable(message: string): AppError {
  return new AppError('VALIDATION_ERROR', message, { status: 409 });
}

/** Adds a job for each status query whose sending failed or was interrupted. @returns the number of jobs. */
export async function queueUnsentQueries({ db, clock }: Context): Promise<number> {
  const ids = await findUnsentIds(db, clock.now(), BATCH_SIZE);
  for (const id of ids) await addJob(db, jobOf(SEND_QUERY_TASK, id));
  return ids.length;
}

/**
 * Sends a status query. If the provider is busy or does not answer, the query is sent again later. This is safe, because a repeat
 * only causes a second answer.
 */
export async function sendStatusQuery(
  context: Context,
  log: Log,
  apis: ProviderApis,
  id: number,
  { signal }: Pick<Attempt, 'signal'>,
): Promise<void> {
  const { db, clock, config } = context;
  const now = clock.now();
  const row = await claimUnsent(db, id, now, new Date(now.getTime() + LONGEST_CALL_SECONDS * 1_000));
  if (!row) return;
  const source = apis.get(row.provider)?.status;
  if (!source)
    return recordUnsent(context, row, new ProviderApiError('refused', 'Status queries are turned off.'));
  try {
    const query = {
      transactionRef: row.transaction_ref,
      answerUrl: answerUrl(config, STATUS_PROVIDER.statusAnswers, 'status', row),
    };
    const conversationId = await source.ask(query, signal);
    await recordSent(context, id, conversationId);
  } catch (error) {
    if (!(error instanceof ProviderApiError) || signal.aborted) throw error;
    log.warn({ statusQueryId: id, failure: error.message }, 'a status query was not sent');
    await recordUnsent(context, row, error);
  }
}

/** Does not change the state, because the provider may have answered already. */
async function recordSent({ db, clock }: Context, id: number, conversationId: string | null): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockQuery(tx, id);
    if (!row) return;
    const changes = { sent_at: clock.now(), conversation_id: conversationId, next_send_at: null };
    await updateQuery(tx, id, changes);
  });
}

async function recordUnsent(
  { db, clock }: Context,
  { id }: Pick<StatusQueryRow, 'id'>,
  { problem, message, retryAfterSeconds }: ProviderApiError,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockQuery(tx, id);
    if (row?.state !== 'requested') return;
    const nextAt = nextTryAt(row.send_attempts, retryAfterSeconds, clock.now());
    const isFinal = problem === 'refused' || problem === 'unauthorized' || isTooLateToSend(row, nextAt);
    if (isFinal) await end(tx, row, 'failed', clock.now(), { message });
    else await updateQuery(tx, id, { next_send_at: nextAt, message: shortened(message) });
  });
}

/** Stores the provider's answer. An answer that fits no query is stored as a rejected notification. */
export async function receiveStatusAnswer(
  { db, clock }: Context,
  callbackKey: string,
  body: string,
  { transaction, doesNotExist, transactionRef, message }: StatusAnswer,
): Promise<void> {
  const { name: provider } = STATUS_PROVIDER;
  const readable = {
    transId:
      transactionRef === null ? null : referenceKey(transactionRef).slice(0, MAX_TRANSACTION_ID_LENGTH),
    transTime: transaction?.completedAt ?? null,
    payer: transaction?.payer ?? null,
    payerName: transaction?.payerName ?? null,
    businessShortCode: transaction?.receiver ?? null,
  };
  const reject = (tx: Tx, failure: string) =>
    insertRejected(tx, provider, body, failure, 'webhook', readable);
  await inTransaction(db, async (tx) => {
    const row = await lockQueryByKey(tx, provider, callbackKey);
    if (!row) return reject(tx, 'the answer belongs to no status query');
    const state = transaction ? 'answered' : doesNotExist ? 'not_found' : 'failed';
    const answer = transaction && {
      ...transaction,
      completedAt: transaction.completedAt?.toISOString() ?? null,
    };
    if (transactionRef !== null && referenceKey(transactionRef) !== row.transaction_ref) {
      const problem = `the transaction is ${transactionRef}, not ${row.transaction_ref}`;
      return reject(tx, `status query ${row.id}: ${problem}`);
    }
    if (mayMove(row.state, state)) {
      await end(tx, row, state, clock.now(), { message, answer, body });
      return;
    }
    const isRepeated = row.answer_body === body || (answer !== null && isDeepStrictEqual(answer, row.answer));
    if (!isRepeated) await reject(tx, `status query ${row.id} already has a different answer`);
  });
}

/** Ends the status queries that the provider has not answered in time. @returns the number of ended status queries. */
export async function endUnanswered({ db, clock }: Context): Promise<number> {
  return inTransaction(db, async (tx) => {
    const now = clock.now();
    const rows = await lockUnanswered(tx, new Date(now.getTime() - ANSWER_WITHIN_MS), BATCH_SIZE);
    const message = 'The provider accepted the status query, but has not answered it.';
    for (const row of rows) await end(tx, row, 'unanswered', now, { message });
    return rows.length;
  });
}

/** @returns the number of deleted status queries. */
export function deleteOldQueries({ db, clock }: Context, signal: AbortSignal): Promise<number> {
  return deleteEndedQueries(db, new Date(clock.now().getTime() - KEPT_DAYS * 86_400_000), signal);
}

interface Ending {
  message: string | null;
  answer?: StoredAnswer | null;
  /** The answer as the provider sent it. */
  body?: string;
}

async function end(
  tx: Tx,
  row: StatusQueryRow,
  state: Exclude<StatusQueryState, 'requested'>,
  endedAt: Date,
  { message, answer = null, body }: Ending,
): Promise<void> {
  if (!mayMove(row.state, state))
    throw new Error(`Status query ${row.id} cannot go from ${row.state} to ${state}.`);
  await updateQuery(tx, row.id, {
    ...{ state, ended_at: endedAt, next_send_at: null, message: shortened(message) },
    answer: answer === null ? null : JSON.stringify(answer),
    ...(body !== undefined && { answer_body: body }),
  });
  await audit(tx, providerActor(row.provider), {
    action: AUDITED_AS[state],
    resource: 'status_query',
    resourceId: row.id,
    before: { state: row.state },
    after: { state },
    event: event(`status_query.${state}`, factsOf(row)),
  });
}

const AUDITED_AS = {
  answered: 'status_query.answer',
  not_found: 'status_query.find_nothing',
  failed: 'status_query.fail',
  unanswered: 'status_query.give_up',
} as const;

function factsOf({ payment_id: paymentId, notification_id: notificationId, provider }: StatusQueryRow) {
  return { paymentId, notificationId, provider };
}
