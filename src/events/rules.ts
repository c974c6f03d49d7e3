import { invalidField } from '../core/http/errors.ts';
import { EVENT_TYPES, type EventType } from './catalogue-schema.ts';

// Events become visible when their transactions commit, which is not in the order of their ids. A reader that keeps only the
// last id must not read beyond an id that may still be committed.

/** The state of the event ids at one moment. */
export interface Sample {
  /** The last id that a transaction took. */
  lastId: number;
  /** The running transactions that may have taken ids up to `lastId`. Read after `lastId`. */
  writers: readonly string[];
}

/** The transactions that may still commit events with ids up to this one. */
interface Mark {
  id: number;
  writers: readonly string[];
}

/** Up to which id the feed is complete. */
export interface Horizon {
  /** Every event up to this id is visible, or was rolled back. */
  id: number;
  /** Later ids that are not complete yet. */
  marks: readonly Mark[];
}

export const NO_HORIZON: Horizon = { id: 0, marks: [] };

/**
 * The horizon after a sample: the last id for which every transaction of its mark has ended. A transaction that starts later
 * takes higher ids.
 */
export function advance({ id, marks }: Horizon, { lastId, writers }: Sample): Horizon {
  const running = new Set(writers);
  const known = lastId > (marks.at(-1)?.id ?? id) ? [...marks, { id: lastId, writers }] : marks;
  const left = known.map((mark) => ({ ...mark, writers: mark.writers.filter((one) => running.has(one)) }));
  const decided = left.findLast((mark) => mark.writers.length === 0);
  return { id: Math.max(id, decided?.id ?? 0), marks: left.filter((mark) => mark.id > (decided?.id ?? 0)) };
}

/** What a filter may name: a type, all types of a subject, or all types. */
export const TYPE_FILTERS: readonly string[] = [
  ...EVENT_TYPES,
  ...new Set(EVENT_TYPES.map((type) => `${subjectOf(type)}.*`)),
  '*',
];

function subjectOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

/**
 * The types that a filter names, such as `account.opened,payment.*`.
 * @returns undefined for all types. @throws AppError VALIDATION_ERROR for a name that fits no type.
 */
export function readTypes(filter: string | undefined): EventType[] | undefined {
  if (filter === undefined) return undefined;
  const names = filter.split(',').map((name) => name.trim());
  for (const name of names) if (!TYPE_FILTERS.includes(name)) throw invalidField('types', unknownType(name));
  return EVENT_TYPES.filter((type) =>
    names.some((name) => name === '*' || name === type || name === `${subjectOf(type)}.*`),
  );
}

/** The message for a filter that names no type: the types of its subject, or the subjects. */
export function unknownType(name: string): string {
  const subject = subjectOf(name);
  const ofSubject = TYPE_FILTERS.filter((filter) => subjectOf(filter) === subject);
  const allowed = ofSubject.length > 0 ? ofSubject : TYPE_FILTERS.filter((filter) => filter.endsWith('.*'));
  return `"${name}" is not an event type; allowed: ${allowed.join(', ')}`;
}

/** The name under which the API shows a field. Amounts are stored in minor units, as `…Minor`. */
export function shownName(field: string): string {
  return field.replace(/Minor$/, '');
}
