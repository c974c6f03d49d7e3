import { Readable } from 'node:stream';
import { type Context, today } from '../core/context.ts';
import { type CopyPool, EXPORT_TIMEOUT_MS } from '../core/database/copy.ts';
import type { LongReads } from '../core/database/long-reads.ts';
import { callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, examplesOf, ok, PagedEnvelope } from '../core/http/envelope.ts';
import { invalid } from '../core/http/errors.ts';
import { DEFAULT_LIMIT } from '../core/lists/query.ts';
import { paymentsCsv, reportPayments, TEXT_COLUMNS } from './payments-store.ts';
import { type Period, readPeriod } from './rules.ts';
import { AccountSummary, CsvFile, PaymentsQuery, PaymentsReport, SummaryQuery } from './schema.ts';
import { SUMMARY_READS, summarizeAccounts } from './summary-store.ts';

interface ReportParts {
  copies: CopyPool;
  summaries: LongReads;
}

export function reportRoutes(api: Api, context: Context, { copies, summaries }: ReportParts): void {
  const { db, currency } = context;
  const periodOf = (query: Partial<Period>): Period => readPeriod(query, today(context));

  api.get(
    '/reports/accounts/summary',
    {
      config: { access: 'reports:read', answerTimeoutMs: SUMMARY_READS.timeoutMs },
      schema: {
        tags: ['Reports'],
        operationId: 'getPortfolioSummary',
        summary: 'Summarise the portfolio for a period',
        description:
          'Business days, both included. Balances, lateness and statuses are those at the end of asOf = ' +
          'min(endDate, today); what was paid by then is told by the value dates of the payments known now. The ' +
          'lists of accounts show today, so figures of a past asOf have none. Ratios follow the GOGLA PAYGo PERFORM definitions. ' +
          'It reads every account; while as many summaries are made as can be, 503 asks to come back.',
        querystring: SummaryQuery,
        response: { 200: Envelope(AccountSummary, 'Summary made.') },
      },
    },
    async (request) => {
      const period = periodOf(request.query);
      const summary = await summaries.read(callerOf(request), (tx) => summarizeAccounts(tx, context, period));
      return ok(summary, 'Summary made.');
    },
  );

  api.get(
    '/reports/payments',
    {
      config: { access: 'reports:read', answerTimeoutMs: EXPORT_TIMEOUT_MS },
      schema: {
        tags: ['Reports'],
        operationId: 'getPaymentsReport',
        summary: 'Report the payments of a period',
        description:
          'Business days, both included. json: totals of the period and one page of its rows. csv: every row, ' +
          'streamed, in UTF-8 with a byte order mark; the connection breaks if it cannot be completed. A text that a spreadsheet would run as a ' +
          'formula has an apostrophe in front.',
        querystring: PaymentsQuery,
        response: {
          200: {
            description: 'The report.',
            content: {
              'application/json': {
                schema: PagedEnvelope(PaymentsReport, examplesOf(PaymentsReport), 'Report made.'),
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
        const { data, pagination } = await reportPayments(db, currency, period, {
          page: page ?? 1,
          limit: limit ?? DEFAULT_LIMIT,
        });
        return { ...ok(data, 'Report made.'), pagination };
      }
      refusePages({ page, limit });
      const isHead = request.method === 'HEAD';
      const rows = isHead
        ? Readable.from([])
        : await copies.open(callerOf(request), paymentsCsv(period, currency), TEXT_COLUMNS);
      // A reset is a failure to every reader; the mere end of a connection is the end of the file to one
      // that speaks HTTP/1.0, as proxies do.
      rows.once('error', () => request.raw.socket.resetAndDestroy());
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${fileName(period)}"`)
        .send(rows);
    },
  );
}

/** A file holds all rows: to ask for a page of it is a misunderstanding. */
function refusePages(given: Record<string, number | undefined>): void {
  const problems = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([path]) => ({ path, message: 'is for format=json alone: a CSV file holds all rows' }));
  if (problems.length > 0) throw invalid(problems);
}

function fileName({ startDate, endDate }: Period): string {
  return `payments_${startDate}_${endDate}.csv`;
}
