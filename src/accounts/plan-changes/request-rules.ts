import type { PlanShape } from '../../catalogue/pay-plans/rules.ts';
import { type Currency, readAmount } from '../../core/context.ts';
import type { AccountStatus, LedgerEvent, PlanChangeKind } from '../../core/database/tables.ts';
import { AppError, type FieldProblem, invalid, invalidField } from '../../core/http/errors.ts';
import { compareDates, type PlainDate } from '../../core/values/dates.ts';
import { statusesIn } from '../status/rules.ts';
import type { PlanChange, Spread } from './rules.ts';
import type { NewPlanChange, RequestedKind } from './schema.ts';

// Reads the request of a change: which fields its kind has, and the change that rules.ts computes.

type Field = Exclude<keyof NewPlanChange, 'kind' | 'reason' | 'reasonCode' | 'confirm'>;

interface FieldsOfKind {
  required: readonly Field[];
  optional: readonly Field[];
  /** Exactly one of these is required. */
  oneOf?: readonly Field[];
  /** The values of `arrears`. */
  arrears?: readonly string[];
  /** Whether the change is possible on a completed account. */
  ofCompleted?: true;
}

const RHYTHM = ['every', 'monthsWithoutDues'] as const;

const FIELDS: Readonly<Record<RequestedKind, FieldsOfKind>> = {
  deferral: {
    required: ['from'],
    optional: ['arrears', 'dues'],
    oneOf: ['periods', 'days'],
    arrears: ['stay', 'behind'],
  },
  revision: {
    required: ['firstDueDate'],
    optional: ['arrears', 'frequency', ...RHYTHM],
    oneOf: ['instalmentCount', 'instalmentAmount', 'harvest'],
    arrears: ['stay', 'move'],
  },
  discount: { required: ['amount'], optional: [], ofCompleted: true },
  price_correction: { required: ['amount'], optional: [], ofCompleted: true },
  price_rise: { required: ['amount'], optional: ['consent', 'dues'] },
  sale_correction: { required: ['payplanId'], optional: [] },
  undo: { required: [], optional: [], ofCompleted: true },
};

const ALL_FIELDS = [
  ...new Set(
    Object.values(FIELDS).flatMap(({ required, optional, oneOf = [] }) => [
      ...required,
      ...optional,
      ...oneOf,
    ]),
  ),
];

/** @throws AppError VALIDATION_ERROR with each missing, superfluous or wrong field. @param reasons - the reasons that a code can name. */
export function checkFields(body: NewPlanChange, reasons: readonly string[]): void {
  const { kind, reason, reasonCode, consent, confirm } = body;
  const { required, optional, oneOf = [], arrears = [] } = FIELDS[kind];
  const problems: FieldProblem[] = [];
  const refuse = (path: string, message: string) => problems.push({ path, message });
  for (const field of ALL_FIELDS) {
    const isKnown = required.includes(field) || optional.includes(field) || oneOf.includes(field);
    if (body[field] !== undefined && !isKnown) refuse(field, `must be left out for the kind ${kind}`);
  }
  for (const field of required)
    if (body[field] === undefined) refuse(field, `is required for the kind ${kind}`);
  const given = oneOf.filter((field) => body[field] !== undefined);
  const [first] = oneOf;
  if (first !== undefined && given.length !== 1)
    refuse(
      given[1] ?? first,
      `must be the only one of ${oneOf.join(', ')}, of which the kind ${kind} needs one`,
    );
  if (body.arrears !== undefined && arrears.length > 0 && !arrears.includes(body.arrears))
    refuse('arrears', `must be one of ${arrears.join(', ')} for the kind ${kind}`);
  if (kind === 'revision') {
    if (body.harvest === undefined && body.frequency === undefined)
      refuse('frequency', 'is required without harvest');
    if (body.harvest !== undefined)
      for (const field of ['frequency', ...RHYTHM] as const)
        if (body[field] !== undefined)
          refuse(field, 'must be left out: harvest has the days of the instalments');
  }
  if (reasonCode !== undefined && !reasons.includes(reasonCode))
    refuse(
      'reasonCode',
      reasons.length === 0
        ? 'must be left out: the setting PLAN_CHANGE_REASONS has no reasons'
        : `must be one of ${reasons.join(', ')}`,
    );
  if (confirm && reason === undefined) refuse('reason', 'is required to confirm a change');
  if (confirm && kind === 'price_rise' && consent === undefined)
    refuse('consent', 'is required to confirm a higher price: say how and when the customer agreed');
  if (problems.length > 0) throw invalid(problems);
}

