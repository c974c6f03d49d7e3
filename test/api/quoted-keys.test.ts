import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { stripQuotes, withoutQuotes } from '../../src/core/values/quoted-text.ts';
import { referenceKey } from '../../src/core/values/reference.ts';
import { readMigrationFiles } from '../../src/platform/migrations/files.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newCustomer,
  notify,
  pay,
  paymentNow,
  reverse,
  setToday,
  useJobs,
  useService,
} from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { untilPasses } from '../support/waiting.ts';

// Apostrophes and quotes that spreadsheets put around references, ids, phones and amounts.

const service = useService();
useJobs(service);
beforeAll(() => setToday(service, '2026-11-30'));

const SPELLINGS: [string, (text: string) => string][] = [
  ['an apostrophe', (text) => `'${text}`],
  ['a typographic apostrophe', (text) => `’${text}`],
  ['a tab', (text) => `\t${text}`],
  ['a formula', (text) => `="${text}"`],
  ['a guarded formula', (text) => `'="${text}"`],
  ['quotes', (text) => `"${text}"`],
  ['typographic quotes', (text) => `“${text}”`],
];
const WITHOUT_TAB = SPELLINGS.filter(([name]) => name !== 'a tab');

let references = 0;
function newReference(): string {
  references += 1;
  return `QAA${String(references).padStart(7, '0')}`;
}

const record = (accountId: number, transactionRef: string, fields: object = {}) =>
  service.call('POST', '/payments', {
    accountId,
    amount: 400,
    paymentMethodId: 2,
    transactionRef,
    ...fields,
  });

describe('without_quotes in the database', () => {
  it('gives the same key as the service', async () => {
    const characters = [...`'"\`=‘’“”„′″‹›«»ʹʼQA0 \t-+`];
    const keys = fc
      .sample(fc.array(fc.constantFrom(...characters), { maxLength: 12 }), 3_000)
      .map((text) => text.join('').trim());
    keys.push(...SPELLINGS.map(([, spelled]) => spelled('QAA0000001').trim()), '', "'", '"="', `="`);
    const { rows } = await sql<{ plain: string }>`
      select without_quotes(key) as plain from unnest(${keys}::text[]) with ordinality as k (key, at) order by at`.execute(
      service.context.db,
    );
    const differing = keys.filter((key, at) => stripQuotes(key) !== rows[at]?.plain);
    expect(differing).toEqual([]);
    expect(keys.filter((key) => withoutQuotes(key) !== stripQuotes(key).trim())).toEqual([]);
    expect(keys.filter((key) => referenceKey(referenceKey(key)) !== referenceKey(key))).toEqual([]);
  });
});

it('recognizes an external id again that has a blank between its quote and its text', async () => {
  const { id } = await newAccount(service);
  const externalId = "' P1";
  expect((await record(id, newReference(), { externalId })).status).toBe(201);
  expect((await record(id, newReference(), { externalId })).status).toBe(409);
  expect(
    (await service.call('GET', `/payments/by-external-id/${encodeURIComponent(externalId)}`)).status,
  ).toBe(200);
});

