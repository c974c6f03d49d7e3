import type { Context } from '../../core/context.ts';
import type { SnapshotReads } from '../../core/database/snapshot-reads.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { setSnapshotAge } from '../../core/http/snapshot-age.ts';
import type { Stopwatch } from '../../core/values/dates.ts';
import { AccountOverview, AccountOverviewQuery } from './account-schema.ts';
import { readAccountOverview } from './account-view.ts';
import { TodayMoney, TodayWork } from './today-schema.ts';
import { createMoneyReader, readWork } from './today-view.ts';

interface OverviewParts {
  summaries: SnapshotReads;
  stopwatch: Stopwatch;
}

export function overviewRoutes(api: Api, context: Context, { summaries, stopwatch }: OverviewParts): void {
  const { limits } = context.config;
  const readMoney = createMoneyReader(summaries, context, stopwatch);

  api.get(
    '/accounts/:id/overview',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountOverview',
        summary: 'Get an account and its latest rows',
        description:
          'What a person at the phone needs, in one answer: the account with its customer and product, its schedule, what it owes today, ' +
          'and the latest rows of its lists. `quote` is in the language of the customer, and `sentence` in `lang`. A part that needs a permission that the caller does not have is null or missing.',
        params: IdParams,
        querystring: AccountOverviewQuery,
        response: { 200: Envelope(AccountOverview, 'Account found.') },
      },
    },
    async (request) => {
      const { params, query } = request;
      return ok(await readAccountOverview(context, actorOf(request), params.id, query), 'Account found.');
    },
  );

  api.get(
    '/reports/today',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Reports'],
        operationId: 'getTodayWork',
        summary: 'Show the work of today',
        description:
          'What waits for staff, and the accounts that have been late for the longest time, in one quick answer. A part that needs a ' +
          'permission that the caller does not have is null. `GET /reports/today/money` has the money.',
        response: { 200: Envelope(TodayWork, 'Work found.') },
      },
    },
    async (request) => ok(await readWork(context, actorOf(request)), 'Work found.'),
  );

  api.get(
    '/reports/today/money',
    {
      config: { access: 'reports:read', answerTimeoutMs: limits.summaryMs, snapshot: true },
      schema: {
        tags: ['Reports'],
        operationId: 'getTodayMoney',
        summary: 'Show the money of today and this week',
        description:
          'The money received today and since Monday, each compared with the same days of the week before, and the outstanding sum. ' +
          'What was received is `received` less `reversed` of `GET /reports/payments`. The other figures are those of ' +
          '`GET /reports/accounts/summary`. All are from one snapshot. An ' +
          'instance sums up the money once a minute at most: until then, every caller gets the same answer. Its age is in `Snapshot-Age`.',
        response: { 200: Envelope(TodayMoney, 'Money summed up.') },
      },
    },
    async (_request, reply) => {
      const { value, takenAtMs } = await readMoney();
      setSnapshotAge(reply, takenAtMs);
      return ok(value, 'Money summed up.');
    },
  );
}
