import { getAccountRow } from '../../accounts/store.ts';
import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { findCustomer } from '../../customers/store.ts';
import { Timeline, TimelineQuery } from './schema.ts';
import { readTimeline } from './view.ts';

const WHAT =
  'Newest first, by the time of recording; `valueDate` is the day on which an entry counts. A role sees only the kinds that it may read, ' +
  'which are in `kinds`. Old and new values of fields are shown only to users who may change them. A payment is an entry of the account ' +
  'on which it is now. Entries of a portfolio import have the time of the import.';

export function timelineRoutes(api: Api, context: Context): void {
  api.get(
    '/customers/:id/timeline',
    {
      config: { access: 'customers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Customers'],
        operationId: 'getCustomerTimeline',
        summary: 'Get what happened with a customer',
        description: `What happened with the customer and with all accounts of the customer. ${WHAT}`,
        params: IdParams,
        querystring: TimelineQuery,
        response: { 200: Envelope(Timeline, 'Timeline found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findCustomer(context.db, id))) throw notFound('customer', id);
      const scope = { customerId: id, accountIds: null };
      return ok(await readTimeline(context, actorOf(request), scope, request.query), 'Timeline found.');
    },
  );

  api.get(
    '/accounts/:id/timeline',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountTimeline',
        summary: 'Get what happened with an account',
        description: `What happened with the account and with its customer, without the customer’s other accounts. ${WHAT}`,
        params: IdParams,
        querystring: TimelineQuery,
        response: { 200: Envelope(Timeline, 'Timeline found.') },
      },
    },
    async (request) => {
      const account = await getAccountRow(context.db, request.params.id);
      const scope = { customerId: account.customer_id, accountIds: [account.id] };
      return ok(await readTimeline(context, actorOf(request), scope, request.query), 'Timeline found.');
    },
  );
}
