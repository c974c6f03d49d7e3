import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Actor, type Context, readAmount, today } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import { compareDates } from '../../core/values/dates.ts';
import { maxAmountText } from '../../core/values/money.ts';
import { illegalInvoiceMove, invoiceTotal, lineOf, readQuantity } from './rules.ts';
import type { NewInvoice } from './schema.ts';
import { findInvoice, findRecipient, type InvoiceWithItems, insertInvoice, setVoid } from './store.ts';

/**
 * Issues an invoice for an account in any status. An invoice is only a document. It does not change the ledger or the balance.
 */
export async function issueInvoice(
  context: Context,
  actor: Actor,
  body: NewInvoice,
): Promise<InvoiceWithItems> {
  const { currency } = context;
  const lines = body.items.map((item) =>
    lineOf(item.description, readQuantity(item.quantity), readAmount(item.unitPrice, currency)),
  );
  const totalMinor = invoiceTotal(lines, currency.decimals);
  const issuedOn = today(context);
  const dueOn = body.dueDate ?? null;
  if (dueOn !== null && compareDates(dueOn, issuedOn) < 0) {
    throw invalidField('dueDate', `must not be before the day of issue (${issuedOn})`);
  }
  if (totalMinor === undefined)
    throw invalidField('items', `must add up to at most ${maxAmountText(currency.decimals)}`);
  return inTransaction(context.db, async (tx) => {
    const recipient = await findRecipient(tx, body.accountId);
    if (!recipient) throw notFound('account', body.accountId, 'accountId');
    const issued = await insertInvoice(
      tx,
      {
        accountId: body.accountId,
        customerName: `${recipient.first_name} ${recipient.last_name}`,
        customerPhone: recipient.phone,
        issuedOn,
        dueOn,
        totalMinor,
        createdBy: actor.userId,
      },
      lines,
    );
    const { id, number } = issued.invoice;
    await audit(tx, actor, {
      action: 'invoice.issue',
      resource: 'invoice',
      resourceId: id,
      after: { number, accountId: body.accountId, totalMinor, dueOn },
      event: event('invoice.issued', { accountId: body.accountId, number, totalMinor, dueDate: dueOn }),
    });
    return issued;
  });
}

/** A void invoice keeps its number and its contents. */
export async function voidInvoice(
  context: Context,
  actor: Actor,
  id: number,
  reason: string,
): Promise<InvoiceWithItems> {
  return inTransaction(context.db, async (tx) => {
    const voided = await setVoid(tx, id, reason);
    const found = await findInvoice(tx, id);
    if (!found) throw notFound('invoice', id);
    if (!voided) throw illegalInvoiceMove(found.invoice.status, 'void');
    await audit(tx, actor, {
      action: 'invoice.void',
      resource: 'invoice',
      resourceId: id,
      before: { status: 'issued' },
      after: { status: 'void', reason },
      event: event('invoice.voided', { accountId: found.invoice.account_id }),
    });
    return found;
  });
}
