import { invalidField } from '../../core/http/errors.ts';
import { mayDo, type Permission, type Rights } from '../../rights.ts';
import { EVENT_TYPES, type EventType } from './catalogue-schema.ts';

// A transaction takes event ids before it commits, so an event can become visible after events with higher ids. A reader that
// remembers only the last id would miss that event. So readers get events only up to an id called the horizon: every transaction
// that has taken an id up to the horizon has ended.

/** The state of the event ids at one moment. */
export interface Sample {
  /** Changes when PostgreSQL starts, recovers from a crash or makes a checkpoint, and when another server becomes the primary. */
  server: string;
  /** The highest id that any transaction has taken. */
  lastId: number;
  /** The running transactions that may have taken ids up to `lastId`. They are read after `lastId`, so that none is missing. */
  writers: readonly string[];
}

/** The transactions that can still commit events with ids up to `id`. */
interface Mark {
  id: number;
  writers: readonly string[];
}

/** The id up to which the feed is complete, and what is known about later ids. */
export interface Horizon {
  server: string;
  /** Every event up to this id is visible, or was rolled back. */
  id: number;
  /** Later ids, up to which the feed is not complete yet. */
  marks: readonly Mark[];
}

export const NO_HORIZON: Horizon = { server: '', id: 0, marks: [] };

/**
 * The horizon after a sample is the id of the last mark whose transactions have all ended, because later transactions take higher
 * ids. After a crash or a failover, they can take the same ids again: PostgreSQL does not write each id to disk. So a sample of
 * another `server` discards the earlier horizon.
 */
export function advance(horizon: Horizon, { server, lastId, writers }: Sample): Horizon {
  const { id, marks } = horizon.server === server ? horizon : NO_HORIZON;
  const running = new Set(writers);
  const known = lastId > (marks.at(-1)?.id ?? id) ? [...marks, { id: lastId, writers }] : marks;
  const left = known.map((mark) => ({ ...mark, writers: mark.writers.filter((one) => running.has(one)) }));
  const lastEnded = left.findLast((mark) => mark.writers.length === 0);
  return {
    server,
    id: Math.max(id, lastEnded?.id ?? 0),
    marks: left.filter((mark) => mark.id > (lastEnded?.id ?? 0)),
  };
}

/** What a filter can be: a type (`payment.received`), all types of a subject (`payment.*`), or all types (`*`). */
export const TYPE_FILTERS: readonly string[] = [
  ...EVENT_TYPES,
  ...new Set(EVENT_TYPES.map((type) => `${subjectOf(type)}.*`)),
  '*',
];

function subjectOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

type SubjectOf<T> = T extends `${infer Subject}.${string}` ? Subject : never;

/** The permission that a user needs for the events of a subject. */
const NEEDED_PERMISSION: Readonly<Record<SubjectOf<EventType>, Permission>> = {
  payment: 'payments:read',
  payment_request: 'payment-requests:read',
  status_query: 'payers:read',
  reconciliation: 'reconciliations:read',
  account: 'accounts:read',
  bulk_deferral: 'accounts:read',
  credit: 'accounts:read',
  call: 'calls:read',
  promise: 'calls:read',
  customer: 'customers:read',
  note: 'notes:read',
  kyc: 'kyc:read',
  invoice: 'invoices:read',
  // Users without this permission may read only the commissions of their own employee.
  commission: 'commissions:read',
  commission_rule: 'commissions:read',
  notification: 'payers:read',
  provider: 'payers:read',
  balance_gap: 'payers:read',
  statement: 'reconciliations:read',
  import: 'imports:run',
  list: 'audit:read',
  proof: 'reports:read',
  product: 'catalogue:read',
  payplan: 'catalogue:read',
  payment_method: 'catalogue:read',
  employee: 'catalogue:read',
  user: 'users:administer',
  session: 'users:administer',
  invitation: 'users:administer',
  api_key: 'api-keys:administer',
  webhook_endpoint: 'webhook-endpoints:administer',
  approval: 'approvals:read',
  cash_count: 'cash:read',
  cash_handover: 'cash:read',
  cash_settlement: 'cash:read',
};

/** The accounts of an import have no events of their own, so every user who may read accounts gets these events. */
const NEEDED_PERMISSION_OF_TYPE: Readonly<Partial<Record<EventType, Permission>>> = {
  'import.completed': 'accounts:read',
  'import.undone': 'accounts:read',
  // The receiver of cash, who can be an agent, must learn of it.
  'cash_handover.started': 'cash:count',
};

/**
 * Whether an actor who may follow events sees the events of a type. An API key sees all events. A user must have the permission to
 * read the subject of the type.
 */
export function maySee(actor: Rights, type: EventType): boolean {
  if (actor.role === 'api_key') return true;
  const subject = subjectOf(type) as SubjectOf<EventType>;
  return mayDo(actor, NEEDED_PERMISSION_OF_TYPE[type] ?? NEEDED_PERMISSION[subject]);
}

/**
 * The types that a filter names, such as `account.opened,payment.*`.
 * @returns undefined for all types. @throws AppError VALIDATION_ERROR for a name that fits no type.
 */
export function readTypes(filter: string | undefined): EventType[] | undefined {
  if (filter === undefined) return undefined;
  const filters = filter.split(',').map((name) => name.trim());
  checkTypeFilters(filters);
  return typesOf(filters);
}

/** The types that at least one filter matches. */
export function typesOf(filters: readonly string[]): EventType[] {
  return EVENT_TYPES.filter((type) =>
    filters.some((filter) => filter === '*' || filter === type || filter === `${subjectOf(type)}.*`),
  );
}

/** @throws AppError VALIDATION_ERROR for a filter that matches no type. The message lists what is allowed. */
export function checkTypeFilters(filters: readonly string[]): void {
  const unknown = filters.find((filter) => !TYPE_FILTERS.includes(filter));
  if (unknown === undefined) return;
  const ofSubject = TYPE_FILTERS.filter((filter) => subjectOf(filter) === subjectOf(unknown));
  const allowed = ofSubject.length > 0 ? ofSubject : TYPE_FILTERS.filter((filter) => filter.endsWith('.*'));
  throw invalidField('types', `"${unknown}" is not an event type; allowed: ${allowed.join(', ')}`);
}

/** The name under which the API shows a field. Amounts are stored in minor units, as `…Minor`. */
export function shownName(field: string): string {
  return field.replace(/Minor$/, '');
}
