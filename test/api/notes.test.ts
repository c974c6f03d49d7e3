import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAccount, newCustomer, useService, wrongFields } from '../support/harness.ts';

const service = useService();

const TEXT = 'Is paid at the end of the month.\nCall after 17:00.';

async function newNote(customerId: number, body: object = {}, token = service.adminToken) {
  const answer = await service.call(
    'POST',
    `/customers/${customerId}/notes`,
    { text: TEXT, ...body },
    { token },
  );
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data;
}

const noteOf = async (customerId: number, id: number, token = service.adminToken) =>
  (await service.call('GET', `/customers/${customerId}/notes/${id}`, undefined, { token })).body.data;

describe('a note', () => {
  it('is about a customer or about an account of the customer', async () => {
    const account = await newAccount(service);
    const customerId = account.customerId;
    const ofCustomer = await newNote(customerId);
    expect(ofCustomer).toMatchObject({
      customerId,
      accountId: null,
      accountNumber: null,
      text: TEXT,
      pinned: false,
      actor: 'admin@example.com',
    });
    const ofAccount = await newNote(customerId, { accountId: account.id, pinned: true });
    expect(ofAccount).toMatchObject({
      accountId: account.id,
      accountNumber: account.accountNumber,
      pinned: true,
    });
    const listed = await service.call('GET', `/customers/${customerId}/notes?filter[pinned]=true`);
    expect(listed.body.data).toEqual([ofAccount]);
  });

  it('is not about the account of another customer', async () => {
    const [customer, account] = [await newCustomer(service), await newAccount(service)];
    const answer = await service.call('POST', `/customers/${customer.id}/notes`, {
      text: TEXT,
      accountId: account.id,
    });
    expect(answer.status).toBe(404);
    expect(answer.body.error.details).toEqual({ resource: 'account', field: 'accountId', id: account.id });
  });

  it('is not found, changed or hidden under the id of another customer', async () => {
    const [customer, other] = [await newCustomer(service), await newCustomer(service)];
    const note = await newNote(customer.id);
    const path = `/customers/${other.id}/notes/${note.id}`;
    for (const answer of [
      await service.call('GET', path),
      await service.call('PUT', path, { text: 'Forged' }),
      await service.call('POST', `${path}/hide`, { reason: 'Forged' }),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.body.error.details.resource).toBe('note');
    }
    expect(await noteOf(customer.id, note.id)).toMatchObject({ text: TEXT, hiddenAt: null });
  });

  it('keeps the earlier texts of a correction', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    await service.call('PUT', `/customers/${customerId}/notes/${note.id}`, { text: 'Is paid on the 5th.' });
    await service.call('PUT', `/customers/${customerId}/notes/${note.id}`, { text: 'Is paid on the 6th.' });
    expect(await noteOf(customerId, note.id)).toMatchObject({
      text: 'Is paid on the 6th.',
      correctionCount: 2,
      corrections: [
        { earlierText: TEXT, actor: 'admin@example.com' },
        { earlierText: 'Is paid on the 5th.', actor: 'admin@example.com' },
      ],
    });
  });

  it('is corrected only by its author, also if another user may hide it', async () => {
    const { id: customerId } = await newCustomer(service);
    const author = await service.tokenOf('agent');
    const note = await newNote(customerId, {}, author);
    expect(note.allowedActions).toEqual(['correct', 'pin']);
    const path = `/customers/${customerId}/notes/${note.id}`;
    const refused = await service.call('PUT', path, { text: 'Never said' });
    expect(refused.status).toBe(403);
    expect((await noteOf(customerId, note.id)).allowedActions).toEqual(['pin', 'hide']);
    expect((await service.call('PUT', path, { pinned: true })).body.data.pinned).toBe(true);
    expect((await service.call('PUT', path, { text: 'Corrected' }, { token: author })).status).toBe(200);
  });

  it('is corrected at most 20 times', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    const correct = (n: number) =>
      service.call('PUT', `/customers/${customerId}/notes/${note.id}`, { text: `Text ${n}` });
    for (let n = 1; n <= 20; n++) expect((await correct(n)).status).toBe(200);
    const refused = await correct(21);
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain('20 times');
  });

  it('that is hidden shows its texts only to users who may hide notes', async () => {
    const { id: customerId } = await newCustomer(service);
    const author = await service.tokenOf('agent');
    const note = await newNote(customerId, { pinned: true }, author);
    const path = `/customers/${customerId}/notes/${note.id}`;
    await service.call('PUT', path, { text: 'Her neighbour owes more' }, { token: author });
    const manager = await service.tokenOf('manager');
    const hidden = await service.call(
      'POST',
      `${path}/hide`,
      { reason: 'About another person' },
      { token: manager },
    );
    expect(hidden.status, hidden.text).toBe(200);
    expect(hidden.body.data).toMatchObject({ pinned: false, allowedActions: [] });

    for (const role of ['agent', 'finance', 'viewer']) {
      const token = await service.tokenOf(role);
      const shown = await service.call('GET', path, undefined, { token });
      expect(shown.text).not.toContain('neighbour');
      expect(shown.text).not.toContain('end of the month');
      expect(shown.body.data).toMatchObject({
        text: null,
        hiddenReason: 'About another person',
        corrections: [{ earlierText: null }],
      });
      const listed = await service.call('GET', `/customers/${customerId}/notes`, undefined, { token });
      expect(listed.text).not.toContain('neighbour');
    }
    expect(await noteOf(customerId, note.id, manager)).toMatchObject({
      text: 'Her neighbour owes more',
      corrections: [{ earlierText: TEXT }],
    });
  });

  it('that is hidden cannot be corrected, pinned or hidden again', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    const path = `/customers/${customerId}/notes/${note.id}`;
    await service.call('POST', `${path}/hide`, { reason: 'Wrong' });
    for (const answer of [
      await service.call('PUT', path, { text: 'Again' }),
      await service.call('PUT', path, { pinned: true }),
      await service.call('POST', `${path}/hide`, { reason: 'Twice' }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain('hidden');
    }
    expect((await noteOf(customerId, note.id)).hiddenReason).toBe('Wrong');
  });

  it('is hidden by one of two managers at once', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    const hide = (reason: string) =>
      service.call('POST', `/customers/${customerId}/notes/${note.id}/hide`, { reason });
    const answers = await Promise.all([hide('First'), hide('Second')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('is not corrected from an earlier text that somebody has changed since', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    const path = `/customers/${customerId}/notes/${note.id}`;
    const etag = (await service.call('GET', path)).headers.get('etag') ?? '';
    const correct = (text: string) => service.call('PUT', path, { text }, { headers: { 'if-match': etag } });
    const answers = await Promise.all([correct('One'), correct('Two')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await noteOf(customerId, note.id)).correctionCount).toBe(1);
  });

  it('is written once for two calls with the same Idempotency-Key', async () => {
    const { id: customerId } = await newCustomer(service);
    const options = { headers: { 'idempotency-key': 'note 1' } };
    const send = () => service.call('POST', `/customers/${customerId}/notes`, { text: TEXT }, options);
    expect((await send()).body).toEqual((await send()).body);
    expect((await service.call('GET', `/customers/${customerId}/notes`)).body.data).toHaveLength(1);
  });

  it('returns scripts and spreadsheet formulas as the text that was written', async () => {
    const { id: customerId } = await newCustomer(service);
    const text = '<script>alert(1)</script> =HYPERLINK("http://example.com")';
    const note = await newNote(customerId, { text });
    const answer = await service.call('GET', `/customers/${customerId}/notes/${note.id}`);
    expect(answer.body.data.text).toBe(text);
    expect(answer.headers.get('content-type')).toContain('application/json');
  });

  it.each([
    ['a control character', 'a\u0007b'],
    ['a carriage return', 'a\rb'],
    ['an override of the direction', 'paid \u202e005'],
    ['an isolate of the direction', 'paid \u2067005'],
    ['a mark of the direction', 'paid \u200f005'],
    ['no visible character', ' \n\u200b'],
    ['more than 2,000 characters', 'a'.repeat(2001)],
    ['half of a character', 'a\ud83d'],
  ])('is refused with %s', async (_, text) => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    for (const answer of [
      await service.call('POST', `/customers/${customerId}/notes`, { text }),
      await service.call('PUT', `/customers/${customerId}/notes/${note.id}`, { text }),
    ]) {
      expect(answer.status).toBe(400);
      expect(wrongFields(answer)).toEqual(['text']);
    }
  });

  it('has no text in the audit trail', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId, { text: 'A private remark' });
    await service.call('PUT', `/customers/${customerId}/notes/${note.id}`, {
      text: 'Another private remark',
    });
    const trail = await service.call('GET', `/audit?filter[resource]=note&filter[resourceId]=${note.id}`);
    expect(trail.body.data).toHaveLength(2);
    expect(trail.text).not.toContain('private remark');
  });

  it('cannot be deleted, and its corrections cannot be changed, in the database either', async () => {
    const { id: customerId } = await newCustomer(service);
    const note = await newNote(customerId);
    await service.call('PUT', `/customers/${customerId}/notes/${note.id}`, { text: 'Corrected' });
    const { db } = service.context;
    await expect(sql`delete from notes where id = ${note.id}`.execute(db)).rejects.toThrow('are kept');
    for (const statement of [
      sql`delete from note_corrections where note_id = ${note.id}`,
      sql`update note_corrections set earlier_text = '' where note_id = ${note.id}`,
    ])
      await expect(statement.execute(db)).rejects.toThrow('are kept');
  });
});
