import { Type } from 'typebox';
import { formatAccountNumber } from '../../accounts/account-number-rules.ts';
import { accountFull, hasRoomFor } from '../../accounts/ledger/money-on-account-rules.ts';
import { booksOf } from '../../accounts/ledger/rules.ts';
import { findOfferFacts } from '../../accounts/payoffs/store.ts';
import { isStatusIn } from '../../accounts/status/rules.ts';
import { getAccountRow } from '../../accounts/store.ts';
import { type Context, readAmount, today } from '../../core/context.ts';
import { actorOf, callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { invalidField, unreachable } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { nameUnprintable, type Printer, printedAnswerMs } from '../../platform/printing/printer.ts';
import { requireAll } from '../../rights.ts';
import { statementCsv } from './csv-view.ts';
import { statementDocument } from './document-view.ts';
import { fullLines, MAX_SHORT_LINES, shortLines } from './folding-rules.ts';
import { quoteAccount, toStatement } from './json-view.ts';
import { languageOf } from './language-view.ts';
import { paymentInstructions } from './payment-instructions-rules.ts';
import { MAX_PRINTED_LINES, MAX_ROWS, refuseTooMany } from './rules.ts';
import {
  AccountStatement,
  PaymentInstructions,
  PaymentInstructionsQuery,
  Quote,
  QuoteQuery,
  StatementCsv,
  StatementQuery,
} from './schema.ts';
import { type AccountStatement as Made, makeShortStatement, makeStatement } from './view.ts';

export function statementRoutes(api: Api, context: Context, printer: Printer): void {
  const { currency } = context;

  api.get(
    '/accounts/:id/statement',
    {
      config: {
        access: 'accounts:read',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: printedAnswerMs(context.config.limits),
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountStatement',
        summary: 'Get the statement of an account',
        description:
          'from and to are business days, both included. A payment counts on its payment date. A reversed payment is shown but ' +
          'does not count. An unassigned payment is not shown. Credit moves are rows (transfer_in, transfer_out, refund). ' +
          'Outgoing credit is taken from the latest payments and incoming transfers. The part that is taken covers no item. ' +
          `Each row has two balances, dueSoFar and owedInTotal. A statement has at most ${MAX_ROWS} rows, and a PDF ${MAX_PRINTED_LINES} lines. ` +
          'A PDF is short, usually one or two pages: if it would have more than ' +
          `${MAX_SHORT_LINES} lines, the instalments of each month are one line, and so are its payments, with what they cover. ` +
          'If there are still more, and `from` is not given, it begins on the first day of a later month, with the balances brought forward. ' +
          'With `detail=full`, each payment is a line, as in JSON and CSV. ' +
          'lang is the language of the descriptions and of the PDF. Without it, they are in the language of the customer. ' +
          'It shows the customer and the payments, so an API key also needs `customers:read` and `payments:read`.',
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
      requireAll(actorOf(request), ['customers:read', 'payments:read']);
      const { format = 'json', detail = 'short', lang: wanted, ...given } = request.query;
      const isShort = format === 'pdf' && detail === 'short';
      const made = await (isShort ? makeShortStatement : makeStatement)(context, request.params.id, given);
      const lang = wanted ?? made.language;
      switch (format) {
        case 'json':
          return ok(toStatement(made, currency, lang), 'Statement made.');
        case 'csv':
          return reply
            .type('text/csv; charset=utf-8')
            .header('content-disposition', `attachment; filename="${fileName(made)}.csv"`)
            .send(statementCsv(made, currency, lang));
        case 'pdf': {
          const lines = (isShort ? shortLines : fullLines)(made.statement.rows);
          refuseTooMany(lines.length, MAX_PRINTED_LINES);
          const prepared = printer.prepare(statementDocument(currency, printer, made, lines, lang));
          nameUnprintable(reply, prepared.unprintable);
          const pdf = await printer.print(callerOf(request), 'statement.typ', prepared);
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
          'The quote assumes that no further payment is made before `date`. For a past `date`, such as that of a payment that is recorded later, ' +
          'it has what had fallen due by then by the present terms and status of the account, less all money that is recorded so far, also in ' +
          '`paymentState` and `daysPastDue`. What an account owed on a past day is in its statement. A pending account counts as active from its ' +
          'activation date. ' +
          '`explanation` says in one sentence why the customer owes this amount, and has the figures of the sentence.',
        params: IdParams,
        querystring: QuoteQuery,
        response: { 200: Envelope(Quote, 'Quote made.') },
      },
    },
    async (request) => {
      const { amount, lang } = request.query;
      const day = today(context);
      const date = request.query.date ?? day;
      const amountMinor = amount === undefined ? null : readAmount(amount, currency);
      const { id } = request.params;
      // At the same time, because a quote is made while the customer waits at the phone.
      const [account, language, offer] = await Promise.all([
        getAccountRow(context.db, id),
        lang ?? languageOf(context, id),
        findOfferFacts(context.db, id, currency),
      ]);
      if (amountMinor !== null && !hasRoomFor(booksOf(account), amountMinor)) throw accountFull('amount');
      const asked = { date, amountMinor, today: day, language, offer };
      return ok(quoteAccount(account, asked, currency), 'Quote made.');
    },
  );

  api.get(
    '/accounts/:id/payment-instructions',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getPaymentInstructions',
        summary: 'Get a message that says how to pay',
        description:
          'The account number and the paybill number, as a text that staff can send to the customer. An account of which no payment ' +
          'is expected gets 400: it is completed, cancelled, written off or repossessed. `expectsPayments` of the overview says this before.',
        params: IdParams,
        querystring: PaymentInstructionsQuery,
        response: { 200: Envelope(PaymentInstructions, 'Payment instructions made.') },
      },
    },
    async (request) => {
      const account = await getAccountRow(context.db, request.params.id);
      if (!isStatusIn(account.status, 'open')) {
        throw invalidField(
          'id',
          `must refer to an account of which payments are expected, and this account is ${account.status}`,
        );
      }
      const language = request.query.lang ?? (await languageOf(context, account.id));
      const known = { accountNumber: formatAccountNumber(account.id), paybillNumber: printer.paybill };
      const text = paymentInstructions({ ...known, companyName: printer.company.name }, language);
      return ok({ ...known, language, text }, 'Payment instructions made.');
    },
  );
}

function fileName({ accountNumber, period }: Made): string {
  return `statement_${accountNumber}_${period.from}_${period.to}`;
}
