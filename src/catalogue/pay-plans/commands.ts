import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, type Currency, readAmount } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type FieldProblem, invalid, invalidField, notFound } from '../../core/http/errors.ts';
import { type Minor, maxAmountMinor, maxAmountText, minorToText } from '../../core/values/money.ts';
import { withTrimmed } from '../../core/values/text.ts';
import {
  canAlwaysBegin,
  instalmentsFor,
  instalmentsShare,
  lengthProblem,
  priceOf,
  roundedUp,
} from './rules.ts';
import { MAX_INSTALMENTS, type NewPayPlan, type PayPlanChanges } from './schema.ts';
import { insertPayPlan, lockPayPlan, updatePayPlan } from './store.ts';

export async function createPayPlan(context: Context, actor: Actor, sent: NewPayPlan) {
  const body = withTrimmed(sent, 'name');
  const { currency } = context;
  const fields = {
    name: body.name,
    productId: body.productId ?? null,
    ...readInstalments(body, currency),
    frequency: body.frequency,
    every: body.every ?? 1,
    monthsWithoutDues: (body.monthsWithoutDues ?? []).toSorted((a, b) => a - b),
    graceDays: body.graceDays ?? 0,
    autoSuspend: body.autoSuspend ?? false,
    active: body.active ?? true,
  };
  if (priceOf(fields) > maxAmountMinor(currency.decimals)) {
    throw invalidField(
      'instalmentAmount',
      `is too large: the total of the plan must be at most ${maxAmountText(currency.decimals)}`,
    );
  }
  if (!canAlwaysBegin(fields)) {
    throw invalidField(
      'monthsWithoutDues',
      `must leave a month for an instalment: with one every ${fields.every} months, an account that begins in some month would have none`,
    );
  }
  const problem = lengthProblem(fields);
  if (problem !== undefined)
    throw invalidField(fields.monthsWithoutDues.length > 0 ? 'monthsWithoutDues' : 'every', problem);
  return inTransaction(context.db, async (tx) => {
    const plan = await insertPayPlan(tx, fields);
    await audit(tx, actor, {
      action: 'payplan.create',
      resource: 'payplan',
      resourceId: plan.id,
      after: fields,
      event: event('payplan.created', { productId: fields.productId, active: fields.active }),
    });
    return plan;
  });
}

/**
 * The amounts of a plan: equal instalments, or instalments of which the last takes the rest of a price.
 * @throws AppError VALIDATION_ERROR with each missing, superfluous or wrong field.
 */
function readInstalments(body: NewPayPlan, currency: Currency) {
  const problems: FieldProblem[] = [];
  const refuse = (path: string, message: string) => problems.push({ path, message });
  const { instalmentCount } = body;
  const minor = (amount: number | undefined) => (amount === undefined ? null : readAmount(amount, currency));
  const text = (amount: Minor) => minorToText(amount, currency.decimals);
  const depositMinor = readAmount(body.deposit, currency);
  const priceMinor = minor(body.price);
  const givenMinor = minor(body.instalmentAmount);

  if (priceMinor === null) {
    const without = 'is required for a plan without a price';
    if (givenMinor === null) refuse('instalmentAmount', without);
    if (instalmentCount === undefined) refuse('instalmentCount', without);
    if (body.roundingUnit !== undefined)
      refuse('roundingUnit', 'is only for a plan with a price, because equal instalments are not rounded');
    if (givenMinor === null || instalmentCount === undefined || problems.length > 0) throw invalid(problems);
    return { depositMinor, priceMinor, instalmentMinor: givenMinor, instalmentCount, roundingMinor: null };
  }

  const roundingMinor = minor(body.roundingUnit) ?? readAmount(1, currency);
  const restMinor = priceMinor - depositMinor;
  if (restMinor <= 0n) refuse('price', `must be above the deposit (${text(depositMinor)})`);
  if (givenMinor !== null && instalmentCount !== undefined)
    refuse(
      'instalmentCount',
      'must be left out: with a price and an instalmentAmount, the number of instalments is computed',
    );
  if (givenMinor === null && instalmentCount === undefined)
    refuse('instalmentCount', 'is required for a plan with a price; or give instalmentAmount instead');
  if (givenMinor !== null && givenMinor % roundingMinor > 0n)
    refuse('instalmentAmount', `must be a multiple of roundingUnit (${text(roundingMinor)})`);
  const instalmentMinor =
    givenMinor ??
    (instalmentCount === undefined || restMinor <= 0n
      ? null
      : roundedUp(instalmentsShare(restMinor, instalmentCount), roundingMinor));
  if (instalmentMinor === null || problems.length > 0) throw invalid(problems);
  const count = instalmentCount ?? instalmentsFor(restMinor, instalmentMinor);
  if (count > MAX_INSTALMENTS)
    throw invalidField(
      'instalmentAmount',
      `must be at least ${text(roundedUp(instalmentsShare(restMinor, MAX_INSTALMENTS), roundingMinor))}, so that there are at most ${MAX_INSTALMENTS} instalments`,
    );
  return { depositMinor, priceMinor, instalmentMinor, instalmentCount: count, roundingMinor };
}

export async function changePayPlan(context: Context, actor: Actor, id: number, sent: PayPlanChanges) {
  const body = withTrimmed(sent, 'name');
  return inTransaction(context.db, async (tx) => {
    const row = await lockPayPlan(tx, id);
    if (!row) throw notFound('payplan', id);
    const plan = await updatePayPlan(tx, id, body);
    await audit(tx, actor, {
      action: 'payplan.change',
      resource: 'payplan',
      resourceId: id,
      before: { ...row, autoSuspend: row.auto_suspend },
      after: body,
      event: event('payplan.updated', { changedFields: Object.keys(body) }),
    });
    return plan;
  });
}
