import { writeFileSync } from 'node:fs';
import { createClient, type Schemas } from '@account-management/client';

// Imports sales, and keeps a copy of all customers, accounts and payments. Writes the copy to a file after SIGTERM.
const { BASE_URL: baseUrl = '', API_KEY: apiKey = '', COPY_FILE: file = 'copy.json' } = process.env;
const client = createClient({ baseUrl, auth: { apiKey } });
const kinds = ['customers', 'accounts', 'payments'] as const;
const copy = new Map<string, object>();
const stop = { isAsked: false };
process.once('SIGTERM', () => Object.assign(stop, { isAsked: true }));

type Answer = Schemas['CreatedCustomers' | 'OpenedAccounts' | 'RecordedPayments'];

/** The id of each item, also if an earlier run created it. */
function idsOf(name: string, { created, existing, items }: Answer): number[] {
  console.log(`${name}: ${created} created, ${existing} existing`);
  return items.map((item) => {
    if (item.status === 'failed') throw new Error(`${name} ${item.index}: ${item.error.message}`);
    return item.status === 'created' ? item.data.id : item.id;
  });
}

async function importSales(): Promise<void> {
  const refs = Array.from({ length: 200 }, (_, at) => ({ externalId: `SUN-${at}` }));
  const person = { firstName: 'Asha', lastName: 'Import', phone: '0712 345 678' };
  const people = refs.map((ref) => ({ ...person, ...ref }));
  const customers = idsOf('customers', await client.customers.createMany({ items: people }));
  const loans = customers.map((customerId, at) => ({ customerId, productId: 1, payplanId: 2, ...refs[at] }));
  const accounts = idsOf('accounts', await client.accounts.openMany({ items: loans }));
  const deposit = { amount: 400, paymentMethodId: 2 };
  const deposits = accounts.map((accountId, at) => ({ accountId, ...deposit, ...refs[at] }));
  idsOf('payments', await client.payments.recordMany({ items: deposits }));
}

const { after } = await client.events.list({ from: 'latest' });
for (const kind of kinds) {
  for await (const row of client[kind].iterate()) copy.set(`${kind} ${row.id}`, row);
}
await importSales();
console.log('following');

let wasAsked = false;
for await (const { events, hasMore } of client.events.iteratePages({ after, wait: 1 })) {
  for (const kind of kinds) {
    const changed = events.map((event) => (`${event.resource}s` === kind ? event.resourceId : null));
    const changedAccounts = kind === 'accounts' ? events.map(({ accountId }) => accountId) : [];
    const ids = [...new Set([...changed, ...changedAccounts])].filter((id) => id !== null);
    while (ids.length > 0) {
      const filter = { id: { in: ids.splice(0, 100) } };
      const { data } = await client[kind].list({ filter, limit: 100 });
      for (const row of data) copy.set(`${kind} ${row.id}`, row);
    }
  }
  if (wasAsked && events.length === 0 && !hasMore) break;
  wasAsked = stop.isAsked;
}
writeFileSync(file, JSON.stringify([...copy]));
