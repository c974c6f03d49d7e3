import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, type Currency, readAmount, today } from '../../core/context.ts';
import type { Frequency } from '../../core/database/tables.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { type FieldProblem, invalid, invalidField, notFound } from '../../core/http/errors.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { type Minor, maxAmountMinor, maxAmountText, maxMinor, minorToText } from '../../core/values/money.ts';
import { withTrimmed } from '../../core/values/text.ts';
import { harvestShare, instalmentsFor, instalmentsShare, roundedUp } from './instalment-rounding-rules.ts';
import {
  canAlwaysBegin,
  type EarlyPayoff,
  earlyPayoffOf,
  type Harvest,
  harvestProblems,
  lengthProblem,
  priceOf,
  runsOfPlan,
} from './rules.ts';
import {
  DEFAULT_MIN_DUES,
  MAX_INSTALMENTS,
  type NewEarlyPayoff,
  type NewPayPlan,
  type PayPlanChanges,
} from './schema.ts';
import { insertPayPlan, lockPayPlan, updatePayPlan } from './store.ts';

export async function createPayPlan(context: Context, actor: Actor, sent: NewPayPlan) {
  const body = withTrimmed(sent, 'name');
  const { currency } = context;
  const fields = {
    name: body.name,
    productId: body.productId ?? null,
    ...(body.harvest
      ? readHarvest(body, body.harvest, currency, today(context))
      : readInstalments(body, currency)),
    graceDays: body.graceDays ?? 0,
    autoSuspend: body.autoSuspend ?? false,
    active: body.active ?? true,
    earlyPayoff: readEarlyPayoff(body.earlyPayoff ?? null),
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
      `must leave a month for an instalment: with every ${fields.every} and the frequency ${fields.frequency}, an account that begins in some month would have none for a year`,
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
  const { instalmentCount, frequency } = body;
  if (frequency === undefined) refuse('frequency', 'is required for a plan without harvest');
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
    if (!frequency || givenMinor === null || instalmentCount === undefined || problems.length > 0)
      throw invalid(problems);
    return {
      ...{ depositMinor, priceMinor, instalmentMinor: givenMinor, instalmentCount, roundingMinor: null },
      ...rhythmOf(body, frequency),
    };
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
  if (!frequency || instalmentMinor === null || problems.length > 0) throw invalid(problems);
  const count = instalmentCount ?? instalmentsFor(restMinor, instalmentMinor);
  if (count > MAX_INSTALMENTS)
    throw invalidField(
      'instalmentAmount',
      `must be at least ${text(roundedUp(instalmentsShare(restMinor, MAX_INSTALMENTS), roundingMinor))}, so that there are at most ${MAX_INSTALMENTS} instalments`,
    );
  return {
    ...{ depositMinor, priceMinor, instalmentMinor, instalmentCount: count, roundingMinor },
    ...rhythmOf(body, frequency),
  };
}

function readEarlyPayoff(sent: NewEarlyPayoff | null): EarlyPayoff | null {
  return sent && { until: null, minDues: DEFAULT_MIN_DUES, ...sent };
}

function rhythmOf({ every = 1, monthsWithoutDues = [] }: NewPayPlan, frequency: Frequency) {
  return {
    frequency,
    every,
    monthsWithoutDues: monthsWithoutDues.toSorted((a, b) => a - b),
    harvest: null,
  };
}

/** The fields that a plan with `harvest` must leave out. */
const NOT_WITH_HARVEST = [
  'frequency',
  'every',
  'monthsWithoutDues',
  'instalmentAmount',
  'instalmentCount',
] as const;

/**
 * The amounts of a harvest plan.
 * @throws AppError VALIDATION_ERROR with each missing, superfluous or wrong field.
 */
function readHarvest(body: NewPayPlan, harvest: Harvest, currency: Currency, day: PlainDate) {
  const problems: FieldProblem[] = [];
  const refuse = (path: string, message: string) => problems.push({ path, message });
  const text = (amount: Minor) => minorToText(amount, currency.decimals);
  const depositMinor = readAmount(body.deposit, currency);
  const priceMinor = body.price === undefined ? null : readAmount(body.price, currency);
  const roundingMinor = readAmount(body.roundingUnit ?? 1, currency);
  for (const field of NOT_WITH_HARVEST) {
    if (body[field] !== undefined) refuse(field, 'must be left out: harvest has the days of the instalments');
  }
  if (priceMinor === null) refuse('price', 'is required for a plan with harvest');
  else if (priceMinor <= depositMinor) refuse('price', `must be above the deposit (${text(depositMinor)})`);
  for (const { path, message } of harvestProblems(harvest.entries)) refuse(`harvest.entries${path}`, message);
  if (priceMinor === null || problems.length > 0) throw invalid(problems);
  const plan = {
    ...{ depositMinor, priceMinor, roundingMinor, harvest, instalmentMinor: 0n },
    instalmentCount: harvest.entries.length * harvest.cycles,
    ...{ frequency: 'monthly' as const, every: 12, monthsWithoutDues: [] },
  };
  const sumMinor = priceMinor - depositMinor;
  for (const [i, entry] of harvest.entries.entries()) {
    if (harvestShare({ sumMinor, roundingMinor }, harvest.cycles, entry) === 0n)
      refuse(
        `harvest.entries[${i}].shareBasisPoints`,
        `is too low: its instalment would be below roundingUnit (${text(roundingMinor)})`,
      );
  }
  if (problems.length > 0) throw invalid(problems);
  const amounts = runsOfPlan(plan, day).map(({ amountMinor }) => amountMinor);
  // The plan stores its largest instalment, with which the number of instalments pays the price.
  return { ...plan, instalmentMinor: amounts.reduce(maxMinor, 0n) };
}

export async function changePayPlan(context: Context, actor: Actor, id: number, sent: PayPlanChanges) {
  const { earlyPayoff, ...others } = withTrimmed(sent, 'name');
  const body = { ...others, ...(earlyPayoff !== undefined && { earlyPayoff: readEarlyPayoff(earlyPayoff) }) };
  return inTransaction(context.db, async (tx) => {
    const row = await lockPayPlan(tx, id);
    if (!row) throw notFound('payplan', id);
    const plan = await updatePayPlan(tx, id, body);
    await audit(tx, actor, {
      action: 'payplan.change',
      resource: 'payplan',
      resourceId: id,
      before: { ...row, autoSuspend: row.auto_suspend, earlyPayoff: earlyPayoffOf(row) },
      after: body,
      event: event('payplan.updated', { changedFields: Object.keys(body) }),
    });
    return plan;
  });
}
