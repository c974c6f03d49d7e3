import type { Readable } from 'node:stream';
import { audit } from '../core/audit.ts';
import { type Actor, type Context, today } from '../core/context.ts';
import type { CopyPool } from '../core/database/copy.ts';
import { violatedUnique } from '../core/database/postgres-errors.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { AppError, invalidField, notFound } from '../core/http/errors.ts';
import { compareDates, type PlainDate } from '../core/values/dates.ts';
import { readProviderStatement } from './reader.ts';
import {
  COPY_LINES,
  completeProviderStatement,
  findIdOfFile,
  insertProviderStatement,
  setRepeatedReceipts,
} from './receiving-store.ts';
import { allowedStages, type Stage } from './rules.ts';
import { type Reconciling, setStage } from './stage-store.ts';
import { lockProviderStatement, type ProviderStatementRow } from './store.ts';

/**
 * Stores a statement with all its lines in one transaction, while the file comes in.
 * @throws AppError DUPLICATE_ENTRY for a file that was stored before.
 */
export async function receiveProviderStatement(
  context: Context,
  copies: CopyPool,
  { actor, caller }: { actor: Actor; caller: string },
  { file, charset }: { file: Readable; charset?: string | undefined },
): Promise<ProviderStatementRow> {
  const timeZone = context.config.BUSINESS_TIMEZONE;
  const rules = { currency: context.currency, timeZone, today: today(context) };
  let sha256: Buffer | undefined;
  try {
    return await copies.load(caller, async (tx, copyIn) => {
      const id = await insertProviderStatement(tx, actor.userId);
      const statement = await readProviderStatement(file, copyIn(COPY_LINES), id, rules, charset);
      sha256 = statement.sha256;
      await setRepeatedReceipts(tx, id);
      const stored = await completeProviderStatement(tx, id, statement, timeZone);
      await audit(tx, actor, {
        action: 'provider_statement.receive',
        resource: 'provider_statement',
        resourceId: id,
        after: { sha256: sha256.toString('hex'), lines: statement.lineCount },
      });
      return stored;
    });
  } catch (error) {
    const isKnown = violatedUnique(error) === 'provider_statements_content_unique';
    const first = isKnown && sha256 ? await findIdOfFile(context.db, sha256) : undefined;
    throw first === undefined ? error : sameFile(first);
  }
}

/**
 * Has a statement matched (again), its missing payments imported into the books, or its matched ones reconciled.
 * Asking for what is under way already changes nothing.
 * @throws AppError VALIDATION_ERROR while something else is under way.
 */
export async function startStage(
  context: Context,
  actor: Actor,
  id: number,
  stage: Stage,
  reconciliationDate?: PlainDate,
): Promise<void> {
  await inTransaction(context.db, async (tx) => {
    const statement = await lockProviderStatement(tx, id);
    if (!statement) throw notFound('provider_statement', id);
    if (statement.status === stage) return;
    if (stage === 'matching' && statement.status === 'received') return;
    const allowed = allowedStages(statement.status);
    if (!allowed.includes(stage)) throw illegalStage(statement.status, stage, allowed);
    if (stage === 'reconciling') checkReconciliationDate(statement, reconciliationDate ?? today(context));
    const reconciling: Reconciling | undefined =
      stage === 'reconciling' ? { by: actor.userId, date: reconciliationDate ?? today(context) } : undefined;
    await setStage(tx, id, stage, reconciling);
    await audit(tx, actor, {
      action: `provider_statement.${stage}`,
      resource: 'provider_statement',
      resourceId: id,
      before: { status: statement.status },
      after: { status: stage, ...(reconciling && { reconciliationDate: reconciling.date }) },
    });
  });
}

/** A batch of an earlier date would prove what had not arrived by then. */
function checkReconciliationDate({ period_end: lastDay }: ProviderStatementRow, date: PlainDate): void {
  if (lastDay !== null && compareDates(date, lastDay) < 0) {
    throw invalidField('reconciliationDate', `must not be before ${lastDay}, the last day of the statement`);
  }
}

function sameFile(first: number): AppError {
  return new AppError('DUPLICATE_ENTRY', `This file is provider statement ${first} already.`, {
    details: { resource: 'provider_statement', field: 'body', id: first },
  });
}

function illegalStage(from: string, to: Stage, allowed: readonly Stage[]): AppError {
  const hint = allowed.length === 0 ? ' Wait until it is done.' : '';
  return new AppError('VALIDATION_ERROR', `A statement cannot go from ${from} to ${to}.${hint}`, {
    details: { from, to, allowed },
  });
}
