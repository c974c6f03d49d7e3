import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { toOutcome } from '../../accounts/plan-changes/view.ts';
import { type Actor, amountOf, type Context, type Currency } from '../../core/context.ts';
import { type FieldProblem, invalid } from '../../core/http/errors.ts';
import { choicesOf } from '../../core/http/fields.ts';
import { readPosition, writeCursor } from '../../core/lists/cursor.ts';
import type { ListOrder } from '../../core/lists/fields.ts';
import { DEFAULT_LIMIT } from '../../core/lists/query.ts';
import { maySeeText } from '../../customers/notes/rules.ts';
import { findPinnedNotes } from '../../customers/notes/store.ts';
import { toNote } from '../../customers/notes/view.ts';
import { changesOf, KIND_NAMES, TIMELINE_KINDS, visibleKinds } from './rules.ts';
import type { TimelineEntry, TimelineQuery } from './schema.ts';
import { findEntries, type TimelinePlace, type TimelineRow, type TimelineScope } from './store.ts';

const ORDER: ListOrder = [
  { field: { name: 'recordedAt', kind: 'timestamp' }, direction: 'desc' },
  { field: { name: 'kind', kind: 'enum', values: KIND_NAMES }, direction: 'desc' },
  { field: { name: 'id', kind: 'id' }, direction: 'desc' },
];
const FIELDS = ORDER.map(({ field }) => field);

/** One page of a timeline, with only the kinds that the actor may see. @throws AppError VALIDATION_ERROR for a wrong cursor. */
export async function readTimeline(
  { db, currency }: Context,
  actor: Actor,
  scope: TimelineScope,
  { kind, limit = DEFAULT_LIMIT, after = '' }: TimelineQuery,
) {
  const problems: FieldProblem[] = [];
  const position = readPosition(after, FIELDS, ORDER, problems);
  if (problems.length > 0) throw invalid(problems);
  const kinds = visibleKinds(actor);
  const wanted = kind === undefined ? null : choicesOf(kind);
  const showsPinned = after === '' && kinds.includes('note');
  const [rows, pinned] = await Promise.all([
    findEntries(db, scope, {
      kinds: kinds.filter((one) => wanted === null || wanted.has(one)),
      limit: limit + 1, // The last row shows whether there is a next page.
      after: placeOf(position.values),
    }),
    showsPinned ? findPinnedNotes(db, scope.customerId) : [],
  ]);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    kinds,
    pinnedNotes: pinned.map((row) => toNote(row, actor, formatAccountNumber)),
    entries: shown.map((row) => toEntry(row, actor, currency)),
    nextCursor:
      rows.length > limit && last ? writeCursor(position, [last.recorded_at, last.kind, last.id]) : null,
  };
}

function placeOf(values: readonly unknown[] | undefined): TimelinePlace | null {
  if (!values) return null;
  const [recordedAt, kind, id] = values;
  return { recordedAt: String(recordedAt), kind: String(kind), id: Number(id) };
}

function toEntry(row: TimelineRow, actor: Actor, currency: Currency): TimelineEntry {
  const { kind, account_id } = row;
  const {
    amountMinor,
    otherAccountId,
    text,
    pinned,
    correctionCount,
    isHidden,
    before,
    after,
    planChange,
    ...data
  } = row.data;
  return {
    kind,
    id: row.id,
    recordedAt: row.recorded_at,
    valueDate: row.value_date,
    actor: row.actor,
    accountId: account_id,
    accountNumber: account_id === null ? null : formatAccountNumber(account_id),
    resource: TIMELINE_KINDS[kind].resource,
    resourceId: row.resource_id,
    ...data,
    ...(amountMinor !== undefined && { amount: amountOf(amountMinor, currency) }),
    ...(otherAccountId !== undefined && { otherAccountNumber: formatAccountNumber(otherAccountId) }),
    ...(planChange && {
      planChange: toOutcome(
        { payplan_name: null, undone_kind: null, undone_on: null, ...planChange },
        currency,
      ),
    }),
    ...(after !== undefined && { changes: changesOf(before ?? null, after) }),
    ...(kind === 'call' && isHidden && { isNoteHidden: true }),
    ...(kind === 'note' && {
      note: {
        text: isHidden && !maySeeText(actor, { hidden_at: row.recorded_at }) ? null : (text ?? null),
        pinned: pinned === true,
        correctionCount: correctionCount ?? 0,
        isHidden: isHidden === true,
      },
    }),
  };
}
