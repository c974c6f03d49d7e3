import type { Readable } from 'node:stream';
import { Type } from 'typebox';
import { CreditMove, creditMoveList } from '../../accounts/credit/schema.ts';
import { listCreditMoves } from '../../accounts/credit/store.ts';
import { creditMovesFound } from '../../accounts/credit/view.ts';
import { expandAccounts, expandAccountsOf } from '../../accounts/expand-view.ts';
import { Account, accountList } from '../../accounts/schema.ts';
import { listAccounts } from '../../accounts/store.ts';
import { searchOf, toAccount } from '../../accounts/view.ts';
import { CallListEntry, callListList } from '../../collections/call-list/schema.ts';
import { listEntries } from '../../collections/call-list/store.ts';
import { toEntries } from '../../collections/call-list/view.ts';
import { CommissionSummary, commissionList } from '../../commissions/schema.ts';
import { listCommissions } from '../../commissions/store.ts';
import { toCommissionSummary } from '../../commissions/view.ts';
import { type Context, today } from '../../core/context.ts';
import type { RowStreams } from '../../core/database/row-streams.ts';
import { actorOf, callerOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { type ChoiceText, choicesOf } from '../../core/http/fields.ts';
import { sendFileStream } from '../../core/http/file-stream.ts';
import type { ListPlan } from '../../core/lists/query.ts';
import { readPhone } from '../../core/values/phone.ts';
import { searchWords } from '../../customers/rules.ts';
import { Customer, customerList } from '../../customers/schema.ts';
import { listCustomers } from '../../customers/store.ts';
import { InvoiceSummary, invoiceList } from '../../documents/invoices/schema.ts';
import { listInvoices } from '../../documents/invoices/store.ts';
import { toInvoiceSummary } from '../../documents/invoices/view.ts';
import { PaymentRequest, requestList } from '../../mobile-money/payment-requests/schema.ts';
import { listRequests } from '../../mobile-money/payment-requests/store.ts';
import { requestsFound } from '../../mobile-money/payment-requests/view.ts';
import { Payment, type PaymentExpansion, paymentList } from '../../payments/schema.ts';
import { listPayments } from '../../payments/store.ts';
import { showPayments } from '../../payments/view.ts';
import { type Permission, requireAll } from '../../rights.ts';
import { type FileOfList, openListFile } from './open-list-file.ts';

/** The lists that are also files. A file has the rows of its list, with the same filters and the same order. */
export function listFileRoutes(api: Api, context: Context, streams: RowStreams): void {
  const { currency } = context;

  addFile('/customers.csv', 'customers:read', customerList, {
    name: 'customers',
    item: Customer,
    read(db, _actor, plan) {
      const { search = '' } = plan;
      return listCustomers(db, plan, searchWords(search), readPhone(search, context.config.PHONE_REGION));
    },
  });

  addFile('/accounts.csv', 'accounts:read', accountList, {
    name: 'accounts',
    item: Account,
    expandedBy: ({ expand }) => choicesOf(expand),
    async read(db, actor, plan) {
      const day = today(context);
      const page = await listAccounts(db, plan, day, searchOf(context, actor, plan));
      const accounts = page.rows.map((row) => toAccount(row, currency, day));
      return { ...page, rows: await expandAccounts(db, actor, accounts, plan.expand) };
    },
  });

  addFile('/payments.csv', 'payments:read', paymentList, {
    name: 'payments',
    item: Payment,
    expandedBy: ({ expand }) => choicesOf(expand),
    async read(db, actor, plan) {
      const page = await listPayments(db, plan);
      const expand = [plan.expand, 'people'].filter(Boolean).join(',') as ChoiceText<PaymentExpansion>;
      return { ...page, rows: await showPayments({ db, currency }, actor, page.rows, expand) };
    },
  });

  addFile('/call-list.csv', 'calls:read', callListList, {
    name: 'accounts-to-call',
    item: CallListEntry,
    async read(db, actor, plan) {
      const day = today(context);
      const page = await listEntries(db, plan, day);
      return { ...page, rows: await toEntries(db, actor, page.rows, { currency, day }) };
    },
  });

  addFile('/invoices.csv', 'invoices:read', invoiceList, {
    name: 'invoices',
    item: InvoiceSummary,
    expandedBy: ({ expand }) => choicesOf(expand),
    async read(db, actor, plan) {
      const page = await listInvoices(db, plan);
      const invoices = page.rows.map((row) => toInvoiceSummary(row, currency));
      return { ...page, rows: await expandAccountsOf(db, actor, invoices, plan.expand) };
    },
  });

  addFile('/credit-moves.csv', 'accounts:read', creditMoveList, {
    name: 'credit-moves',
    item: CreditMove,
    async read(db, _actor, plan) {
      const { data, pagination } = creditMovesFound(await listCreditMoves(db, plan), currency);
      return { rows: data, pagination };
    },
  });

  addFile('/payment-requests.csv', 'payment-requests:read', requestList, {
    name: 'payment-requests',
    item: PaymentRequest,
    async read(db, _actor, plan) {
      const { data, pagination } = requestsFound(await listRequests(db, plan), currency);
      return { rows: data, pagination };
    },
  });

  addFile('/commissions/payments.csv', 'commissions:read', commissionList, {
    name: 'commissions',
    item: CommissionSummary,
    async read(db, _actor, plan) {
      const page = await listCommissions(db, plan, 'all');
      return { ...page, rows: page.rows.map((row) => toCommissionSummary(row, currency)) };
    },
  });

  function addFile<Plan extends ListPlan>(
    path: string,
    permission: Permission,
    list: { queryOfAll: ReturnType<typeof Type.Unsafe<Plan>> },
    file: FileOfList<Plan>,
  ): void {
    api.get(
      path,
      {
        config: { access: 'lists:export', answerTimeoutMs: context.config.limits.exportMs },
        schema: {
          tags: ['Files of lists'],
          operationId: `get${nameOfOperation(file.name)}File`,
          summary: `Get filtered ${file.name.replaceAll('-', ' ')} as CSV`,
          description: `${AS_THE_LIST} The caller also needs \`${permission}\`.`,
          querystring: list.queryOfAll,
          response: { 200: { description: 'The file.', content: { 'text/csv': { schema: ListFile } } } },
        },
      },
      async (request, reply) => {
        const actor = actorOf(request);
        requireAll(actor, [permission]);
        const asked = Object.fromEntries(new URL(request.url, 'http://localhost').searchParams);
        return sendFileStream(request, reply, {
          name: `${file.name}_${today(context)}.csv`,
          type: 'text/csv; charset=utf-8',
          open: async () => ({
            takenAtMs: performance.now(),
            value: await openListFile(
              context,
              streams,
              { caller: callerOf(request), actor },
              file,
              request.query as Plan,
              asked,
            ),
          }),
        });
      },
    );
  }
}

const AS_THE_LIST =
  'The rows of the list with the same filters and the same order, without pages, from one snapshot of the database. The columns are the fields of ' +
  'a row that have one value; a field of an object is named `customer.name`. The audit log records the query and the number of rows. The file is ' +
  'streamed in UTF-8 with a byte order mark. If the stream fails, the connection is reset. A text that a spreadsheet would run as a formula, or ' +
  'whose digits it would change, gets a leading apostrophe.';

/** Sent as a stream, without a serializer. */
const ListFile = Type.Unsafe<Readable>({
  type: 'string',
  examples: ['id,paymentDate,amount\r\n1,"2026-11-02",400\r\n'],
});

/** credit-moves → CreditMoves */
function nameOfOperation(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_, first: string) => first.toUpperCase());
}
