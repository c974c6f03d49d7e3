import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import { actorOf, callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { AppError, invalidField, notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { nameUnprintable, type Printer, printedAnswerMs } from '../../platform/printing/printer.ts';
import { requireAll } from '../../rights.ts';
import { receiptText, toReceiptDocument } from './document-view.ts';
import { formatReceiptNumber, readReceiptNumber } from './rules.ts';
import { Receipt, ReceiptParams, ReceiptPrint, ReceiptText } from './schema.ts';
import { findReceipt, paymentExists, setPrinted } from './store.ts';
import { toReceipt } from './view.ts';

export function receiptRoutes(api: Api, context: Context, printer: Printer): void {
  const { db } = context;

  api.get(
    '/receipts/:number',
    {
      config: { access: 'payments:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payments'],
        operationId: 'getReceipt',
        summary: 'Look up a receipt by its number',
        description:
          'The amount, the day and the account of the payment. A number with a wrong check digit gets 400. A payment without an account has no receipt.',
        params: ReceiptParams,
        response: { 200: Envelope(Receipt, 'Receipt found.') },
      },
    },
    async (request) => {
      const id = readReceiptNumber(request.params.number);
      if (id === 'malformed') throw invalidField('number', 'must be a receipt number, such as R13');
      if (id === 'wrong_digit')
        throw invalidField(
          'number',
          'must be a receipt number: its check digit is wrong. Compare the digits with the receipt. If they are the same, this service has not issued it',
        );
      const row = await findReceipt(db, id);
      if (!row) {
        const number = formatReceiptNumber(id);
        throw new AppError('NOT_FOUND', `There is no receipt with the number ${number}.`, {
          details: { resource: 'payment', field: 'number', id: number },
        });
      }
      return ok(toReceipt(context, row), 'Receipt found.');
    },
  );

  api.post(
    '/payments/:id/receipt',
    {
      config: {
        access: 'payments:record',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: printedAnswerMs(context.config.limits),
      },
      schema: {
        tags: ['Payments'],
        operationId: 'printReceipt',
        summary: 'Print or share the receipt of a payment',
        description:
          'The service remembers the first print, on any paper: each later one says COPY. The receipt of a reversed payment says REVERSED, and ' +
          'that of a correction names the receipt that it corrects. An unmatched payment has no receipt. It shows the customer and the ' +
          'payment, so an API key also needs `customers:read` and `payments:read`.',
        params: IdParams,
        body: ReceiptPrint,
        response: {
          200: {
            description: 'The receipt.',
            content: {
              'application/pdf': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
              'text/plain': { schema: ReceiptText },
            },
          },
        },
      },
    },
    async (request, reply) => {
      requireAll(actorOf(request), ['customers:read', 'payments:read']);
      const { id } = request.params;
      const { paper, lang: language = 'en' } = request.body;
      const row = await findReceipt(db, id);
      if (!row) {
        if (!(await paymentExists(db, id))) throw notFound('payment', id);
        throw invalidField(
          'id',
          'must refer to a payment with an account: assign the payment first, then print its receipt',
        );
      }
      const print = async (isCopy: boolean) => {
        const document = toReceiptDocument(context, printer, row, {
          paper: paper === 'text' ? 'a4' : paper,
          language,
          isCopy,
        });
        if (paper === 'text') return receiptText(document);
        const prepared = printer.prepare(document);
        nameUnprintable(reply, prepared.unprintable);
        return printer.print(callerOf(request), 'receipt.typ', prepared);
      };
      const isCopy = row.first_printed_at !== null;
      let receipt = await print(isCopy);
      // Marked after printing, because a print can fail. If two users print at once, the second one prints again.
      const printed = await setPrinted(db, id);
      // Meanwhile, the undo of an import can have deleted the payment.
      if (!printed) throw notFound('payment', id);
      if (!isCopy && printed === 'again') receipt = await print(true);
      const name = formatReceiptNumber(id);
      return reply
        .type(paper === 'text' ? 'text/plain; charset=utf-8' : 'application/pdf')
        .header('content-disposition', `inline; filename="${name}.${paper === 'text' ? 'txt' : 'pdf'}"`)
        .send(receipt);
    },
  );
}
