import type { Context } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../../core/http/envelope.ts';
import { notFound } from '../../core/http/errors.ts';
import { ifUnchanged } from '../../core/http/etags.ts';
import { externalIdRoutes } from '../../core/http/external-id-routes.ts';
import { IdParams } from '../../core/http/fields.ts';
import { repeatable } from '../../core/http/idempotency.ts';
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

  async function read(id: number) {
    const product = await findProduct(db, id);
    if (!product) throw notFound('product', id);
    return ok(toProduct(product, currency), 'Product found.');
  }

  async function lock(tx: Tx, id: number) {
    const row = await lockProduct(tx, id);
    return row && toProduct(row, currency);
  }

  api.get(
    '/products',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags,
        operationId: 'listProducts',
        summary: 'List products',
        querystring: productList.query,
        response: { 200: ListEnvelope(Product, 'Products found.') },
      },
    },
    async (request) => {
      const page = await listProducts(db, request.query);
      return okList({ ...page, rows: page.rows.map((row) => toProduct(row, currency)) }, 'Products found.');
    },
  );

  api.post(
    '/products',
    {
      config: { access: 'catalogue:write', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags,
        operationId: 'createProduct',
        summary: 'Add a product',
        body: NewProduct,
        response: { 201: Envelope(Product, 'Product created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (txContext) => {
        const product = await createProduct(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(toProduct(product, currency), 'Product created.');
      }),
  );

  api.get(
    '/products/:id',
    {
      config: { access: 'catalogue:read', errors: ['NOT_FOUND'], editable: ProductChanges },
      schema: {
        tags,
        operationId: 'getProduct',
        summary: 'Get a product',
        params: IdParams,
        response: { 200: Envelope(Product, 'Product found.') },
      },
    },
    async (request) => read(request.params.id),
  );

  api.put(
    '/products/:id',
    {
      config: {
        access: 'catalogue:write',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: ProductChanges,
      },
      schema: {
        tags,
        operationId: 'updateProduct',
        summary: 'Change a product',
        params: IdParams,
        body: ProductChanges,
        response: { 200: Envelope(Product, 'Product changed.') },
      },
    },
    async (request) => {
      const product = await ifUnchanged(context, request, lock, (txContext) =>
        changeProduct(txContext, actorOf(request), request.params.id, request.body),
      );
      return ok(toProduct(product, currency), 'Product changed.');
    },
  );

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
      repeatable(context, request, reply, async (txContext) => {
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
    read: (id) => read(id),
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
