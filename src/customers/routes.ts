import type { Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import { changeCustomer, createCustomer } from './commands.ts';
import { searchWords } from './rules.ts';
import { Customer, CustomerChanges, customerList, NewCustomer } from './schema.ts';
import { findCustomer, listCustomers } from './store.ts';

export function customerRoutes(api: Api, context: Context): void {
  api.get(
    '/customers',
    {
      config: { access: 'customers:read' },
      schema: {
        tags: ['Customers'],
        operationId: 'listCustomers',
        summary: 'List and search customers',
        querystring: customerList.query,
        response: { 200: ListEnvelope(Customer, 'Customers found.') },
      },
    },
    async (request) => {
      const page = await listCustomers(context.db, request.query, searchWords(request.query.search ?? ''));
      return okList(page, 'Customers found.');
    },
  );

  api.post(
    '/customers',
    {
      config: { access: 'customers:create', errors: ['DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Customers'],
        operationId: 'createCustomer',
        summary: 'Register a customer',
        body: NewCustomer,
        response: { 201: Envelope(Customer, 'Customer created.') },
      },
    },
    async (request, reply) =>
      repeatable(context, request, reply, async (once) => {
        const customer = await createCustomer(once, actorOf(request), request.body);
        reply.status(201);
        return ok(customer, 'Customer created.');
      }),
  );

  api.get(
    '/customers/:id',
    {
      config: { access: 'customers:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Customers'],
        operationId: 'getCustomer',
        summary: 'Get a customer',
        params: IdParams,
        response: { 200: Envelope(Customer, 'Customer found.') },
      },
    },
    async (request) => {
      const customer = await findCustomer(context.db, request.params.id);
      if (!customer) throw notFound('customer', request.params.id);
      return ok(customer, 'Customer found.');
    },
  );

  api.put(
    '/customers/:id',
    {
      config: { access: 'customers:change', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Customers'],
        operationId: 'updateCustomer',
        summary: 'Change a customer',
        params: IdParams,
        body: CustomerChanges,
        response: { 200: Envelope(Customer, 'Customer changed.') },
      },
    },
    async (request) =>
      ok(
        await changeCustomer(context, actorOf(request), request.params.id, request.body),
        'Customer changed.',
      ),
  );
}