/** The change that rules.ts computes. The fields have passed `checkFields`. @param plan - the pay plan of a sale correction. */
export function planChangeOf(
  body: NewPlanChange & { kind: Exclude<RequestedKind, 'undo'> },
  currency: Currency,
  plan: PlanShape | undefined,
): PlanChange {
  const { kind } = body;
  const dues = body.dues?.map(({ date, amount }) => ({ date, amountMinor: readAmount(amount, currency) }));
  switch (kind) {
    case 'deferral': {
      const by = body.days === undefined ? { periods: given(body.periods) } : { days: body.days };
      return { kind, from: given(body.from), by, movesArrears: body.arrears === 'behind', dues };
    }
    case 'revision':
      return {
        kind,
        firstDue: given(body.firstDueDate),
        spread: spreadOf(body, currency),
        movesArrears: body.arrears === 'move',
      };
    case 'discount':
    case 'price_correction':
      return { kind, amountMinor: readAmount(given(body.amount), currency) };
    case 'price_rise':
      return { kind, amountMinor: readAmount(given(body.amount), currency), dues };
    case 'sale_correction':
      return { kind, plan: given(plan) };
  }
}

function spreadOf(body: NewPlanChange, currency: Currency): Spread {
  if (body.harvest) return { harvest: body.harvest };
  const rhythm = {
    frequency: given(body.frequency),
    every: body.every ?? 1,
    monthsWithoutDues: (body.monthsWithoutDues ?? []).toSorted((a, b) => a - b),
  };
  return body.instalmentCount === undefined
    ? { ...rhythm, instalmentMinor: readAmount(given(body.instalmentAmount), currency) }
    : { ...rhythm, count: body.instalmentCount };
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A field that checkFields requires is missing.');
  return value;
}

/** The statuses of accounts on which a change is possible. */
function statusesFor(kind: RequestedKind): AccountStatus[] {
  return [...statusesIn('changesPlan'), ...(FIELDS[kind].ofCompleted ? statusesIn('paidInFull') : [])];
}

/** Why a change is not possible on an account. */
export function statusProblem(kind: RequestedKind, status: AccountStatus): FieldProblem | undefined {
  const possible = statusesFor(kind);
  if (possible.includes(status)) return undefined;
  return {
    path: 'id',
    message: `must refer to an account that is ${possible.join(', ')} for the kind ${kind}; this account is ${status}`,
  };
}

/** The first of the days that a request names, from which on instalments move or are added. The change must be made before it. */
export function firstChangedDue(body: NewPlanChange): { path: string; date: PlainDate } | undefined {
  const named = [
    { path: 'from', date: body.from },
    { path: 'firstDueDate', date: body.firstDueDate },
    { path: 'dues[0].date', date: body.dues?.[0]?.date },
  ].flatMap(({ path, date }) => (date === undefined ? [] : [{ path, date }]));
  return named.toSorted((a, b) => compareDates(a.date, b.date))[0];
}

/** The ledger event of a change of the price. A change that keeps the price writes no entries. */
export function ledgerEventOf(kind: Exclude<PlanChangeKind, 'undo'>): LedgerEvent {
  switch (kind) {
    case 'discount':
    case 'payoff':
      return 'price_discounted';
    case 'price_rise':
      return 'price_raised';
    default:
      return 'price_corrected';
  }
}

/** The kinds that `restructured` of an account names. */
export function isRestructuring(kind: PlanChangeKind): kind is 'deferral' | 'revision' {
  return kind === 'deferral' || kind === 'revision';
}

type Confirmation = NonNullable<NewPlanChange['confirm']>;

/** @throws AppError VALIDATION_ERROR (409) if the plan was changed, or the day has ended, since the effect was shown. */
export function checkVersion(confirm: Confirmation, version: number, day: PlainDate): void {
  const fields = changedSince('confirm.version', confirm.version, version);
  if (confirm.effectiveOn !== undefined)
    fields.push(...changedSince('confirm.effectiveOn', confirm.effectiveOn, day));
  refuseChanged(fields);
}

/** @throws AppError VALIDATION_ERROR (409) if another sum is paid than when the effect was shown. */
export function checkPaid(confirm: Confirmation, paid: number): void {
  if (confirm.paid === undefined)
    throw invalidField('confirm.paid', 'is required, because the effect depends on the sum paid');
  refuseChanged(changedSince('confirm.paid', confirm.paid, paid));
}

function changedSince<T extends number | string>(path: string, shown: T, now: T): FieldProblem[] {
  return shown === now
    ? []
    : [{ path, message: `was ${shown} when the effect was shown, and is now ${now}` }];
}

function refuseChanged(fields: FieldProblem[]): void {
  if (fields.length === 0) return;
  const changes = fields.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new AppError(
    'VALIDATION_ERROR',
    `The account has changed: ${changes}. Nothing was done. Ask again what the change would do.`,
    { status: 409, details: { fields } },
  );
}
