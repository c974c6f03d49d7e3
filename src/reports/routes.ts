import { type Context, today } from '../core/context.ts';
import type { CopyPool } from '../core/database/copy-pool.ts';
import type { ReportReads, SnapshotReads } from '../core/database/snapshot-reads.ts';
import { callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, examplesOf, ok, PagedEnvelope, Pagination } from '../core/http/envelope.ts';
import { invalid } from '../core/http/errors.ts';
import { sendFileStream } from '../core/http/file-stream.ts';
import { setSnapshotAge } from '../core/http/snapshot-age.ts';
import { DEFAULT_LIMIT } from '../core/lists/query.ts';
import { CsvFile, PaymentsQuery, PaymentsReport, RefundsCsvFile } from './payments-schema.ts';
import { paymentsCsv, REFUND_TEXT_COLUMNS, refundsCsv, TEXT_COLUMNS } from './payments-store.ts';
import { reportPayments } from './payments-view.ts';
import { type ReportPeriod, readReportPeriod } from './rules.ts';
import { AccountSummary, SummaryQuery } from './summary-schema.ts';
import { summarizeAccounts } from './summary-view.ts';

interface ReportParts {
  copies: CopyPool;
  summaries: SnapshotReads;
  reports: ReportReads;
}

export function reportRoutes(api: Api, context: Context, { copies, summaries, reports }: ReportParts): void {
  const {
    currency,
    config: { limits },
  } = context;
  const periodOf = (query: Partial<ReportPeriod>): ReportPeriod => readReportPeriod(query, today(context));

  api.get(
    '/reports/accounts/summary',
    {
      config: { access: 'reports:read', answerTimeoutMs: limits.summaryMs, snapshot: true },
      schema: {
        tags: ['Reports'],
        operationId: 'getPortfolioSummary',
        summary: 'Summarise the portfolio for a period',
        description:
          'startDate and endDate are business days, both included. Balances, lateness and statuses are those at the end of ' +
          'asOf, which is endDate or today, whichever is earlier. A payment counts from its value date. accountsUrl lists the accounts behind a ' +
          'figure. For a past asOf, most accountsUrl fields are null, because lists show only the present. Ratios follow the GOGLA PAYGo PERFORM ' +
          'definitions. If your earlier summaries are still running, the answer is 429. If other callers use all slots for summaries, the answer is 503.',
        querystring: SummaryQuery,
        response: { 200: Envelope(AccountSummary, 'Summary made.') },
      },
    },
    async (request, reply) => {
      const period = periodOf(request.query);
      const { value: summary, takenAtMs } = await summaries.read(callerOf(request), (tx) =>
        summarizeAccounts(tx, context, period),
      );
      setSnapshotAge(reply, takenAtMs);
      return ok(summary, 'Summary made.');
    },
  );

  api.get(
    '/reports/payments',
    {
      config: { access: 'reports:read', answerTimeoutMs: limits.exportMs, snapshot: true },
      schema: {
        tags: ['Reports'],
        operationId: 'getPaymentsReport',
        summary: 'Report the payments of a period',
        description:
          'startDate and endDate are business days, both included. With format=json, the answer has the totals of the period and one page of its ' +
          'rows. byDay has every day of the period up to today, or up to the last day with payments or refunds if that is later; more than 4,000 days are refused. Rows are payments. Refunds of credit are only in the totals, from which net subtracts them, and in `GET /reports/refunds.csv`. With format=csv, every row is streamed ' +
          'in UTF-8 with a byte order mark. If the stream fails, the connection is reset. A text that a spreadsheet would run as a formula, or whose digits it would change, gets a leading apostrophe.',
        querystring: PaymentsQuery,
        response: {
          200: {
            description: 'The report.',
            content: {
              'application/json': {
                schema: PagedEnvelope(PaymentsReport, examplesOf(PaymentsReport), 'Report made.', Pagination),
              },
              'text/csv': { schema: CsvFile },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { format, page, limit } = request.query;
      const period = periodOf(request.query);
      if (format !== 'csv') {
        const pageOf = { page: page ?? 1, limit: limit ?? DEFAULT_LIMIT };
        const { value, takenAtMs } = await reports.read((tx) =>
          reportPayments(tx, currency, period, today(context), pageOf),
        );
        setSnapshotAge(reply, takenAtMs);
        return { ...ok(value.data, 'Report made.'), pagination: value.pagination };
      }
      refusePages({ page, limit });
      return sendFileStream(request, reply, {
        name: `payments_${period.startDate}_${period.endDate}.csv`,
        type: 'text/csv; charset=utf-8',
        open: () => copies.open(callerOf(request), paymentsCsv(period, currency), TEXT_COLUMNS),
      });
    },
  );

  api.get(
    '/reports/refunds.csv',
    {
      config: { access: 'reports:read', answerTimeoutMs: limits.exportMs, snapshot: true },
      schema: {
        tags: ['Reports'],
        operationId: 'getRefundsFile',
        summary: 'Get the refunds of a period as CSV',
        description:
          'The refunds that `GET /reports/payments` subtracts in the same period, the oldest first, in the same CSV format. `GET /credit-moves` lists ' +
          'refunds as JSON.',
        querystring: SummaryQuery,
        response: {
          200: { description: 'The file.', content: { 'text/csv': { schema: RefundsCsvFile } } },
        },
      },
    },
    async (request, reply) => {
      const period = periodOf(request.query);
      return sendFileStream(request, reply, {
        name: `refunds_${period.startDate}_${period.endDate}.csv`,
        type: 'text/csv; charset=utf-8',
        open: () => copies.open(callerOf(request), refundsCsv(period, currency), REFUND_TEXT_COLUMNS),
      });
    },
  );
}

function refusePages(given: Record<string, number | undefined>): void {
  const problems = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([path]) => ({ path, message: 'is only for format=json: a CSV file has all rows' }));
  if (problems.length > 0) throw invalid(problems);
}
