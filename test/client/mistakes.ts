import type { Client } from '../../packages/client/src/index.ts';

/** Never called: the compiler has to refuse each of these. */
export async function mistakes(client: Client): Promise<void> {
  // @ts-expect-error an amount as text
  await client.payments.record({ accountId: 1, amount: '400', paymentMethodId: 1 });
  // @ts-expect-error a missing field
  await client.customers.create({ firstName: 'Solar', phone: '+254712345678' });
  // @ts-expect-error a status that does not exist
  await client.accounts.list({ filter: { status: 'closed' } });
  // @ts-expect-error an operator that booleans do not have
  await client.customers.list({ filter: { kycReviewPending: { gt: true } } });
  // @ts-expect-error a filter that the list does not have
  await client.payments.list({ filter: { colour: 'red' } });
  // @ts-expect-error a required parameter without a value
  await client.search.everything({ q: undefined });
  // Optional parameters may be undefined. A list with one value may be given as that value.
  await client.accounts.list(
    { limit: undefined, expand: 'customer', filter: { id: undefined } },
    { signal: undefined },
  );
  // @ts-expect-error a page number, because `iterate` reads all pages
  client.accounts.iterate({ page: 2 });
  // @ts-expect-error an Idempotency-Key where the call takes none
  await client.accounts.get(1, {}, { idempotencyKey: 'x' });
  // @ts-expect-error a type of event that does not exist
  await client.events.list({ types: ['account.suspendet'] });
  for await (const event of client.events.iterate()) {
    // @ts-expect-error a misspelt type
    if (event.type === 'account.suspendet') return;
    // @ts-expect-error a field that this type of event does not have
    if (event.type === 'account.suspended') event.data.amount.toFixed();
  }
  // @ts-expect-error a format that is not a file
  await client.accounts.getStatementFile(1, { format: 'json' });
  const reversed = await client.payments.reverse(1, { reason: 'Entered twice' });
  // @ts-expect-error a field of a payment, because the answer may be a request for approval instead
  reversed.paymentDate.slice();
  if ('changedFacts' in reversed) reversed.changedFacts.includes('credit');
  else reversed.paymentDate.slice();
}
