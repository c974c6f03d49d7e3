import { amountOf, type Currency } from '../../core/context.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import {
  areEqualInstalments,
  dateInRun,
  dueCountOf,
  earlyPayoffOf,
  endsOf,
  priceOf,
  runsOfPlan,
  runsOfSale,
  shapeOf,
} from './rules.ts';
import type { PayPlanRow } from './store.ts';

/** @param activationDate - of the account whose dates are shown. */
export function toPayPlan(row: PayPlanRow, currency: Currency, activationDate: PlainDate) {
  const shape = shapeOf(row);
  const runs = runsOfPlan(shape, activationDate);
  const { first, last, firstMinor, lastMinor } = endsOf(runs);
  const optional = (minor: number | null) => (minor === null ? null : amountOf(minor, currency));
  return {
    id: row.id,
    name: row.name,
    productId: row.product_id,
    deposit: amountOf(row.deposit_minor, currency),
    price: optional(row.price_minor),
    instalmentAmount: amountOf(firstMinor, currency),
    instalmentCount: row.instalment_count,
    roundingUnit: optional(row.rounding_minor),
    frequency: row.frequency,
    every: row.every,
    monthsWithoutDues: row.months_without_dues,
    harvest: shape.harvest,
    dueCount: dueCountOf(shape),
    lastInstalmentAmount: amountOf(lastMinor, currency),
    hasEqualInstalments: areEqualInstalments(runs, { frequency: row.frequency, activationDate }),
    total: amountOf(priceOf(shape), currency),
    graceDays: row.grace_days,
    autoSuspend: row.auto_suspend,
    active: row.active,
    earlyPayoff: earlyPayoffOf(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    dates: { activationDate, firstInstalment: first, lastInstalment: last },
  };
}

/**
 * The schedule of an account that would be sold with these dates.
 * @throws AppError VALIDATION_ERROR if the first due date cannot be chosen.
 */
export function toPayPlanPreview(
  row: PayPlanRow,
  currency: Currency,
  { activationDate, firstDueDate }: { activationDate: PlainDate; firstDueDate?: PlainDate | undefined },
) {
  const shape = shapeOf(row);
  const runs = runsOfSale(shape, activationDate, firstDueDate);
  const { first, last } = endsOf(runs);
  const deposit = { number: 0, dueDate: activationDate, amount: amountOf(shape.depositMinor, currency) };
  let items = 0;
  const shown = runs.map((run) => {
    const firstItem = items + 1;
    items += run.count;
    const amount = amountOf(run.amountMinor, currency);
    return {
      run: {
        ...{ firstItem, lastItem: items, count: run.count, instalmentAmount: amount },
        firstDueDate: dateInRun(run, 0),
        lastDueDate: dateInRun(run, run.count - 1),
      },
      items: Array.from({ length: run.count }, (_, j) => ({
        number: firstItem + j,
        dueDate: dateInRun(run, j),
        amount,
      })),
    };
  });
  return {
    payplanId: row.id,
    currency: currency.code,
    activationDate,
    total: amountOf(priceOf(shape), currency),
    deposit: deposit.amount,
    dueCount: items,
    firstDueDate: first,
    lastDueDate: last,
    hasEqualInstalments: areEqualInstalments(runs, { frequency: row.frequency, activationDate }),
    items: [...(shape.depositMinor === 0n ? [] : [deposit]), ...shown.flatMap((one) => one.items)],
    runs: shown.map(({ run }) => run),
  };
}
