import type { ConcurrencyLimit } from '../core/concurrency-limit.ts';
import type { Context } from '../core/context.ts';
import type { Api } from '../core/http/api.ts';
import { bulkRoute, createMissing } from '../core/http/bulk.ts';
import { changeRoute, getRoute, listAndCreateRoutes } from '../core/http/crud.ts';
import { Envelope, ok } from '../core/http/envelope.ts';
import { externalIdRoutes } from '../core/http/external-id-routes.ts';
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

export function customerRoutes(api: Api, context: Context, slots: ConcurrencyLimit): void {
  const described = { path: '/customers', noun: 'customer', answer: Customer };

  listAndCreateRoutes(api, context, {
    ...described,
    read: { access: 'customers:read', query: customerList.query, summary: 'List and search customers' },
    list(query) {
      const { search = '' } = query;
      const phone = readPhone(search, context.config.PHONE_REGION);
      return listCustomers(context.db, query, searchWords(search), phone);
    },
    creation: { access: 'customers:create', body: NewCustomer, summary: 'Register a customer' },
    create: createCustomer,
  });

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

  const read = getRoute(api, {
    ...described,
    resource: 'customer',
    access: 'customers:read',
    editable: CustomerChanges,
    find: (id) => findCustomer(context.db, id),
  });

  changeRoute(api, context, {
    ...described,
    access: 'customers:change',
    body: CustomerChanges,
    lock: lockCustomer,
    change: changeCustomer,
  });

  externalIdRoutes(api, context, 'customer', {
    answer: Customer,
    example: 'CRM-1001',
    access: 'customers:read',
    editable: CustomerChanges,
    read,
    upsert: {
      access: 'customers:change',
      body: CustomerUpsert,
      lock: lockCustomer,
      run: upsertCustomer,
    },
  });
}
