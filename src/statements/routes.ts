import { Type } from 'typebox';
import { findAccountRow, termsOf } from '../accounts/store.ts';
import { type Context, readAmount, today } from '../core/context.ts';
import { callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ok } from '../core/http/envelope.ts';
import { invalidField, notFound, unreachable } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { compareDates } from '../core/values/dates.ts';
import { booksOf, hasRoomFor } from '../ledger/rules.ts';
import { PRINTED_ANSWER_TIMEOUT_MS, type Printer } from '../platform/printing/printer.ts';
import { statementCsv, toQuote, toStatement } from './answers.ts';
import { statementDocument } from './document.ts';
import { quoteOf } from './quote-rules.ts';
import { MAX_PRINTED_ROWS, MAX_ROWS, refuseTooMany } from './rules.ts';
import { AccountStatement, Quote, QuoteQuery, StatementCsv, StatementQuery } from './schema.ts';
import { type AccountStatement as Made, makeStatement } from './store.ts';

export function statementRoutes(api: Api, context: Context, printer: Printer): void {
  const { currency } = context;

  api.get(
    '/accounts/:id/statement',
    {
      config: {
        access: 'accounts:read',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: PRINTED_ANSWER_TIMEOUT_MS,
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountStatement',
        summary: 'Get the statement of an account',
        description:
          'Business days, both included; payments count on their own day, as they are known now. A reversed ' +
          'payment is shown and counts nothing; one that was unassigned is not shown. Credit that came from another ' +
          'account or left is a row (transfer_in, transfer_out, refund); what left takes the newest money. Two balances run beside each other: dueSoFar and owedInTotal. ' +
          `At most ${MAX_ROWS} rows, ${MAX_PRINTED_ROWS} as PDF: a longer one is asked for in shorter periods.`,
        params: IdParams,
        querystring: StatementQuery,
        response: {
          200: {
            description: 'Statement made.',
            content: {
              'application/json': { schema: Envelope(AccountStatement, 'Statement made.') },
              'text/csv': { schema: StatementCsv },
              'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { format = 'json', ...given } = request.query;
      const made = await makeStatement(context, request.params.id, given);
      switch (format) {
        case 'json':
          return ok(toStatement(made, currency), 'Statement made.');
        case 'csv':
          return reply
            .type('text/csv; charset=utf-8')
            .header('content-disposition', `attachment; filename="${fileName(made)}.csv"`)
            .send(statementCsv(made, currency));
        case 'pdf': {
          refuseTooMany(made.statement.rows.length, MAX_PRINTED_ROWS);
          const document = statementDocument(currency, printer, made);
          const pdf = await printer.print(callerOf(request), 'statement.typ', document);
          return reply
            .type('application/pdf')
            .header('content-disposition', `inline; filename="${fileName(made)}.pdf"`)
            .send(pdf);
        }
        default:
          return unreachable(format);
      }
    },
  );

  api.get(
    '/accounts/:id/quote',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountQuote',
        summary: 'Quote what an account owes',
        description:
          'Assumes that nothing else is paid until then. A pending account counts as active from its activation date on.',
        params: IdParams,
        querystring: QuoteQuery,
        response: { 200: Envelope(Quote, 'Quote made.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { amount } = request.query;
      const day = today(context);
      const date = request.query.date ?? day;
      if (compareDates(date, day) < 0) throw invalidField('date', `must not be before today (${day})`);
      const amountMinor = amount === undefined ? null : readAmount(amount, currency);
      const account = await findAccountRow(context.db, id);
      if (!account) throw notFound('account', id);
      const books = booksOf(account);
      if (amountMinor !== null && !hasRoomFor(books, amountMinor))
        throw invalidField('amount', 'is more than this account can still take');
      const quoted = { terms: termsOf(account), status: books.status, paidMinor: books.paidMinor };
      const quote = quoteOf(quoted, { date, amountMinor });
      return ok(toQuote(account, date, quote, currency), 'Quote made.');
    },
  );
}

function fileName({ accountNumber, period }: Made): string {
  return `statement_${accountNumber}_${period.from}_${period.to}`;
}
