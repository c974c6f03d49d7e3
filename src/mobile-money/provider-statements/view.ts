import { amountOf, type Currency } from '../../core/context.ts';
import type { ProviderLineResult } from '../../core/database/tables.ts';
import { checkFigures, LINE_RESULTS } from './rules.ts';
import type { ListedLine, PreviousStatementRow, ProviderStatementRow, TotalRow } from './store.ts';

const FAILED =
  'The work on this statement failed several times. The reason is in the log. Start the work again after the problem is solved.';

/** @param related - can also contain rows of other statements. */
export function toProviderStatement(
  row: ProviderStatementRow,
  related: { totals: readonly TotalRow[]; previous: readonly PreviousStatementRow[] },
  currency: Currency,
) {
  const previous = related.previous.find(({ statement_id: id }) => id === row.id);
  const checks = checkFigures(row, previous?.closing_balance_minor ?? null);
  const figures = (result: ProviderLineResult) => {
    const total = related.totals.find((one) => one.statement_id === row.id && one.result === result);
    return { lines: total?.line_count ?? 0, total: amountOf(total?.amount_minor ?? 0, currency) };
  };
  return {
    id: row.id,
    status: row.status,
    // The stored reason is for operators, who find it in the log and in the table.
    failure: row.failure === null ? null : FAILED,
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
    checks: checks.map(({ check, expectedMinor, foundMinor }) => ({
      check,
      isEqual: expectedMinor === foundMinor,
      expected: amountOf(expectedMinor, currency),
      found: amountOf(foundMinor, currency),
      statementId: check === 'previous_statement' ? (previous?.previous_id ?? null) : null,
    })),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function toLine(row: ListedLine, currency: Currency) {
  return {
    id: row.id,
    lineNumber: row.line_number,
    result: row.result,
    problem:
      row.result === 'conflict' ? problemOfConflict(row) : (row.problem ?? problemOfPart(row, currency)),
    receipt: row.receipt,
    completedAt: row.completed_at,
    amount: row.amount_minor === null ? null : amountOf(row.amount_minor, currency),
    currency: currency.code,
    reference: row.reference,
    payer: row.payer,
    payerName: row.payer_name,
    providerStatus: row.provider_status,
    details: row.details,
    // The receipt of the line itself is only a way to find the payment that it may take back.
    linkedReceipt: row.is_inferred && row.linked_receipt === row.receipt ? null : row.linked_receipt,
    paymentId: row.payment_id,
    paymentStatus: row.payment_status,
    paymentAmount: row.payment_amount_minor === null ? null : amountOf(row.payment_amount_minor, currency),
    paymentDate: row.payment_date,
    dayDiffers: row.day_differs,
    reconciliationId: row.reconciliation_id,
    createdAt: row.statement_created_at,
  };
}

function problemOfConflict({ payment_id: paymentId, receipt }: ListedLine): string {
  return `Payment ${paymentId} was recorded by hand and is not linked to this transaction. Resolve the notification in GET /notifications?filter[outcome]=conflict&filter[transactionRef]=${receipt}, then match the statement again.`;
}

/** @returns null if the whole payment was taken back. */
function problemOfPart(row: ListedLine, currency: Currency): string | null {
  const { amount_minor: amount, taken_back_minor: taken } = row;
  if (amount === null || taken === null || taken >= amount) return null;
  const [all, back, rest] = [amount, taken, amount - taken].map((minor) => amountOf(minor, currency));
  return `The provider took back ${back} of ${all} ${currency.code}. Reverse the payment, and record ${rest} by hand, with the receipt of the withdrawal as the reference.`;
}
