import { describe, expect, it } from 'vitest';
import { newCustomer, useService } from '../support/harness.ts';

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
