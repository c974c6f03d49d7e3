import { event, eventRow } from '../../changes/events/change-rules.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM, today } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import {
  findDueCheck,
  type Judgement,
  lockPromisesToJudge,
  type PromisePosition,
  saveCheck,
  saveJudgement,
} from './store.ts';

const BATCH = 200;

/**
 * Judges promises on the day after their date, and publishes their states. Once an hour, it also publishes the new states of promises
 * whose accounts have changed since. Answers do not wait for this job, because they derive the state.
 */
export async function judgePromises(context: Context, signal: AbortSignal): Promise<number> {
  const judged = await judgeAll(context, signal, 'first');
  const checkedAt = await findDueCheck(context.db);
  if (checkedAt === undefined) return judged;
  const changed = await judgeAll(context, signal, 'again');
  // Saved after the work, so that a check that fails runs again in the next minute. If two instances check at the same time, they share
  // the promises, because each skips what the other has locked.
  if (!signal.aborted) await inTransaction(context.db, (tx) => saveCheck(tx, checkedAt));
  return judged + changed;
}

async function judgeAll(context: Context, signal: AbortSignal, kind: 'first' | 'again'): Promise<number> {
  const day = today(context);
  let published = 0;
  let after: PromisePosition | undefined;
  while (!signal.aborted) {
    const batch = await inTransaction(context.db, async (tx) => {
      const judgements = await lockPromisesToJudge(tx, day, { after, limit: BATCH, kind });
      for (const judgement of judgements) await saveJudgement(tx, judgement);
      const changes = judgements.filter(({ state, judged_state }) => state !== judged_state).map(changeOf);
      if (changes.length > 0) await writeChanges(tx, changes);
      return { last: judgements.at(-1), published: changes.length };
    });
    if (batch.last === undefined) break;
    after = batch.last;
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
