import { expandAccountsOf } from '../../accounts/expand-view.ts';
import { type Context, today } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { ListEnvelope, okList } from '../../core/http/envelope.ts';
import { JUDGED_AGAIN_DAYS } from './rules.ts';
import { CustomerPromise, promiseList } from './schema.ts';
import { listPromises } from './store.ts';
import { toPromise } from './view.ts';

export function promiseRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.get(
    '/promises',
    {
      config: { access: 'calls:read' },
      schema: {
        tags: ['Collections'],
        operationId: 'listPromises',
        summary: 'List promises of customers',
        description:
          'The state is derived from the money of the account, as known now. `filter[lastJudgement]` uses the state that the last event published. It can be an hour old, and is not published again more than ' +
          `${JUDGED_AGAIN_DAYS} days after the date of the promise.`,
        querystring: promiseList.query,
        response: { 200: ListEnvelope(CustomerPromise, 'Promises found.') },
      },
    },
    async (request) => {
      const page = await listPromises(db, request.query, today(context));
      const promises = page.rows.map((row) => toPromise(row, currency));
      const rows = await expandAccountsOf(db, actorOf(request), promises, request.query.expand);
      return okList({ ...page, rows }, 'Promises found.');
    },
  );
}
