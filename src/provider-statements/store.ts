import { type Selectable, sql } from 'kysely';
import { amountOf, type Currency } from '../core/context.ts';
import type { Db, Tx } from '../core/database/db.ts';
import type {
  PaymentStatus,
  ProviderLineResult,
  ProviderStatementLines,
  ProviderStatements,
  ProviderStatementTotals,
} from '../core/database/tables.ts';
import { fetchPage } from '../core/lists/page.ts';
import type { ListPlan } from '../core/lists/query.ts';
import type { PlainDate } from '../core/values/dates.ts';
import { LINE_RESULTS } from './schema.ts';

export type ProviderStatementRow = Selectable<ProviderStatements>;
export type LineRow = Selectable<ProviderStatementLines>;
type TotalRow = Selectable<ProviderStatementTotals>;

export function findProviderStatementRow(db: Db, id: number): Promise<ProviderStatementRow | undefined> {
  return db.selectFrom('provider_statements').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockProviderStatement(tx: Tx, id: number): Promise<ProviderStatementRow | undefined> {
  return tx.selectFrom('provider_statements').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function findProviderStatement(db: Db, currency: Currency, id: number) {
  const row = await findProviderStatementRow(db, id);
  return row && toProviderStatement(row, await findTotals(db, [id]), currency);
}

export async function listProviderStatements(db: Db, currency: Currency, plan: ListPlan) {
  const page = await fetchPage<ProviderStatementRow>(db, plan, {
    select: sql`select s.* from provider_statements s`,
    from: sql`from provider_statements s`,
  });
  const totals = await findTotals(
    db,
    page.rows.map(({ id }) => id),
  );
  return { ...page, rows: page.rows.map((row) => toProviderStatement(row, totals, currency)) };
}

async function findTotals(db: Db, ids: readonly number[]): Promise<TotalRow[]> {
  const { rows } = await sql<TotalRow>`
    select statement_id, result, line_count, amount_minor from provider_statement_totals
    where statement_id = any(${ids}::bigint[])`.execute(db);
  return rows;
}

const GIVEN_UP =
  'It failed several times in a row and was given up. The log says why; it can be asked for again.';

function toProviderStatement(row: ProviderStatementRow, totals: readonly TotalRow[], currency: Currency) {
  const figures = (result: ProviderLineResult) => {
    const total = totals.find((one) => one.statement_id === row.id && one.result === result);
    return { lines: total?.line_count ?? 0, total: amountOf(total?.amount_minor ?? 0, currency) };
  };
  return {
    id: row.id,
    status: row.status,
    // The reason is for those who run the service: it stands in the log and in the table.
    failure: row.failure === null ? null : GIVEN_UP,
    organisation: row.organisation,
    shortCode: row.short_code,
    sha256: row.content_sha256?.toString('hex') ?? '',
    currency: currency.code,
    firstCompletedAt: row.first_completed_at,
    lastCompletedAt: row.last_completed_at,
    periodStart: row.period_start,
    periodEnd: row.period_end,
    progress: {
      lines: row.line_count,
      payments: row.payment_count,
      compared: row.compared_count,
      imported: row.imported_count,
      reconciled: row.reconciled_count,
    },
    results: Object.fromEntries(LINE_RESULTS.map((result) => [result, figures(result)])),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

type ListedLine = LineRow & {
  statement_created_at: string;
  payment_status: PaymentStatus | null;
  payment_amount_minor: number | null;
  payment_date: PlainDate | null;
  reconciliation_id: number | null;
};

export async function listLines(db: Db, currency: Currency, statementId: number, plan: ListPlan) {
  const page = await fetchPage<ListedLine>(db, plan, {
    select: sql`
      select l.*, s.created_at as statement_created_at, p.status as payment_status,
        p.amount_minor as payment_amount_minor, p.payment_date, p.reconciliation_id
      from provider_statement_lines l join provider_statements s on s.id = l.statement_id
        left join payments p on p.id = l.payment_id`,
    from: sql`from provider_statement_lines l join provider_statements s on s.id = l.statement_id`,
    where: [sql<boolean>`l.statement_id = ${statementId}`],
  });
  return { ...page, rows: page.rows.map((row) => toLine(row, currency)) };
}

function problemOfConflict({ payment_id: paymentId, receipt }: ListedLine): string {
  return `Payment ${paymentId} was recorded by hand and is not linked to this transaction. Resolve the notification in GET /notifications?filter[outcome]=conflict&filter[transactionRef]=${receipt}, then match the statement again.`;
}

function toLine(row: ListedLine, currency: Currency) {
  return {
    id: row.id,
    lineNumber: row.line_number,
    result: row.result,
    problem: row.result === 'conflict' ? problemOfConflict(row) : row.problem,
    receipt: row.receipt,
    completedAt: row.completed_at,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    currency: currency.code,
    reference: row.reference,
    payer: row.payer,
    payerName: row.payer_name,
    providerStatus: row.provider_status,
    details: row.details,
    linkedReceipt: row.linked_receipt,
    paymentId: row.payment_id,
    paymentStatus: row.payment_status,
    paymentAmount: row.payment_amount_minor === null ? null : amountOf(row.payment_amount_minor, currency),
    paymentDate: row.payment_date,
    dayDiffers: row.day_differs,
    reconciliationId: row.reconciliation_id,
    createdAt: row.statement_created_at,
  };
}
