import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { changeRoute, getRoute, listAndCreateRoutes } from '../../core/http/crud.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { externalIdRoutes } from '../../core/http/external-id-routes.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { changeProduct, createConfiguration, createProduct, upsertProduct } from './commands.ts';
import {
  Configuration,
  configurationList,
  NewConfiguration,
  NewProduct,
  Product,
  ProductChanges,
  ProductUpsert,
  productList,
} from './schema.ts';
import { findProduct, listConfigurations, listProducts, lockProduct } from './store.ts';
import { toConfiguration, toProduct } from './view.ts';

export function productRoutes(api: Api, context: Context): void {
  const { db, currency } = context;
  const tags = ['Products'];
  const described = { path: '/products', noun: 'product', answer: Product };

  async function lock(tx: Tx, id: number) {
    const row = await lockProduct(tx, id);
    return row && toProduct(row, currency);
  }

  listAndCreateRoutes(api, context, {
    ...described,
    read: { access: 'catalogue:read', query: productList.query },
    async list(query) {
      const page = await listProducts(db, query);
      return { ...page, rows: page.rows.map((row) => toProduct(row, currency)) };
    },
    creation: { access: 'catalogue:write', body: NewProduct },
    create: async (txContext, actor, body) =>
      toProduct(await createProduct(txContext, actor, body), currency),
  });

  const read = getRoute(api, {
    ...described,
    resource: 'product',
    access: 'catalogue:read',
    editable: ProductChanges,
    async find(id) {
      const row = await findProduct(db, id);
      return row && toProduct(row, currency);
    },
  });

  changeRoute(api, context, {
    ...described,
    access: 'catalogue:write',
    body: ProductChanges,
    lock,
    change: async (txContext, actor, id, body) =>
      toProduct(await changeProduct(txContext, actor, id, body), currency),
  });

  api.get(
    '/products/:id/configurations',
    {
      config: { access: 'catalogue:read', errors: ['NOT_FOUND'] },
      schema: {
        tags,
        operationId: 'listProductConfigurations',
        summary: 'List the configurations of a product',
        params: IdParams,
        querystring: configurationList.query,
        response: { 200: ListEnvelope(Configuration, 'Configurations found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      if (!(await findProduct(db, id))) throw notFound('product', id);
      const page = await listConfigurations(db, request.query, id);
      const rows = page.rows.map((row) => toConfiguration(row, currency));
      return okList({ ...page, rows }, 'Configurations found.');
    },
  );

  api.post(
    '/products/:id/configurations',
    {
      config: { access: 'catalogue:write', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'createProductConfiguration',
        summary: 'Add a configuration to a product',
        description: 'A new default configuration replaces the current default.',
        params: IdParams,
        body: NewConfiguration,
        response: { 201: Envelope(Configuration, 'Configuration created.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const configuration = await createConfiguration(
          txContext,
          actorOf(request),
          request.params.id,
          request.body,
        );
        reply.status(201);
        return ok(toConfiguration(configuration, currency), 'Configuration created.');
      }),
  );

  externalIdRoutes(api, context, 'product', {
    answer: Product,
    example: 'ERP-880',
    access: 'catalogue:read',
    editable: ProductChanges,
    read,
    upsert: {
      access: 'catalogue:write',
      body: ProductUpsert,
      lock,
      run: async (txContext, actor, externalId, body) => {
        const { result, isNew } = await upsertProduct(txContext, actor, externalId, body);
        return { result: toProduct(result, currency), isNew };
      },
    },
  });
}
