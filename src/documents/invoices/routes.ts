import { Type } from 'typebox';
import { expandAccountsOf } from '../../accounts/expand-view.ts';
import { AccountOrCustomerQuery } from '../../accounts/schema.ts';
import type { Context } from '../../core/context.ts';
import type { SnapshotReads } from '../../core/database/snapshot-reads.ts';
import { actorOf, callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListWithTotals, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { DocumentLanguage, IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { matchesEtag } from '../../core/http/negotiation.ts';
import { totalsOf, withSlowTotals } from '../../core/lists/totals.ts';
import { nameUnprintable, type Printer, printedAnswerMs } from '../../platform/printing/printer.ts';
import { issueInvoice, voidInvoice } from './commands.ts';
import { toInvoiceDocument } from './document-view.ts';
import { Invoice, InvoiceSummary, InvoiceTotals, invoiceList, NewInvoice, Voiding } from './schema.ts';
import { findInvoice, listInvoices } from './store.ts';
import { toInvoice, toInvoiceSummary } from './view.ts';

export function invoiceRoutes(
  api: Api,
  context: Context,
  { printer, summaries }: { printer: Printer; summaries: SnapshotReads },
): void {
  const { db, currency } = context;

  api.get(
    '/invoices',
    {
      config: { access: 'invoices:read', totalsTimeoutMs: context.config.limits.summaryMs },
      schema: {
        tags: ['Invoices'],
        operationId: 'listInvoices',
        summary: 'List invoices',
        description: 'Only `GET /invoices/{id}` includes the lines (`items`) of an invoice.',
        querystring: invoiceList.query,
        response: { 200: ListWithTotals(InvoiceSummary, 'Invoices found.', InvoiceTotals) },
      },
    },
    async (request) => {
      const plan = withSlowTotals(request.query, summaries, callerOf(request));
      const page = await listInvoices(db, plan);
      const invoices = page.rows.map((row) => toInvoiceSummary(row, currency));
      const rows = await expandAccountsOf(db, actorOf(request), invoices, request.query.expand);
      return okList({ ...page, rows, ...totalsOf(page, currency) }, 'Invoices found.');
    },
  );

  api.post(
    '/invoices',
    {
      config: { access: 'invoices:create', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Invoices'],
        operationId: 'issueInvoice',
        summary: 'Issue an invoice for an account',
        description:
          'The invoice gets the next number of the year. Its contents never change. The total of a line is quantity × unitPrice, rounded half up. An invoice does not change the account’s balance.',
        body: NewInvoice,
        response: { 201: Envelope(Invoice, 'Invoice issued.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const issued = await issueInvoice(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(toInvoice(issued, currency), 'Invoice issued.');
      }),
  );

  api.get(
    '/invoices/:id',
    {
      config: { access: 'invoices:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Invoices'],
        operationId: 'getInvoice',
        summary: 'Get an invoice',
        params: IdParams,
        querystring: AccountOrCustomerQuery,
        response: { 200: Envelope(Invoice, 'Invoice found.') },
      },
    },
    async (request) => {
      const found = await findInvoice(db, request.params.id);
      if (!found) throw notFound('invoice', request.params.id);
      const invoice = toInvoice(found, currency);
      const { expand } = request.query;
      const [expanded = invoice] = await expandAccountsOf(db, actorOf(request), [invoice], expand);
      return ok(expanded, 'Invoice found.');
    },
  );

  api.get(
    '/invoices/:id/pdf',
    {
      config: {
        access: 'invoices:read',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: printedAnswerMs(context.config.limits),
      },
      schema: {
        tags: ['Invoices'],
        operationId: 'getInvoicePdf',
        summary: 'Get an invoice as PDF',
        description:
          'Sends an ETag. A request with If-None-Match for an unchanged document gets 304 without a body.',
        params: IdParams,
        querystring: Type.Object({ lang: DocumentLanguage }),
        response: {
          200: {
            description: 'The document.',
            content: {
              'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
            },
          },
          304: Type.Unsafe<undefined>({
            type: 'null',
            description: 'The document has not changed.',
          }),
        },
      },
    },
    async (request, reply) => {
      const found = await findInvoice(db, request.params.id);
      if (!found) throw notFound('invoice', request.params.id);
      const document = toInvoiceDocument(context, printer, found, request.query.lang ?? 'en');
      const etag = printer.etagOf('invoice.typ', document);
      reply.header('etag', etag);
      const prepared = printer.prepare(document);
      nameUnprintable(reply, prepared.unprintable);
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
      const pdf = await printer.print(callerOf(request), 'invoice.typ', prepared);
      return reply
        .type('application/pdf')
        .header('content-disposition', `inline; filename="${document.number}.pdf"`)
        .send(pdf);
    },
  );

  api.post(
    '/invoices/:id/void',
    {
      config: { access: 'invoices:void', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Invoices'],
        operationId: 'voidInvoice',
        summary: 'Void an invoice',
        description:
          'The invoice keeps its number and its contents. A void invoice cannot change its status again.',
        params: IdParams,
        body: Voiding,
        response: { 200: Envelope(Invoice, 'Invoice voided.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const voided = await voidInvoice(txContext, actorOf(request), request.params.id, request.body.reason);
        return ok(toInvoice(voided, currency), 'Invoice voided.');
      }),
  );
}
