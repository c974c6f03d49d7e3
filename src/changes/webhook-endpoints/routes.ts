import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, Nothing, ok, okList } from '../../core/http/envelope.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import type { HorizonReader } from '../events/feed-horizon.ts';
import { findEventsById } from '../events/store.ts';
import { toEvent } from '../events/view.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  resendEvents,
  rotateSecret,
  testEndpoint,
} from './commands.ts';
import {
  DeliveryParams,
  Resend,
  ResendResult,
  TestResult,
  WebhookDelivery,
  WebhookDeliveryWithBody,
  webhookDeliveryList,
} from './delivery-schema.ts';
import { getDelivery, listDeliveries } from './delivery-store.ts';
import {
  IssuedWebhookEndpoint,
  NewWebhookEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChanges,
  webhookEndpointList,
} from './schema.ts';
import { getEndpoint, listEndpoints, lockEndpoint } from './store.ts';
import { toDelivery } from './view.ts';

const access = 'webhook-endpoints:administer';
const tags = ['Webhook endpoints'];

export function webhookEndpointRoutes(api: Api, context: Context, horizon: HorizonReader): void {
  api.get(
    '/webhook-endpoints',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'listWebhookEndpoints',
        summary: 'List webhook endpoints',
        querystring: webhookEndpointList.query,
        response: { 200: ListEnvelope(WebhookEndpoint, 'Webhook endpoints found.') },
      },
    },
    async (request) => okList(await listEndpoints(context.db, request.query), 'Webhook endpoints found.'),
  );

  // No Idempotency-Key, because its stored answer would contain the secret.
  api.post(
    '/webhook-endpoints',
    {
      config: { access, repeatable: false },
      schema: {
        tags,
        operationId: 'createWebhookEndpoint',
        summary: 'Add a webhook endpoint',
        description:
          'New events are sent to the URL by POST, signed as https://www.standardwebhooks.com specifies. This call returns the secret, which is not shown again.',
        body: NewWebhookEndpoint,
        response: { 201: Envelope(IssuedWebhookEndpoint, 'Webhook endpoint created.') },
      },
    },
    async (request, reply) => {
      const endpoint = await createEndpoint(context, horizon, actorOf(request), request.body);
      reply.status(201);
      return ok(endpoint, 'Webhook endpoint created.');
    },
  );

  api.get(
    '/webhook-endpoints/:id',
    {
      config: { access, errors: ['NOT_FOUND'], editable: WebhookEndpointChanges },
      schema: {
        tags,
        operationId: 'getWebhookEndpoint',
        summary: 'Get a webhook endpoint',
        params: IdParams,
        response: { 200: Envelope(WebhookEndpoint, 'Webhook endpoint found.') },
      },
    },
    async (request) => ok(await getEndpoint(context.db, request.params.id), 'Webhook endpoint found.'),
  );

  api.put(
    '/webhook-endpoints/:id',
    {
      config: { access, errors: ['NOT_FOUND'], editable: WebhookEndpointChanges },
      schema: {
        tags,
        operationId: 'updateWebhookEndpoint',
        summary: 'Change, enable or disable a webhook endpoint',
        params: IdParams,
        body: WebhookEndpointChanges,
        response: { 200: Envelope(WebhookEndpoint, 'Webhook endpoint changed.') },
      },
    },
    async (request) =>
      ok(
        await ifUnchanged(context, request, lockEndpoint, (txContext) =>
          changeEndpoint(txContext, actorOf(request), request.params.id, request.body),
        ),
        'Webhook endpoint changed.',
      ),
  );

  api.delete(
    '/webhook-endpoints/:id',
    {
      config: { access, errors: ['NOT_FOUND'], editable: WebhookEndpointChanges },
      schema: {
        tags,
        operationId: 'deleteWebhookEndpoint',
        summary: 'Delete a webhook endpoint',
        description:
          'The stored deliveries are deleted, too. To stop an endpoint but keep its deliveries, set `active` to false.',
        params: IdParams,
        response: { 200: Envelope(Nothing, 'Webhook endpoint deleted.') },
      },
    },
    async (request) => {
      await ifUnchanged(context, request, lockEndpoint, (txContext) =>
        deleteEndpoint(txContext, actorOf(request), request.params.id),
      );
      return ok({}, 'Webhook endpoint deleted.');
    },
  );

  api.post(
    '/webhook-endpoints/:id/rotate-secret',
    {
      config: { access, errors: ['NOT_FOUND'], repeatable: false },
      schema: {
        tags,
        operationId: 'rotateWebhookSecret',
        summary: 'Replace the secret of a webhook endpoint',
        description:
          'For `overlapSeconds`, each message has two signatures: one by the new secret and one by the previous secret. The receiver can verify either signature. Older secrets are no longer used.',
        params: IdParams,
        body: SecretRotation,
        response: { 200: Envelope(IssuedWebhookEndpoint, 'Webhook secret rotated.') },
      },
    },
    async (request) =>
      ok(
        await rotateSecret(context, actorOf(request), request.params.id, request.body),
        'Webhook secret rotated.',
      ),
  );

  // No Idempotency-Key, because its transaction would stay open until the receiver answers.
  api.post(
    '/webhook-endpoints/:id/test',
    {
      config: {
        access,
        rate: 'bulk',
        errors: ['NOT_FOUND'],
        answerTimeoutMs: context.config.limits.deliveryMs + 5_000,
        repeatable: false,
      },
      schema: {
        tags,
        operationId: 'testWebhookEndpoint',
        summary: 'Send a test to a webhook endpoint',
        description:
          'Sends a message of the type `test` once, also to a disabled endpoint, and returns the outcome.',
        params: IdParams,
        response: { 200: Envelope(TestResult, 'Test sent.') },
      },
    },
    async (request) => ok(toDelivery(await testEndpoint(context, request.params.id)), 'Test sent.'),
  );

  api.post(
    '/webhook-endpoints/:id/resend',
    {
      config: { access, rate: 'bulk', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'resendWebhookEvents',
        summary: 'Deliver events again',
        description:
          'Only events of the types of the endpoint are delivered. If an event still waits for its first delivery to this endpoint, this call does not send it earlier.',
        params: IdParams,
        body: Resend,
        response: { 200: Envelope(ResendResult, 'Events will be delivered again.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(
          await resendEvents(txContext, actorOf(request), request.params.id, request.body),
          'Events will be delivered again.',
        ),
      ),
  );

  api.get(
    '/webhook-endpoints/:id/deliveries',
    {
      config: { access, errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'listWebhookDeliveries',
        summary: 'List attempts to deliver events',
        description: 'Attempts are kept for 30 days.',
        params: IdParams,
        querystring: webhookDeliveryList.query,
        response: { 200: ListEnvelope(WebhookDelivery, 'Deliveries found.') },
      },
    },
    async (request) => {
      await getEndpoint(context.db, request.params.id);
      const page = await listDeliveries(context.db, request.params.id, request.query);
      return okList({ ...page, rows: page.rows.map(toDelivery) }, 'Deliveries found.');
    },
  );

  api.get(
    '/webhook-endpoints/:id/deliveries/:deliveryId',
    {
      config: { access, errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'getWebhookDelivery',
        summary: 'Get a delivery with its request body',
        params: DeliveryParams,
        response: { 200: Envelope(WebhookDeliveryWithBody, 'Delivery found.') },
      },
    },
    async (request) => {
      const { id, deliveryId } = request.params;
      await getEndpoint(context.db, id);
      const delivery = toDelivery(await getDelivery(context.db, id, deliveryId));
      const ids = delivery.eventId === null ? [] : [delivery.eventId];
      const [row] = await findEventsById(context.db, ids);
      const requestBody = row ? JSON.stringify(toEvent(row, context.currency)) : null;
      return ok({ ...delivery, requestBody }, 'Delivery found.');
    },
  );
}
