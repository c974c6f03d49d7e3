import { Type } from 'typebox';
import type { Context } from '../core/context.ts';
import { actorOf, callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { matchesEtag } from '../core/http/negotiation.ts';
import { PRINTED_ANSWER_TIMEOUT_MS, type Printer } from '../platform/printing/printer.ts';
import { issueInvoice, voidInvoice } from './commands.ts';
import { invoiceDocument } from './document.ts';
import { Invoice, InvoiceSummary, invoiceList, NewInvoice, Voiding } from './schema.ts';
import { findInvoice, listInvoices, toInvoice } from './store.ts';

export function invoiceRoutes(api: Api, context: Context, printer: Printer): void {
  const { db, currency } = context;

  api.get(
    '/invoices',
    {
      config: { access: 'invoices:read' },
      schema: {
        tags: ['Invoices'],
        operationId: 'listInvoices',
        summary: 'List invoices',
        description: 'Rows have all of an invoice but its lines (`items`), which `GET /invoices/{id}` has.',
        querystring: invoiceList.query,
        response: { 200: ListEnvelope(InvoiceSummary, 'Invoices found.') },
      },
    },
    async (request) => {
      const plan = invoiceList.read(request.query, context);
      return okList(await listInvoices(db, currency, plan), 'Invoices found.');
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
          'Takes the next number of the year and freezes the invoice. Each line is quantity × unitPrice, rounded half up. An invoice is no part of the account’s balance.',
        body: NewInvoice,
        response: { 201: Envelope(Invoice, 'Invoice issued.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const issued = await issueInvoice(once, actorOf(request), request.body);
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
        response: { 200: Envelope(Invoice, 'Invoice found.') },
      },
    },
    async (request) => {
      const found = await findInvoice(db, request.params.id);
      if (!found) throw notFound('invoice', request.params.id);
      return ok(toInvoice(found, currency), 'Invoice found.');
    },
  );

  api.get(
    '/invoices/:id/pdf',
    {
      config: {
        access: 'invoices:read',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: PRINTED_ANSWER_TIMEOUT_MS,
      },
      schema: {
        tags: ['Invoices'],
        operationId: 'getInvoicePdf',
        summary: 'Get an invoice as PDF',
        description:
          'Sends an ETag; with If-None-Match, a document that has not changed is answered with 304 and no body.',
        params: IdParams,
        response: {
          200: {
            description: 'The document.',
            content: {
              'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
            },
          },
          304: Type.Unsafe<undefined>({
            type: 'null',
            description: 'The document is the one that the caller has.',
          }),
        },
      },
    },
    async (request, reply) => {
      const found = await findInvoice(db, request.params.id);
      if (!found) throw notFound('invoice', request.params.id);
      const document = invoiceDocument(context, printer, found);
      const etag = printer.etagOf('invoice.typ', document);
      reply.header('etag', etag);
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
      const pdf = await printer.print(callerOf(request), 'invoice.typ', document);
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
        description: 'The invoice keeps its number and all that stands in it. Void is final.',
        params: IdParams,
        body: Voiding,
        response: { 200: Envelope(Invoice, 'Invoice is void.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const voided = await voidInvoice(once, actorOf(request), request.params.id, request.body.reason);
        return ok(toInvoice(voided, currency), 'Invoice is void.');
      }),
  );
}
