import type { Context } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { changeApiKey, createApiKey, revokeApiKey, rotateApiKey } from './commands.ts';
import { ApiKey, ApiKeyChanges, ApiKeyRotation, apiKeyList, IssuedApiKey, NewApiKey } from './schema.ts';
import { getApiKey, listApiKeys, lockApiKey } from './store.ts';

export function apiKeyRoutes(api: Api, context: Context): void {
  const tags = ['API keys'];

  api.get(
    '/api-keys',
    {
      config: { access: 'api-keys:administer' },
      schema: {
        tags,
        operationId: 'listApiKeys',
        summary: 'List API keys',
        querystring: apiKeyList.query,
        response: { 200: ListEnvelope(ApiKey, 'API keys found.') },
      },
    },
    async (request) => okList(await listApiKeys(context.db, request.query), 'API keys found.'),
  );

  // Creations and rotations take no Idempotency-Key, because the stored answer would contain the secret.
  api.post(
    '/api-keys',
    {
      config: { access: 'api-keys:administer', repeatable: false },
      schema: {
        tags,
        operationId: 'createApiKey',
        summary: 'Create an API key for another system',
        description:
          'Give either a `role` or `permissions`. Keys never administer users, API keys or webhook endpoints, and never decide approvals or run imports. They cannot call endpoints that act on the signed-in person, ' +
          'such as `/api/auth/me`. The answer shows the `key` once.',
        body: NewApiKey,
        response: { 201: Envelope(IssuedApiKey, 'API key created.') },
      },
    },
    async (request, reply) => {
      const issued = await createApiKey(context, actorOf(request), request.body);
      return reply.status(201).send(ok(issued, 'API key created.'));
    },
  );

  api.get(
    '/api-keys/:id',
    {
      config: { access: 'api-keys:administer', errors: ['NOT_FOUND'], editable: ApiKeyChanges },
      schema: {
        tags,
        operationId: 'getApiKey',
        summary: 'Get an API key',
        params: IdParams,
        response: { 200: Envelope(ApiKey, 'API key found.') },
      },
    },
    async (request) => ok(await getApiKey(context.db, request.params.id), 'API key found.'),
  );

  api.put(
    '/api-keys/:id',
    {
      config: { access: 'api-keys:administer', errors: ['NOT_FOUND'], editable: ApiKeyChanges },
      schema: {
        tags,
        operationId: 'updateApiKey',
        summary: 'Change an API key',
        description:
          'Takes effect within 5 seconds. The role or the permissions of a key cannot be changed: create another key instead.',
        params: IdParams,
        body: ApiKeyChanges,
        response: { 200: Envelope(ApiKey, 'API key changed.') },
      },
    },
    async (request) => {
      const changed = await ifUnchanged(context, request, lockApiKey, (txContext) =>
        changeApiKey(txContext, actorOf(request), request.params.id, request.body),
      );
      return ok(changed, 'API key changed.');
    },
  );

  api.post(
    '/api-keys/:id/rotate',
    {
      config: { access: 'api-keys:administer', errors: ['NOT_FOUND'], repeatable: false },
      schema: {
        tags,
        operationId: 'rotateApiKey',
        summary: 'Replace the secret of an API key',
        description:
          'The new secret works immediately. The previous secret still works for `overlapSeconds`. Without an overlap, it stops within 5 seconds. ' +
          'All older secrets stop within 5 seconds, even if the overlap of an earlier rotation has not ended. ' +
          'The answer shows the new `key` once.',
        params: IdParams,
        body: ApiKeyRotation,
        response: { 200: Envelope(IssuedApiKey, 'API key rotated.') },
      },
    },
    async (request) => {
      const issued = await rotateApiKey(context, actorOf(request), request.params.id, request.body);
      return ok(issued, 'API key rotated.');
    },
  );

  api.post(
    '/api-keys/:id/revoke',
    {
      config: { access: 'api-keys:administer', errors: ['NOT_FOUND'], repeatable: true },
      schema: {
        tags,
        operationId: 'revokeApiKey',
        summary: 'Revoke an API key',
        description: 'Takes effect within 5 seconds and cannot be undone.',
        params: IdParams,
        response: { 200: Envelope(ApiKey, 'API key revoked.') },
      },
    },
    (request, reply) =>
      answerOnce(context, request, reply, async (txContext) =>
        ok(await revokeApiKey(txContext, actorOf(request), request.params.id), 'API key revoked.'),
      ),
  );
}
