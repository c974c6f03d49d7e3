import { expandAccountsOf } from '../../accounts/expand-view.ts';
import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, Nothing, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { closeDispute, hideNote, leasePhones, leavePhones, markMistake, recordCall } from './commands.ts';
import {
  Call,
  ClosedDispute,
  callList,
  HiddenNote,
  Lease,
  NewCall,
  NewLease,
  RecordedCall,
} from './schema.ts';
import { findCall, listCalls } from './store.ts';
import { toCall, toLease } from './view.ts';

export function callRoutes(api: Api, context: Context): void {
  const { db } = context;

  api.get(
    '/calls',
    {
      config: { access: 'calls:read' },
      schema: {
        tags: ['Collections'],
        operationId: 'listCalls',
        summary: 'List calls and visits',
        querystring: callList.query,
        response: { 200: ListEnvelope(Call, 'Calls found.') },
      },
    },
    async (request) => {
      const page = await listCalls(db, request.query);
      const rows = await expandAccountsOf(db, actorOf(request), page.rows.map(toCall), request.query.expand);
      return okList({ ...page, rows }, 'Calls found.');
    },
  );

  api.post(
    '/calls',
    {
      config: { access: 'calls:record', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Collections'],
        operationId: 'recordCall',
        summary: 'Record a call or a visit',
        description:
          'A call never changes. 409 if another user is calling one of the phones of the customer now; the message has the name. Frees the phones of the customer that the user has leased. A promise replaces the open promise of the account.',
        body: NewCall,
        response: { 201: Envelope(RecordedCall, 'Call recorded.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const { call, warnings } = await recordCall(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok({ ...toCall(call), warnings }, 'Call recorded.');
      }),
  );

  api.get(
    '/calls/:id',
    {
      config: { access: 'calls:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Collections'],
        operationId: 'getCall',
        summary: 'Get a call or a visit',
        params: IdParams,
        response: { 200: Envelope(Call, 'Call found.') },
      },
    },
    async (request) => {
      const call = await findCall(db, request.params.id);
      if (!call) throw notFound('call', request.params.id);
      return ok(toCall(call), 'Call found.');
    },
  );

  api.post(
    '/calls/:id/mark-mistake',
    {
      config: { access: 'calls:record', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Collections'],
        operationId: 'markCallAsMistake',
        summary: 'Mark a call as a mistake',
        description:
          'Only the user who saved the call can do this, and only on the same day. The call stays visible, and is not counted. A promise of the call becomes void.',
        params: IdParams,
        response: { 200: Envelope(Call, 'Call marked as a mistake.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const call = await markMistake(txContext, actorOf(request), request.params.id);
        return ok(toCall(call), 'Call marked as a mistake.');
      }),
  );

  api.post(
    '/calls/:id/close-dispute',
    {
      config: { access: 'calls:manage', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Collections'],
        operationId: 'closeDispute',
        summary: 'Close a dispute',
        description: 'The account of the call is then in the call list again.',
        params: IdParams,
        body: ClosedDispute,
        response: { 200: Envelope(Call, 'Dispute closed.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const call = await closeDispute(txContext, actorOf(request), request.params.id, request.body.reason);
        return ok(toCall(call), 'Dispute closed.');
      }),
  );

  api.post(
    '/calls/:id/hide-note',
    {
      config: { access: 'calls:manage', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Collections'],
        operationId: 'hideCallNote',
        summary: 'Hide the note of a call',
        description:
          'For a note that contains what must not be there. The call stays, with the reason. Its note is then shown to nobody, and this cannot be undone.',
        params: IdParams,
        body: HiddenNote,
        response: { 200: Envelope(Call, 'Note hidden.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const call = await hideNote(txContext, actorOf(request), request.params.id, request.body.reason);
        return ok(toCall(call), 'Note hidden.');
      }),
  );

  api.put(
    '/call-list/:id/lease',
    {
      config: { access: 'calls:record', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Collections'],
        operationId: 'leasePhones',
        summary: 'Reserve the phones of a customer',
        description:
          'The id is that of the account. Each call renews the reservation, and ends every other reservation of the user. 409 if another user has reserved one of the phones; the message has the name.',
        params: IdParams,
        body: NewLease,
        response: { 200: Envelope(Lease, 'Phones reserved.') },
      },
    },
    async (request) => {
      const actor = actorOf(request);
      const lease = await leasePhones(context, actor, request.params.id, request.body.takeOver ?? false);
      return ok(toLease(lease, actor), 'Phones reserved.');
    },
  );

  api.delete(
    '/call-list/:id/lease',
    {
      config: { access: 'calls:record', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Collections'],
        operationId: 'leavePhones',
        summary: 'End your reservation of phones',
        description: 'The id is that of the account. The reservation of phones of another customer stays.',
        params: IdParams,
        response: { 200: Envelope(Nothing, 'Reservation ended.') },
      },
    },
    async (request) => {
      await leavePhones(context, actorOf(request), request.params.id);
      return ok({}, 'Reservation ended.');
    },
  );
}
