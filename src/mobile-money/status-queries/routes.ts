import { Type } from 'typebox';
import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { Id, IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { answerRoute } from '../providers/inbound.ts';
import { STATUS_PROVIDER } from '../providers/registry.ts';
import { askAboutNotification, askAboutPayment, receiveStatusAnswer } from './commands.ts';
import { NewStatusQuery, StatusQuery, statusQueryList } from './schema.ts';
import { findListedQuery, listQueries } from './store.ts';
import { toStatusQuery } from './view.ts';

const ASKED = 'The provider is asked.';
const DESCRIPTION =
  'The provider usually answers within seconds. To get the answer, read the status query again, or follow the events `status_query.*`. After ten ' +
  'minutes without an answer the query is `unanswered`, but a late answer is still stored. Answers are compared with the books, but change ' +
  'nothing there. A transaction has at most one open query (DUPLICATE_ENTRY). The request gets 409 if this service has status queries turned off ' +
  '(`statusQueries` in `GET /settings`), or if the payment or notification has no transaction of a provider that answers status queries.';

export function statusQueryRoutes(api: Api, context: Context): void {
  const { db } = context;

  async function getQuery(id: number, from: Context) {
    const row = await findListedQuery(from.db, id);
    if (!row) throw notFound('status_query', id);
    return toStatusQuery(row, context);
  }

  api.post(
    '/payments/:id/status-queries',
    {
      config: { access: 'payments:assign', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'askAboutPayment',
        summary: 'Ask the provider about a payment',
        description: DESCRIPTION,
        params: Type.Object({ id: { ...Id, examples: [3] } }),
        response: { 202: Envelope(StatusQuery, ASKED) },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const id = await askAboutPayment(txContext, actorOf(request), request.params.id);
        reply.status(202);
        return ok(await getQuery(id, txContext), ASKED);
      }),
  );

  api.post(
    '/notifications/:id/status-queries',
    {
      config: { access: 'payments:assign', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'askAboutNotification',
        summary: 'Ask the provider about a notification',
        description: DESCRIPTION,
        params: IdParams,
        body: NewStatusQuery,
        response: { 202: Envelope(StatusQuery, ASKED) },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const id = await askAboutNotification(txContext, actorOf(request), request.params.id, request.body);
        reply.status(202);
        return ok(await getQuery(id, txContext), ASKED);
      }),
  );

  api.get(
    '/status-queries',
    {
      config: { access: 'payers:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'listStatusQueries',
        summary: 'List status queries and their answers',
        querystring: statusQueryList.query,
        response: { 200: ListEnvelope(StatusQuery, 'Status queries found.') },
      },
    },
    async (request) => {
      const page = await listQueries(db, request.query);
      return okList(
        { ...page, rows: page.rows.map((row) => toStatusQuery(row, context)) },
        'Status queries found.',
      );
    },
  );

  api.get(
    '/status-queries/:id',
    {
      config: { access: 'payers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payments'],
        operationId: 'getStatusQuery',
        summary: 'Get a status query and its answer',
        params: IdParams,
        response: { 200: Envelope(StatusQuery, 'Status query found.') },
      },
    },
    async (request) => ok(await getQuery(request.params.id, context), 'Status query found.'),
  );

  answerRoute(api, context, STATUS_PROVIDER, {
    call: 'status',
    receiver: STATUS_PROVIDER.statusAnswers,
    unreadable: {
      failure: 'the answer about a transaction is unreadable',
      message: 'must be the answer about a transaction, with Result.ResultCode',
    },
    handle: (_request, key, body, answer) => receiveStatusAnswer(context, key, body, answer),
  });
}