describe('a transaction reference', () => {
  it.each(WITHOUT_TAB)(
    'with %s is that of the payment that the provider reported',
    async (_name, spelled) => {
      const { id, accountNumber } = await newAccount(service);
      const sent = notification({ TransID: newReference(), BillRefNumber: accountNumber });
      const { paymentId } = (await notify(service, sent)).body.data;
      const refused = await record(id, spelled(sent.TransID));
      expect([refused.status, refused.body.error.details]).toMatchObject([409, { id: paymentId }]);
      const bulk = await service.call('POST', '/payments/bulk', {
        items: [{ accountId: id, amount: 400, paymentMethodId: 2, transactionRef: spelled(sent.TransID) }],
      });
      expect(bulk.body.data.items[0]).toMatchObject({
        status: 'failed',
        error: { details: { id: paymentId } },
      });
      expect((await accountNow(service, id)).paid).toBe(400);
    },
  );

  it.each(WITHOUT_TAB)('with %s is kept as typed, and linked to the notification', async (_name, spelled) => {
    const { id, accountNumber } = await newAccount(service);
    const TransID = newReference();
    const manual = await pay(service, id, 400, { transactionRef: spelled(TransID) });
    expect(manual.transactionRef).toBe(spelled(TransID));
    const { data } = (await notify(service, { TransID, BillRefNumber: accountNumber })).body;
    expect(data).toMatchObject({ outcome: 'linked', paymentId: manual.id });
    const found = await dataOf(
      service.call('GET', `/payments?filter[transactionRef]=${encodeURIComponent(`'${TransID}`)}`),
    );
    expect(found).toMatchObject([{ id: manual.id, transactionRef: spelled(TransID) }]);
    const hits = await dataOf(service.call('GET', `/search?q=${encodeURIComponent(spelled(TransID))}`));
    expect(hits).toMatchObject([{ type: 'payment', id: manual.id, match: 'exact' }]);
  });

  it('of a refund is recorded once in all spellings', async () => {
    const { id } = await newAccount(service);
    await pay(service, id, 100_000);
    const refund = (transactionRef: string) =>
      service.call('POST', `/accounts/${id}/credit/refund`, {
        ...{ amount: 1, paymentMethodId: 2, transactionRef, reason: 'overpaid' },
      });
    const TransID = newReference();
    expect((await refund(`'${TransID}`)).status).toBe(201);
    expect((await refund(TransID)).status).toBe(409);
  });
});

describe('a statement whose cells a spreadsheet has guarded', () => {
  it('is compared, imported once, and read with its amounts and times', async () => {
    const { id, accountNumber } = await newAccount(service);
    const [known, manual, lost] = [newReference(), newReference(), newReference()];
    await notify(service, { TransID: known, BillRefNumber: accountNumber });
    await pay(service, id, 400, { transactionRef: manual });
    const cells = (receipt: string) =>
      [
        `'${receipt}`,
        `="02-11-2026 10:15:30"`,
        `'Completed`,
        `'1,400.00`,
        `'254712345678 - JANE DOE`,
        accountNumber,
      ]
        .map((cell) => `"${cell.replaceAll('"', '""')}"`)
        .join(',');
    const file = [
      "Short Code:,'600638",
      'Receipt No.,Completion Time,Transaction Status,Paid In,Other Party Info,A/C No.',
      cells(known).replace("'1,400.00", "'400.00"),
      cells(manual).replace("'1,400.00", "'400.00"),
      cells(lost),
    ].join('\r\n');
    const statement = await dataOf(
      service.call('POST', '/reconciliations/statements', file, { headers: { 'content-type': 'text/csv' } }),
      201,
    );
    const ended = () =>
      untilPasses(async () => {
        const data = await dataOf(service.call('GET', `/reconciliations/statements/${statement.id}`));
        expect(data.status).toBe('done');
      });
    await ended();
    await dataOf(service.call('POST', `/reconciliations/statements/${statement.id}/import`));
    await ended();
    const lines = await dataOf(
      service.call('GET', `/reconciliations/statements/${statement.id}/lines?sort=lineNumber:asc`),
    );
    expect(lines).toMatchObject([
      { receipt: known, result: 'matched', amount: 400, completedAt: '2026-11-02T07:15:30.000Z' },
      { receipt: manual, result: 'matched', amount: 400 },
      { receipt: lost, result: 'matched', amount: 1400, payer: '254712345678' },
    ]);
    expect((await accountNow(service, id)).paid).toBe(2200);
    await expectBooksToBalance(service.context);
  });
});

describe('phones and account numbers', () => {
  it.each(SPELLINGS)('with %s find the customer and the account', async (_name, spelled) => {
    const phone = `07${String(12_000_000 + references)}`;
    references += 1;
    const customer = await newCustomer(service, { phone: spelled(phone) });
    expect(customer.phone).toBe(`+254${phone.slice(1)}`);
    const account = await newAccount(service, { customerId: customer.id });
    for (const BillRefNumber of [spelled(phone), spelled(account.accountNumber)]) {
      const { data } = (await notify(service, { TransID: newReference(), BillRefNumber })).body;
      expect(data.outcome).toBe('matched');
    }
    if (spelled('').includes('\t')) return; // A search refuses control characters.
    for (const path of ['/customers?search=', '/search?types=customer&q=']) {
      const found = await dataOf(service.call('GET', path + encodeURIComponent(spelled(phone))));
      expect(found).toMatchObject([{ id: customer.id }]);
    }
  });
});

describe('an external id', () => {
  it.each(WITHOUT_TAB)('with %s is that of the resource without it', async (_name, spelled) => {
    const { id } = await newAccount(service);
    const externalId = `EXT-${newReference()}`;
    const body = { accountId: id, amount: 400, paymentMethodId: 2 };
    const first = await dataOf(
      service.call('POST', '/payments', { ...body, externalId: spelled(externalId) }),
      201,
    );
    expect(first.externalId).toBe(spelled(externalId));
    for (const q of [externalId, spelled(externalId)]) {
      const found = await dataOf(service.call('GET', `/search?q=${encodeURIComponent(q)}`));
      expect(found).toMatchObject([{ id: first.id, matchedOn: 'externalId', match: 'exact' }]);
    }
    const again = await service.call('POST', '/payments', { ...body, externalId });
    expect([again.status, again.body.error.details.id]).toEqual([409, first.id]);
    const other = await pay(service, id, 1);
    const change = await service.call('PUT', `/payments/${other.id}`, { externalId });
    expect([change.status, change.body.error.details.id]).toEqual([409, first.id]);

    const customer = await newCustomer(service, { externalId });
    const path = `/customers/by-external-id/${encodeURIComponent(spelled(externalId))}`;
    expect(await dataOf(service.call('GET', path))).toMatchObject({ id: customer.id, externalId });
    const changed = await dataOf(
      service.call('PUT', path, { firstName: 'Other', lastName: 'B', phone: '+254712000001' }),
    );
    expect(changed).toMatchObject({ id: customer.id, firstName: 'Other', externalId });
    const fields = { firstName: 'A', lastName: 'B', phone: '+254712000001', externalId: spelled(externalId) };
    const created = await service.call('POST', '/customers', fields);
    expect([created.status, created.body.error.details.id]).toEqual([409, customer.id]);
    const bulk = await service.call('POST', '/customers/bulk', { items: [fields] });
    expect(bulk.body.data.items[0]).toMatchObject({ status: 'existing', id: customer.id });
  });
});

describe('an earlier version', () => {
  /** Writes rows as an earlier version did, without the triggers of this version. */
  async function asEarlierVersion(...statements: ReturnType<typeof sql>[]) {
    await service.context.db.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      for (const statement of statements) await statement.execute(tx);
    });
  }

  const giveKey = (paymentId: number, key: string) => sql`
    update payments set reference_key = ${key}, provider_trans_id = case when provider is not null then ${key} end
    where id = ${paymentId}`;
  const giveTransId = (paymentId: number, key: string) => sql`
    update notifications set trans_id = ${key} where payment_id = ${paymentId}`;

  async function upgrade() {
    const files = await readMigrationFiles();
    const migration = files.find(({ name }) => name === '0043_rows_with_quotes') ?? expect.fail();
    for (const statement of migration.statements) await sql.raw(statement).execute(service.context.db);
  }

  const duplicatesOf = (accountId: number) =>
    dataOf(
      service.call('GET', `/payments?filter[hasDuplicateReference]=true&filter[accountId]=${accountId}`),
    );

  it('beside this one cannot post a payment twice', async () => {
    const { id, accountNumber } = await newAccount(service);
    const sent = notification({ TransID: newReference(), BillRefNumber: accountNumber });
    await notify(service, sent);
    const insert = (method: number, key: string) =>
      sql`
      insert into payments (account_id, amount_minor, payment_method_id, transaction_ref, reference_key, payment_date, status, source)
      values (${id}, 40000, ${method}, ${key}, ${key}, '2026-11-02', 'matched', 'manual')`.execute(
        service.context.db,
      );
    await expect(insert(2, `'${sent.TransID}`)).rejects.toThrow(/has reported the transaction/);
    const manual = await pay(service, id, 400, { transactionRef: newReference() });
    await expect(insert(2, `="${manual.transactionRef}"`)).rejects.toThrow(/payments_transaction_ref_unique/);
    await expectBooksToBalance(service.context);
  });

  it('left keys with quotes, which the migration replaces, so that the transaction is posted once', async () => {
    const { id, accountNumber } = await newAccount(service);
    const [manualRef, importedRef] = [newReference(), newReference()];
    const manual = await pay(service, id, 400, { transactionRef: `'${manualRef}` });
    const imported = (await notify(service, { TransID: importedRef, BillRefNumber: accountNumber })).body
      .data;
    await asEarlierVersion(
      giveKey(manual.id, `'${manualRef}`),
      giveKey(imported.paymentId, `'${importedRef}`),
      giveTransId(imported.paymentId, `'${importedRef}`),
    );
    await upgrade();
    await upgrade(); // An interrupted migration runs again.
    await expectBooksToBalance(service.context);
    expect(await duplicatesOf(id)).toEqual([]);
    const { data } = (await notify(service, { TransID: manualRef, BillRefNumber: accountNumber })).body;
    expect(data).toMatchObject({ outcome: 'linked', paymentId: manual.id });
    expect((await record(id, importedRef)).status).toBe(409);
    expect((await accountNow(service, id)).paid).toBe(800);
    await expectBooksToBalance(service.context);
  });

  it('left payments that were posted twice, which stay, balance, and are listed until one of the two is reversed', async () => {
    const { id, accountNumber } = await newAccount(service);
    const [one, two] = [newReference(), newReference()];
    await notify(service, { TransID: one, BillRefNumber: accountNumber });
    const manual = await pay(service, id, 400, { transactionRef: `BEFORE${one}` });
    const twice = [
      await pay(service, id, 400, { transactionRef: `A${two}` }),
      await pay(service, id, 400, { transactionRef: `B${two}` }),
    ];
    await asEarlierVersion(
      giveKey(manual.id, `'${one}`),
      ...twice.map((payment, at) => giveKey(payment.id, at === 0 ? `'${two}` : `"${two}"`)),
    );
    await upgrade();
    await expectBooksToBalance(service.context);
    const ids = [manual, ...twice].map((payment) => payment.id);
    const listed = (await duplicatesOf(id)).map((payment: { id: number }) => payment.id);
    expect(listed.toSorted((a: number, b: number) => a - b)).toEqual(ids);
    expect((await accountNow(service, id)).paid).toBe(1600);
    await reverse(service, manual.id);
    await reverse(service, twice[1]?.id);
    expect(await duplicatesOf(id)).toMatchObject([{ id: twice[0]?.id }]);
    expect(await paymentNow(service, manual.id)).toMatchObject({ status: 'reversed' });
    await expectBooksToBalance(service.context);
  });
});
