import { event, eventRow } from '../../changes/events/change-rules.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM, today } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { beginHourlyCheck, type Judgement, lockPromisesToJudge, saveJudgement } from './store.ts';

const BATCH = 200;

/**
 * Judges promises on the day after their date, and publishes their states. Once an hour, it also publishes the new states of promises
 * whose accounts have changed since. Answers do not wait for this job, because they derive the state.
 */
export async function judgePromises(context: Context, signal: AbortSignal): Promise<number> {
  const judged = await judgeAll(context, signal, 'first');
  const isDue = await inTransaction(context.db, beginHourlyCheck);
  return judged + (isDue ? await judgeAll(context, signal, 'again') : 0);
}

async function judgeAll(context: Context, signal: AbortSignal, kind: 'first' | 'again'): Promise<number> {
  const day = today(context);
  let published = 0;
  let afterId = 0;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const judgements = await lockPromisesToJudge(tx, day, { afterId, limit: BATCH, kind });
      for (const judgement of judgements) await saveJudgement(tx, judgement);
      const changes = judgements.filter(({ state, judged_state }) => state !== judged_state).map(changeOf);
      if (changes.length > 0) await writeChanges(tx, changes);
      return { lastId: judgements.at(-1)?.id, published: changes.length };
    });
    if (batch.lastId === undefined) break;
    afterId = batch.lastId;
    published += batch.published;
  }
  return published;
}

function changeOf(judgement: Judgement) {
  const data = {
    accountId: judgement.account_id,
    amountMinor: judgement.amount_minor,
    promiseDate: judgement.due_on,
    status: judgement.state,
  };
  return eventRow(
    SYSTEM,
    { resource: 'promise', resourceId: judgement.id },
    judgement.judged_state === null
      ? event('promise.judged', data)
      : event('promise.judgement_changed', { ...data, previousStatus: judgement.judged_state }),
  );
}
