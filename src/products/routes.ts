import type { Api } from '../core/api.ts';
import type { Context } from '../core/context.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/envelope.ts';
import { notFound } from '../core/errors.ts';
import { IdParams } from '../core/fields.ts';
import { Product, productList } from './schema.ts';
import { findProduct, listProducts } from './store.ts';

export function productRoutes(api: Api, context: Context): void {
  api.get(
    '/products',
    {
      config: { access: 'catalogue:read' },
      schema: {
        tags: ['Products'],
        summary: 'List products',
        querystring: productList.query,
        response: { 200: ListEnvelope(Product) },
      },
    },
    async (request) => {
      const plan = productList.read(request.query, context);
      return okList(await listProducts(context.db, context.currency, plan, request.query), 'Products found.');
    },
  );

  api.get(
    '/products/:id',
    {
      config: { access: 'catalogue:read', errors: [404] },
      schema: {
        tags: ['Products'],
        summary: 'One product',
        params: IdParams,
        response: { 200: Envelope(Product) },
      },
    },
    async (request) => {
      const product = await findProduct(context.db, context.currency, request.params.id);
      if (!product) throw notFound('product', request.params.id);
      return ok(product, 'Product found.');
    },
  );
}
