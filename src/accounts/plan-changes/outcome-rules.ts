import type { PlanChangeKind } from '../../core/database/tables.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { completionDate, instalmentDateFrom, instalmentsFrom, type Terms } from '../schedule/rules.ts';
import type { NewPlanChange } from './schema.ts';

/** The instalments that a deferral moved or a revision made, by the terms after the change. */
export interface ChangedInstalments {
  count: number;
  firstDueDate: PlainDate;
  lastDueDate: PlainDate;
  /** For a deferral: the date of the first of them before the change. */
  movedFrom: PlainDate | null;
}

/** @returns null for the other kinds. */
export function changedInstalments(
  kind: PlanChangeKind,
  { from, firstDueDate }: Pick<NewPlanChange, 'from' | 'firstDueDate'>,
  before: Terms,
  after: Terms,
): ChangedInstalments | null {
  if (kind === 'deferral' && from) {
    const movedFrom = instalmentDateFrom(before, from) ?? null;
    return instalmentsAt(after, from, { count: instalmentsFrom(before, from), movedFrom });
  }
  if (kind === 'revision' && firstDueDate)
    return instalmentsAt(after, firstDueDate, {
      count: instalmentsFrom(after, firstDueDate),
      movedFrom: null,
    });
  return null;
}

function instalmentsAt(
  after: Terms,
  from: PlainDate,
  found: Pick<ChangedInstalments, 'count' | 'movedFrom'>,
): ChangedInstalments | null {
  const first = instalmentDateFrom(after, from);
  return first === undefined ? null : { ...found, firstDueDate: first, lastDueDate: completionDate(after) };
}
