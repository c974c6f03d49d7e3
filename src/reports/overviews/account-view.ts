import { showAccount } from '../../accounts/expand-view.ts';
import { findOfferFacts } from '../../accounts/payoffs/store.ts';
import { termsOf } from '../../accounts/schedule/rules.ts';
import type { AccountExpansion } from '../../accounts/schema.ts';
import { isStatusIn, movesByHand } from '../../accounts/status/rules.ts';
import { getAccountRow } from '../../accounts/store.ts';
import { toSchedule } from '../../accounts/view.ts';
import { type Actor, type Context, today } from '../../core/context.ts';
import type { Page } from '../../core/http/envelope.ts';
import type { ChoiceText, Language } from '../../core/http/fields.ts';
import { quoteAccount, toCoverage } from '../../documents/account-statements/json-view.ts';
import { languageOf } from '../../documents/account-statements/language-view.ts';
import { readCoverage } from '../../documents/account-statements/view.ts';
import { invoiceList } from '../../documents/invoices/schema.ts';
import { listInvoices } from '../../documents/invoices/store.ts';
import { toInvoiceSummary } from '../../documents/invoices/view.ts';
import { requestList } from '../../mobile-money/payment-requests/schema.ts';
import { listRequests } from '../../mobile-money/payment-requests/store.ts';
import { toPaymentRequest } from '../../mobile-money/payment-requests/view.ts';
import { paymentList } from '../../payments/schema.ts';
import { listPayments } from '../../payments/store.ts';
import { toDetailedPayments } from '../../payments/view.ts';
import { mayDo, type Permission } from '../../rights.ts';
import { type AccountOverviewQuery, LATEST } from './account-schema.ts';

/**
 * An account, and what belongs to it. A part that the actor may not read is null. Reads one part after another, like the work of
 * today.
 * @throws AppError NOT_FOUND.
 */
export async function readAccountOverview(
  context: Context,
  actor: Actor,
  id: number,
  { lang }: AccountOverviewQuery,
) {
  const { db, currency } = context;
  const day = today(context);
  const row = await getAccountRow(db, id);
  const ifAllowed = async <T>(permission: Permission, read: () => Promise<T>) =>
    mayDo(actor, permission) ? read() : null;
  const expand = [
    ...(mayDo(actor, 'customers:read') ? ['customer'] : []),
    ...(mayDo(actor, 'catalogue:read') ? ['product'] : []),
  ].join(',') as ChoiceText<AccountExpansion>;

  const language = await languageOf(context, id);
  const offer = await findOfferFacts(db, id, currency);
  const quoteIn = (one: Language) =>
    quoteAccount(row, { date: day, amountMinor: null, today: day, language: one, offer }, currency);
  const quote = quoteIn(language);
  const quoteForUser = lang === undefined || lang === language ? quote : quoteIn(lang);
  const account = await showAccount(context, actor, row, expand || undefined);
  return {
    account,
    expectsPayments: isStatusIn(row.status, 'open'),
    moves: movesByHand(row.status).map((status) => ({
      status,
      givesUp: isStatusIn(status, 'closed') ? account.balance : 0,
    })),
    schedule: toSchedule(row, currency, day),
    quote,
    sentence: quoteForUser.explanation.sentence,
    coverage: await ifAllowed('payments:read', async () => {
      const latest = await readCoverage(context, row, LATEST.coverage);
      const terms = termsOf(row);
      return latest && { ...latest, rows: latest.rows.map((one) => toCoverage(one, terms, currency)) };
    }),
    payments: await ifAllowed('payments:read', async () => {
      const plan = paymentList.plan({ sort: 'paymentDate:desc,id:desc', limit: LATEST.payments }, context);
      const { rows, pagination } = await listPayments(db, plan, id);
      const payments = await toDetailedPayments(db, actor, rows, currency);
      return { rows: payments, total: pagination.total ?? rows.length };
    }),
    invoices: await ifAllowed('invoices:read', () => {
      const filter = { 'filter[accountId]': { eq: String(id) } };
      const plan = invoiceList.plan({ ...filter, sort: 'issuedOn:desc', limit: LATEST.invoices }, context);
      return readLatest(listInvoices(db, plan), (invoice) => toInvoiceSummary(invoice, currency));
    }),
    paymentRequests: await ifAllowed('payment-requests:read', () => {
      const plan = requestList.plan({ sort: 'id:desc', limit: LATEST.paymentRequests }, context);
      return readLatest(listRequests(db, plan, id), (request) => toPaymentRequest(request, currency));
    }),
  };
}

async function readLatest<Row, Shown>(page: Promise<Page<Row>>, show: (row: Row) => Shown) {
  const { rows, pagination } = await page;
  return { rows: rows.map(show), total: pagination.total ?? rows.length };
}
