import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { resolveConflict } from './resolve-conflict.ts';
import { ConflictParams, Notification, notificationList, Resolution } from './schema.ts';
import { findNotification, listNotifications } from './store.ts';
import { toNotification } from './view.ts';

export function notificationRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.get(
    '/notifications',
    {
      config: { access: 'payers:read' },
      schema: {
        tags: ['Payments'],
        operationId: 'listNotifications',
        summary: 'List notifications and their outcomes',
        description:
          'Imported lines of a provider statement are notifications too. These filters select the notifications that need work. ' +
          '`filter[outcome]=conflict`: the notification contradicts a manual payment, and credits nothing until staff resolve the conflict. ' +
          'There are three reasons: (1) the amounts differ; (2) two manual payments have the reference; (3) the notification names another ' +
          'account or customer, and the user or API key that recorded the payment has no permission to assign payments. ' +
          '`filter[flags][contains]=payment_reversed`: a conflict from an old version of the service. The manual payment of this ' +
          'conflict had already been reversed when the service was upgraded. `filter[outcome]=differs`: the same transaction was ' +
          'reported again with different values. ' +
          '`filter[flags][contains]=repeated_after_reversal`: a notification was repeated after its payment was reversed. ' +
          '`filter[flags][contains]=without_balance`: the provider usually sends a balance, but not with this notification, so the ' +
          'money may not have moved. Check whether its two addresses are swapped. ' +
          '`filter[status]=rejected`: the notification could not be read, or was refused. `filter[status]=pending`: posting failed, and the ' +
          'service will retry the notification.',
        querystring: notificationList.query,
        response: { 200: ListEnvelope(Notification, 'Notifications found.') },
      },
    },
    async (request) => {
      const page = await listNotifications(db, request.query);
      const rows = page.rows.map((row) => toNotification(row, currency));
      return okList({ ...page, rows }, 'Notifications found.');
    },
  );

  api.get(
    '/notifications/:id',
    {
      config: { access: 'payers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Payments'],
        operationId: 'getNotification',
        summary: 'Get a notification with its whole body',
        description:
          'The list shortens long bodies. This answer has the whole body as the provider posted it. For a statement line or a pulled ' +
          'payment, the body is a JSON object with all fields of the line or payment.',
        params: IdParams,
        response: { 200: Envelope(Notification, 'Notification found.') },
      },
    },
    async (request) => {
      const row = await findNotification(db, request.params.id);
      if (!row) throw notFound('notification', request.params.id);
      return ok(toNotification(row, currency), 'Notification found.');
    },
  );

  api.post(
    '/notifications/:id/resolve',
    {
      config: { access: 'payments:reverse', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags: ['Payments'],
        operationId: 'resolveNotification',
        summary: 'Resolve a notification in conflict',
        description:
          'Choose one of the manual payments that have the reference and the amount of the notification. The notification is linked to ' +
          'this payment, and the payment stays on its account. Or choose none (`paymentId: null`): a new payment is created from the ' +
          'notification. All manual payments with this reference that you did not choose are reversed in the same database transaction. ' +
          'A conflict with the flag `similar_reference` is with a manual payment whose reference differs only in O and 0, or in I and 1, or contains the transaction id. ' +
          'If both are real payments, send `bothAreReal: true`, and the manual payment stays.',
        params: ConflictParams,
        body: Resolution,
        response: { 200: Envelope(Notification, 'Conflict resolved.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const resolved = await resolveConflict(txContext, actorOf(request), request.params.id, request.body);
        return ok(toNotification(resolved, currency), 'Conflict resolved.');
      }),
  );
}
