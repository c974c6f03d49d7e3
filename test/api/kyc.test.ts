import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { expireDocuments } from '../../src/customers/kyc/commands.ts';
import { newCustomer, setToday, useService, wrongFields } from '../support/harness.ts';

const service = useService();

const submission = {
  verificationType: 'national_id',
  verificationStatus: 'pending',
  documents: [
    'seen at the shop',
    { type: 'front', number: 'A1', issuedAt: '2020-02-29', issuer: 'Nairobi', pages: 2 },
  ],
};

describe('PUT /customers/:id/kyc', () => {
  it('adds a record and sets the status of the customer', async () => {
    const { id } = await newCustomer(service);
    const answer = await service.call('PUT', `/customers/${id}/kyc`, submission);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject({ ...submission, customerId: id, actor: 'admin@example.com' });

    await service.call('PUT', `/customers/${id}/kyc`, {
      verificationType: 'passport',
      verificationStatus: 'verified',
    });
    expect((await service.call('GET', `/customers/${id}`)).body.data.kycStatus).toBe('verified');
    const history = await service.call('GET', `/customers/${id}/kyc?sort=id:asc`);
    expect(
      history.body.data.map((record: { verificationStatus: string }) => record.verificationStatus),
    ).toEqual(['pending', 'verified']);
    const verified = await service.call('GET', '/customers?filter[kycStatus]=verified');
    expect(verified.body.data.map((customer: { id: number }) => customer.id)).toContain(id);
  });

  it('adds one record for two calls with the same Idempotency-Key', async () => {
    const { id } = await newCustomer(service);
    const headers = { 'idempotency-key': 'submission 1' };
    const [first, second] = [
      await service.call('PUT', `/customers/${id}/kyc`, submission, { headers }),
      await service.call('PUT', `/customers/${id}/kyc`, submission, { headers }),
    ];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await service.call('GET', `/customers/${id}/kyc`)).body.data).toHaveLength(1);
  });

  it('lets agents submit only as pending', async () => {
    const { id } = await newCustomer(service);
    const token = await service.signInAs('agent');
    expect((await service.call('PUT', `/customers/${id}/kyc`, submission, { token })).status).toBe(200);
    const decision = { ...submission, verificationStatus: 'verified' };
    const refused = await service.call('PUT', `/customers/${id}/kyc`, decision, { token });
    expect(refused.status).toBe(403);
    expect((await service.call('GET', `/customers/${id}`)).body.data.kycStatus).toBe('pending');
  });

  const customerNow = async (id: number) => (await service.call('GET', `/customers/${id}`)).body.data;
  const decide = (id: number, verificationStatus: string) =>
    service.call('PUT', `/customers/${id}/kyc`, { ...submission, verificationStatus });

  it.each(['rejected', 'verified', 'expired'])(
    'keeps showing %s after an agent submits again, and lists the customer for review',
    async (decision) => {
      const { id } = await newCustomer(service);
      const token = await service.signInAs('agent');
      await decide(id, decision);
      expect(await customerNow(id)).toMatchObject({ kycStatus: decision, kycReviewPending: false });

      const submitted = await service.call('PUT', `/customers/${id}/kyc`, submission, { token });
      expect(submitted.body.data.verificationStatus).toBe('pending');
      expect(await customerNow(id)).toMatchObject({ kycStatus: decision, kycReviewPending: true });
      const waiting = await service.call('GET', '/customers?filter[kycReviewPending]=true');
      expect(waiting.body.data.map((customer: { id: number }) => customer.id)).toContain(id);
      const { body } = await service.call(
        'GET',
        `/audit?filter[action]=customer.kyc&filter[resourceId]=${id}`,
      );
      expect(body.data[0]).toMatchObject({
        before: { kycStatus: decision, kycReviewPending: false },
        after: { kycStatus: decision, kycReviewPending: true },
      });

      await decide(id, 'verified');
      expect(await customerNow(id)).toMatchObject({ kycStatus: 'verified', kycReviewPending: false });
    },
  );

  it('lets a user who may decide reopen a rejection', async () => {
    const { id } = await newCustomer(service);
    await decide(id, 'rejected');
    await decide(id, 'pending');
    expect(await customerNow(id)).toMatchObject({ kycStatus: 'pending', kycReviewPending: true });
  });

  it.each([
    ['an unknown type', { verificationType: 'library_card' }, 'verificationType'],
    ['an unknown status', { verificationStatus: 'maybe' }, 'verificationStatus'],
    ['a document that is a number', { documents: [5] }, 'documents[0]'],
    ['a nested document', { documents: [{ type: 'front', more: { a: 1 } }] }, 'documents[0].more'],
    ['a date that does not exist', { documents: [{ issuedAt: '2023-02-29' }] }, 'documents[0].issuedAt'],
    ['an address that is a script', { documents: [{ url: 'javascript:alert(1)' }] }, 'documents[0].url'],
    [
      'a document beyond 2 KB',
      { documents: [{ a: 'x'.repeat(1000), b: 'x'.repeat(1000), c: 'x'.repeat(100) }] },
      'documents[0]',
    ],
    [
      'an expiry before the issue',
      { documents: [{ issuedAt: '2024-01-02', expiresAt: '2024-01-01' }] },
      'documents[0].expiresAt',
    ],
  ])('refuses %s', async (_what, change, path) => {
    const { id } = await newCustomer(service);
    const { status, body } = await service.call('PUT', `/customers/${id}/kyc`, { ...submission, ...change });
    expect(status).toBe(400);
    expect(body.error.details.fields.map((field: { path: string }) => field.path)).toContain(path);
  });

  it('audits the statuses before and after, without the documents', async () => {
    const { id } = await newCustomer(service);
    await service.call('PUT', `/customers/${id}/kyc`, { ...submission, verificationStatus: 'pending' });
    await service.call('PUT', `/customers/${id}/kyc`, { ...submission, verificationStatus: 'rejected' });
    const { body } = await service.call(
      'GET',
      `/audit?filter[action]=customer.kyc&filter[resourceId]=${id}&sort=id:asc`,
    );
    expect(body.data).toHaveLength(2);
    expect(body.data[0]).toMatchObject({ before: { kycStatus: null }, after: { kycStatus: 'pending' } });
    expect(body.data[1]).toMatchObject({
      before: { kycStatus: 'pending' },
      after: { kycStatus: 'rejected' },
    });
    expect(JSON.stringify(body.data)).not.toContain('documents');
  });

  it.each(['1st', 'a b', `a${'x'.repeat(50)}`])('names the forbidden document key %j', async (key) => {
    const { id } = await newCustomer(service);
    const documents = [{ type: 'front' }, { type: 'back', [key]: 'x' }];
    const { body } = await service.call('PUT', `/customers/${id}/kyc`, { ...submission, documents });
    const rule = 'must start with a letter and have at most 50 letters, digits, _, . and -';
    expect(body.error.details.fields).toEqual([
      { path: `documents[1].${key}`, message: `the key "${key}" ${rule}` },
    ]);
  });

  it('answers 404 for a customer who does not exist', async () => {
    expect((await service.call('PUT', '/customers/999999/kyc', submission)).status).toBe(404);
    expect((await service.call('GET', '/customers/999999/kyc')).status).toBe(404);
  });
});

