import type { Context } from '../core/context.ts';
import { actorOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { bulkRoute, createMissing } from '../core/http/bulk.ts';
import { Envelope, ListEnvelope, ok, okList } from '../core/http/envelope.ts';
import { notFound } from '../core/http/errors.ts';
import { ifUnchanged } from '../core/http/etags.ts';
import { externalIdRoutes } from '../core/http/external-id-routes.ts';
import { IdParams } from '../core/http/fields.ts';
import { repeatable } from '../core/http/idempotency.ts';
import type { SharedSlots } from '../core/shared-slots.ts';
import { readPhone } from '../core/values/phone.ts';
import {
  changeCustomer,
  checkCustomer,
  createCustomer,
  createCustomers,
  upsertCustomer,
} from './commands.ts';
import { searchWords } from './rules.ts';
import {
  CheckedCustomer,
  CreatedCustomers,
  Customer,
  CustomerChanges,
  CustomerUpsert,
  customerList,
  NewCustomer,
  NewCustomers,
} from './schema.ts';
import { findCustomer, listCustomers, lockCustomer } from './store.ts';

export function customerRoutes(api: Api, context: Context, slots: SharedSlots): void {
  async function read(id: number) {
    const customer = await findCustomer(context.db, id);
    if (!customer) throw notFound('customer', id);
    return ok(customer, 'Customer found.');
  }

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
      const { search = '' } = request.query;
      const phone = readPhone(search, context.config.PHONE_REGION);
      const page = await listCustomers(context.db, request.query, searchWords(search), phone);
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
      repeatable(context, request, reply, async (txContext) => {
        const customer = await createCustomer(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(customer, 'Customer created.');
      }),
  );

  api.post(
    '/customers/check',
    {
      config: { access: 'customers:create', errors: ['DUPLICATE_ENTRY'] },
      schema: {
        tags: ['Customers'],
        operationId: 'checkCustomer',
        summary: 'Check a customer without registering it',
        description:
          'Applies the rules of `POST /api/customers`, and stores nothing. So a form can show a problem before it is complete.',
        body: NewCustomer,
        response: { 200: Envelope(CheckedCustomer, 'The customer can be registered.') },
      },
    },
    async ({ body }) => ok(await checkCustomer(context, body), 'The customer can be registered.'),
  );

  bulkRoute(api, context, slots, '/customers/bulk', {
    access: 'customers:create',
    tag: 'Customers',
    operationId: 'createCustomers',
    summary: 'Register up to 1,000 customers',
    item: NewCustomer,
    body: NewCustomers,
    answer: CreatedCustomers,
    create: (actor, items, key) =>
      createMissing(context, 'customer', items, key, (txContext, bodies) =>
        createCustomers(txContext, actor, bodies),
      ),
  });

  api.get(
    '/customers/:id',
    {
      config: { access: 'customers:read', errors: ['NOT_FOUND'], editable: CustomerChanges },
      schema: {
        tags: ['Customers'],
        operationId: 'getCustomer',
        summary: 'Get a customer',
        params: IdParams,
        response: { 200: Envelope(Customer, 'Customer found.') },
      },
    },
    async (request) => read(request.params.id),
  );

  api.put(
    '/customers/:id',
    {
      config: {
        access: 'customers:change',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: CustomerChanges,
      },
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
        await ifUnchanged(context, request, lockCustomer, (txContext) =>
          changeCustomer(txContext, actorOf(request), request.params.id, request.body),
        ),
        'Customer changed.',
      ),
  );

  externalIdRoutes(api, context, 'customer', {
    answer: Customer,
    example: 'CRM-1001',
    access: 'customers:read',
    editable: CustomerChanges,
    read: (id) => read(id),
    upsert: {
      access: 'customers:change',
      body: CustomerUpsert,
      lock: lockCustomer,
      run: upsertCustomer,
    },
  });
}
