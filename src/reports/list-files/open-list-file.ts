import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import type { RowStreams } from '../../core/database/row-streams.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import type { Page } from '../../core/http/envelope.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { createRowCursor } from '../../core/lists/row-cursor.ts';
import { BYTE_ORDER_MARK } from '../../core/values/csv.ts';
import { columnsOf, headOf, lineOf } from './rules.ts';

/** A list as a file. */
export interface FileOfList<Plan extends ListPlan> {
  /** The name of the list and of the file, such as `payments`. */
  name: string;
  /** The schema of a row. */
  item: TSchema;
  /** The names of the resources that the query expands. */
  expandedBy?(plan: Plan): ReadonlySet<string>;
  /** The rows of the list, as the list answers them. */
  read(db: Db, actor: Actor, plan: Plan): Promise<Page<object>>;
}

/**
 * Streams all rows of a list that match a query as CSV, from one snapshot. Before the first byte, the audit log gets an entry with the
 * query and the number of rows.
 * @param asked the query as it was sent, for the audit log.
 */
export function openListFile<Plan extends ListPlan>(
  context: Context,
  streams: RowStreams,
  { caller, actor }: { caller: string; actor: Actor },
  file: FileOfList<Plan>,
  plan: Plan,
  asked: Readonly<Record<string, string>>,
): Promise<Readable> {
  const columns = columnsOf(file.item, file.expandedBy?.(plan) ?? new Set());
  return streams.open(caller, async function* (tx) {
    const counted = await file.read(tx, actor, { ...plan, page: 1, limit: 1 });
    const rowCount = counted.pagination.total ?? 0;
    await recordExport(context, actor, { list: file.name, query: asked, rowCount });
    yield BYTE_ORDER_MARK + headOf(columns);
    const all = { ...plan, cursor: createRowCursor() };
    let part = await file.read(tx, actor, all);
    while (part.rows.length > 0) {
      yield part.rows.map((row) => lineOf(columns, row)).join('');
      part = await file.read(tx, actor, all);
    }
  });
}

interface ListExport {
  list: string;
  query: Readonly<Record<string, string>>;
  rowCount: number;
}

function recordExport({ db }: Context, actor: Actor, exported: ListExport): Promise<void> {
  const { list, rowCount } = exported;
  return inTransaction(db, (tx) =>
    audit(tx, actor, {
      action: 'list.export',
      resource: 'list',
      resourceId: null,
      after: exported,
      event: event('list.exported', { list, rowCount }),
    }),
  );
}