describe('a KYC record', () => {
  const verify = async (update: Record<string, unknown>) => {
    const { id } = await newCustomer(service);
    const answer = await service.call('PUT', `/customers/${id}/kyc`, update);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject({ customerId: id, documents: [], ...update });
    expect((await service.call('GET', `/customers/${id}`)).body.data.kycStatus).toBe(
      update.verificationStatus,
    );
  };

  it.each([
    'national_id',
    'passport',
    'alien_id',
    'driving_licence',
    'voter_id',
    'tax_pin',
    'business_registration',
  ])('accepts the type %s', (verificationType) =>
    verify({ verificationType, verificationStatus: 'verified' }),
  );

  it.each(['pending', 'verified', 'rejected', 'expired'])('accepts the status %s', (verificationStatus) =>
    verify({ verificationType: 'national_id', verificationStatus }),
  );
});

describe('a verification', () => {
  beforeEach(async () => {
    setToday(service, '2031-05-10');
    // An earlier test may have looked for expired documents on a later day.
    await sql`delete from last_kyc_expiry`.execute(service.context.db);
  });
  const customerNow = async (id: number) => (await service.call('GET', `/customers/${id}`)).body.data;
  const update = (id: number, body: Record<string, unknown>, token?: string) =>
    service.call(
      'PUT',
      `/customers/${id}/kyc`,
      { verificationType: 'national_id', verificationStatus: 'verified', ...body },
      token === undefined ? {} : { token },
    );
  const expire = () => expireDocuments(service.context, new AbortController().signal);

  it('is refused with an expired document, also one that an agent has submitted', async () => {
    const { id } = await newCustomer(service);
    const documents = ['seen', { type: 'national_id', number: '1', expiresAt: '2031-05-10' }];
    expect(wrongFields(await update(id, { documents }))).toEqual(['documents[1].expiresAt']);
    const agent = await service.signInAs('agent');
    const submitted = await update(id, { documents, verificationStatus: 'pending' }, agent);
    expect(submitted.status, submitted.text).toBe(200);
    const manager = await service.signInAs('manager');
    expect(wrongFields(await update(id, {}, manager))).toEqual(['documents']);
    expect(await customerNow(id)).toMatchObject({ kycStatus: 'pending', kycReviewPending: true });
    expect((await update(id, { verificationStatus: 'rejected' }, manager)).status).toBe(200);
    const valid = [{ type: 'national_id', number: '1', expiresAt: '2031-05-11' }];
    expect((await update(id, { documents: valid }, manager)).status).toBe(200);
  });

  it.each([
    ['no type', {}],
    ['the type national_id', { type: 'national_id' }],
    ['the type ID card', { type: 'ID card' }],
    ['the type front', { type: 'front' }],
  ])('with another number in a document of %s needs a confirmation', async (_what, type) => {
    const { id } = await newCustomer(service, { nationalId: `KYC-1${id1()}` });
    const documents = [{ ...type, number: '99999999' }];
    await update(id, { documents, verificationStatus: 'pending' }, await service.signInAs('agent'));
    for (const body of [{ documents }, {}, { confirmation: { codes: [] } }]) {
      const asked = await update(id, body);
      expect(asked.status, asked.text).toBe(409);
      expect(asked.body.error.details).toMatchObject({ warnings: [{ code: 'different_number' }] });
      expect(await customerNow(id)).toMatchObject({ kycStatus: 'pending', kycReviewPending: true });
    }
    const confirmed = await update(id, { confirmation: { codes: ['different_number'] } });
    expect(confirmed.status, confirmed.text).toBe(200);
    expect(await customerNow(id)).toMatchObject({ kycStatus: 'verified', kycReviewPending: false });
  });

  let ids = 0;
  function id1(): number {
    ids += 1;
    return ids;
  }

  it.each([
    ['the same number in another spelling', { nationalId: 'KYC 55-1' }, { number: 'kyc551' }],
    ['the number of a passport', { nationalId: 'KYC-552' }, { type: 'passport', number: 'AK1' }],
    ['the number of a voter card', { nationalId: 'KYC-553' }, { type: 'voter_id', number: 'V1' }],
    ['a customer without a national id', {}, { number: '1' }],
  ])('with %s needs no confirmation', async (_what, fields, document) => {
    const { id } = await newCustomer(service, fields);
    expect((await update(id, { documents: [document] })).status).toBe(200);
  });

  it.each([
    ['the name', { lastName: 'Other' }, true],
    ['the national id', { nationalId: 'KYC-OTHER' }, true],
    ['the national id to none', { nationalId: null }, true],
    ['only the spelling', { firstName: 'ÉMILE', lastName: "n'dour", nationalId: 'kyc 777' }, false],
    ['the phone', { phone: '0733 000 077' }, false],
  ])('waits for a decision again after a change of %s', async (_what, change, isPending) => {
    const { id } = await newCustomer(service, {
      firstName: 'Emile',
      lastName: 'Ndour',
      nationalId: 'KYC-777',
      externalId: `KYC-CHANGE-${id1()}`,
    });
    await update(id, {});
    const changed = await service.call('PUT', `/customers/${id}`, change);
    expect(changed.body.data).toMatchObject({ kycStatus: 'verified', kycReviewPending: isPending });
    expect(await customerNow(id)).toMatchObject({ kycStatus: 'verified', kycReviewPending: isPending });
    const { body } = await service.call(
      'GET',
      `/audit?filter[action]=customer.change&filter[resourceId]=${id}`,
    );
    expect(body.data[0].after.kycReviewPending).toBe(isPending ? true : undefined);
    await update(id, {});
    expect((await customerNow(id)).kycReviewPending).toBe(false);
    await service.call('PUT', `/customers/${id}`, { nationalId: null });
  });

  it('expires on the business day of its document, once, with an audit entry and an event', async () => {
    const [own, submitted, other, renewed] = [
      await newCustomer(service),
      await newCustomer(service),
      await newCustomer(service),
      await newCustomer(service),
    ].map(({ id }) => id as number) as [number, number, number, number];
    const documents = [{ type: 'national_id', number: '1', expiresAt: '2031-06-01' }, 'seen'];
    await update(own, { documents });
    await update(submitted, { documents, verificationStatus: 'pending' });
    await update(submitted, {});
    await update(other, { documents: [{ number: '1' }] });
    await update(renewed, { documents });
    await update(renewed, { documents: [{ number: '1', expiresAt: '2041-06-01' }] });
    await update(own, { documents, verificationStatus: 'pending' }, await service.signInAs('agent'));

    setToday(service, '2031-05-31');
    await expire();
    expect((await customerNow(own)).kycStatus).toBe('verified');
    setToday(service, '2031-06-01');
    expect(await expire()).toBe(2);
    expect(await expire()).toBe(0);
    for (const id of [own, submitted]) {
      expect(await customerNow(id)).toMatchObject({ kycStatus: 'expired', kycReviewPending: id === own });
    }
    for (const id of [other, renewed]) expect((await customerNow(id)).kycStatus).toBe('verified');

    const history = await service.call('GET', `/customers/${own}/kyc?sort=id:desc`);
    expect(history.body.data[0]).toMatchObject({
      verificationStatus: 'expired',
      actor: 'system',
      documents: [],
    });
    const audits = await service.call(
      'GET',
      `/audit?filter[action]=customer.kyc&filter[resourceId]=${own}&sort=id:desc`,
    );
    expect(audits.body.data[0]).toMatchObject({
      actor: 'system',
      before: { kycStatus: 'verified' },
      after: { kycStatus: 'expired' },
    });
    const events = await service.call('GET', '/events?types=kyc.decided&limit=100');
    expect(events.body.data.events).toContainEqual(
      expect.objectContaining({
        data: expect.objectContaining({ kycStatus: 'expired', verificationStatus: 'expired' }),
      }),
    );
    const valid = await update(own, { documents: [{ number: '1', expiresAt: '2032-01-01' }] });
    expect(valid.status, valid.text).toBe(200);
    expect((await customerNow(own)).kycStatus).toBe('verified');
  });

  it('expires at the next run if the job was stopped', async () => {
    const { id } = await newCustomer(service);
    setToday(service, '2031-07-01');
    await expire(); // Those of other tests.
    await update(id, { documents: [{ number: '1', expiresAt: '2031-07-02' }] });
    setToday(service, '2031-07-02');
    const stopped = new AbortController();
    stopped.abort();
    expect(await expireDocuments(service.context, stopped.signal)).toBe(0);
    expect(await expire()).toBe(1);
    expect((await customerNow(id)).kycStatus).toBe('expired');
  });
});
