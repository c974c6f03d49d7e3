import { createHash, createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { answerOnce } from '../../src/core/http/idempotency.ts';
import { send } from '../security/wire.ts';
import { newAccount, pay, runJobs, useService } from '../support/harness.ts';
import { untilPasses } from '../support/waiting.ts';

const service = useService();

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest();
const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

describe('Idempotency-Key', () => {
  it('gives a repeat the stored answer and does the work once', async () => {
    const { id: accountId } = await newAccount(service);
    const body = { accountId, amount: 12.34, paymentMethodId: 2 };
    const first = await service.call('POST', '/payments', body, withKey('once'));
    // The alias is the same path, and the order of the fields does not matter.
    const reordered = { paymentMethodId: 2, amount: 12.34, accountId };
    const second = await service.call('POST', '/v1/payments', reordered, withKey('once'));
    expect(first.status).toBe(201);
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(12.34);
  });

  /** Sends the same request with the same key to each target, without changing its spelling. */
  async function sendEach(targets: string[], key: string, body: unknown, method = 'POST') {
    const replies = [];
    for (const path of targets) {
      const headers = { 'idempotency-key': key };
      const sent = { method, path, headers, body: JSON.stringify(body), token: service.adminToken };
      replies.push(await send(service.origin, sent));
    }
    return replies;
  }

  it('is the same key for every spelling of the path', async () => {
    const { id: accountId } = await newAccount(service);
    const spellings = [
      '/api/payments',
      '/api/v1/payments',
      '/api/%70ayments',
      '/api/v1/p%61yments',
      '/%61pi/payments?',
      `${service.origin}/api/payments`,
      'http://another.example/api/v1/p%61yments?',
    ];
    const replies = await sendEach(spellings, 'spelled', { accountId, amount: 2, paymentMethodId: 2 });
    expect(replies.map(({ status }) => status)).toEqual(spellings.map(() => 201));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    const replayed = replies.map(({ headers }) => headers['idempotent-replayed']);
    expect(replayed).toEqual([undefined, ...spellings.slice(1).map(() => 'true')]);
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(2);
  });

  it('is the same key for every spelling of an id in the path, and another key for another id', async () => {
    const { id: accountId } = await newAccount(service);
    const [first, second] = [await pay(service, accountId, 3), await pay(service, accountId, 4)];
    const encoded = [...String(first.id)].map((digit) => `%3${digit}`).join('');
    const spellings = [first.id, encoded, second.id].map((id) => `/api/payments/${id}/reverse`);
    const replies = await sendEach(spellings, 'reversal', { reason: 'entered twice' });
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(replies.map(({ text }) => JSON.parse(text).data.id)).toEqual([first.id, first.id, second.id]);
    expect(replies.map(({ headers }) => headers['idempotent-replayed'])).toEqual([
      undefined,
      'true',
      undefined,
    ]);
  });

  it('does the work once for twenty requests at the same time', async () => {
    const { id: accountId } = await newAccount(service);
    const body = { accountId, amount: 1, paymentMethodId: 2 };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call('POST', '/payments', body, withKey('at once'))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1);
    expect((await service.call('GET', `/accounts/${accountId}/payments`)).body.pagination.total).toBe(1);
  });

  it('refuses another body under the same key with 422', async () => {
    const { id: accountId } = await newAccount(service);
    await service.call('POST', '/payments', { accountId, amount: 1, paymentMethodId: 2 }, withKey('same'));
    const other = await service.call(
      'POST',
      '/payments',
      { accountId, amount: 2, paymentMethodId: 2 },
      withKey('same'),
    );
    expect(other.status).toBe(422);
    expect(other.body.error.code).toBe('VALIDATION_ERROR');
  });

  it('refuses another password, and stores nothing that reveals the password', async () => {
    const user = { email: 'made@example.com', password: 'the first password', firstName: 'A', lastName: 'B' };
    const body = { ...user, role: 'viewer' };
    expect((await service.call('POST', '/users', body, withKey('user'))).status).toBe(201);
    const changed = { ...body, password: 'another password' };
    expect((await service.call('POST', '/users', changed, withKey('user'))).status).toBe(422);
    expect((await service.call('POST', '/users', body, withKey('user'))).status).toBe(201);
    const { rows } = await sql<{ bodyHash: Buffer }>`
      select body_hash as "bodyHash" from idempotency_keys where key = 'user'`.execute(service.context.db);
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(body).sort()));
    expect(rows[0]?.bodyHash).toEqual(hmac(service.context.secret, sorted));
    expect(rows[0]?.bodyHash).not.toEqual(createHash('sha256').update(sorted).digest());
  });

  it('applies to one user and one path', async () => {
    const { id: accountId } = await newAccount(service);
    const body = { accountId, amount: 1, paymentMethodId: 2 };
    const token = await service.signInAs('finance');
    const mine = await service.call('POST', '/payments', body, withKey('shared'));
    const theirs = await service.call('POST', '/payments', body, { token, ...withKey('shared') });
    expect(theirs.body.data.id).not.toBe(mine.body.data.id);
    const customer = { firstName: 'A', lastName: 'B', phone: '+254711222333' };
    expect((await service.call('POST', '/customers', customer, withKey('shared'))).status).toBe(201);
  });

  it('does not keep a refusal: the corrected request may use the key', async () => {
    const { id: accountId } = await newAccount(service);
    const wrong = { accountId, amount: 1, paymentMethodId: 999 };
    expect((await service.call('POST', '/payments', wrong, withKey('retry'))).status).toBe(404);
    const right = { ...wrong, paymentMethodId: 2 };
    expect((await service.call('POST', '/payments', right, withKey('retry'))).status).toBe(201);
  });

  it('rolls back work whose answer cannot be stored, and runs again after a lost race', async () => {
    const { db } = service.context;
    const { id: accountId } = await newAccount(service);
    const pay = (key: string) =>
      service.call('POST', '/payments', { accountId, amount: 5, paymentMethodId: 2 }, withKey(key));
    await sql`create sequence answers_refused`.execute(db);
    await sql`
      create function refuse_answer() returns trigger language plpgsql as $$
      begin
        if new.key = 'never kept' then raise 'no answer is kept'; end if;
        if nextval('answers_refused') = 1 then raise 'lost a race' using errcode = '40001'; end if;
        return new;
      end $$`.execute(db);
    await sql`
      create trigger refuse_answer before insert or update on idempotency_keys for each row
      when (new.key like '% kept' and new.answer is not null) execute function refuse_answer()`.execute(db);

    expect((await pay('never kept')).status).toBe(500);
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(0);
    expect((await pay('later kept')).status).toBe(201);
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(5);
    const { rows } = await sql`
      select (select count(*) from idempotency_keys where key like '% kept') as keys, last_value as answers
      from answers_refused`.execute(db);
    expect(rows).toEqual([{ keys: 1, answers: 2 }]);
  });

  it('keeps the answer of work that ended after its caller was answered 503', async () => {
    const app = buildApp(service.parts);
    let begun = 0;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    app.post(
      '/late',
      { config: { access: 'signed-in', answerTimeoutMs: 50, repeatable: true }, schema: {} },
      (request, reply) =>
        answerOnce(service.context, request, reply, async () => {
          begun += 1;
          await ended;
          return { done: true };
        }),
    );
    const call = () =>
      app.inject({
        ...{ method: 'POST', url: '/late', payload: {} },
        headers: { authorization: `Bearer ${service.adminToken}`, 'idempotency-key': 'late' },
      });
    // A call whose time is over before its handler begins does not begin the work.
    await untilPasses(async () => {
      expect((await call()).statusCode).toBe(503);
      expect(begun).toBe(1);
    });
    const early = call(); // Waits for the transaction of the first call, and may be answered 503 as well.
    end();
    expect([200, 503]).toContain((await early).statusCode);
    const repeat = await untilPasses(async () => {
      const answer = await call();
      expect(answer.statusCode).toBe(200);
      return answer;
    });
    expect(repeat.json()).toEqual({ done: true });
    expect(repeat.headers['idempotent-replayed']).toBe('true');
    expect(begun).toBe(1);
    await app.close();
  });

  it('is remembered for 24 hours of the business clock', async () => {
    const { id: accountId } = await newAccount(service);
    const HOUR_MS = 3_600_000;
    const began = Date.now();
    const payAfter = async (hours: number) => {
      service.clock.set(new Date(began + hours * HOUR_MS));
      await runJobs(service);
      const body = { accountId, amount: 6, paymentMethodId: 2 };
      return (await service.call('POST', '/payments', body, withKey('a day'))).body.data.id;
    };
    const first = await payAfter(1_000);
    expect(await payAfter(1_023.9)).toBe(first);
    expect(await payAfter(1_024.1)).not.toBe(first);
    service.clock.set(null);
    expect((await service.call('GET', `/accounts/${accountId}`)).body.data.paid).toBe(12);
  });

  describe('with an answer that an earlier version stored', () => {
    /** Removes a field from the stored answers of a key, as if it was added later. */
    async function removeField(key: string, path: string, field: string) {
      const { numAffectedRows } = await sql`
        update idempotency_keys set answer = (answer::jsonb #- ${path}::text[])::text
        where key = ${key} and answer::jsonb #> ${path}::text[] is not null`.execute(service.context.db);
      expect(numAffectedRows, field).toBeGreaterThan(0n);
    }

    /** Repeats a call. Its answer does not fit the API description, because a field is missing. */
    async function repeat(path: string, body: object, key: string, method = 'POST') {
      const [reply] = await sendEach([`/api${path}`], key, body, method);
      if (!reply) throw new Error('The repeat has no answer.');
      const isReplay = reply.headers['idempotent-replayed'] === 'true';
      return { status: reply.status, body: JSON.parse(reply.text), isReplay };
    }

    /** Expects that the repeat of a call has the answer without the field. */
    async function expectReplayWithout(field: string, path: string, body: object, method = 'POST') {
      const key = `earlier ${path}`;
      const first = await service.call(method, path, body, withKey(key));
      const { [field]: _removed, ...data } = first.body.data;
      await removeField(key, `{data,${field}}`, field);
      const replayed = await repeat(path, body, key, method);
      expect([replayed.status, replayed.body]).toEqual([first.status, { ...first.body, data }]);
      expect(replayed.isReplay).toBe(true);
    }

    it('is sent without the fields that were added later', async () => {
      const { id: accountId, customerId, productId } = await newAccount(service);
      const customer = { firstName: 'A', lastName: 'B', phone: '+254711222334' };
      await expectReplayWithout('phoneProblem', '/customers', customer);
      const account = { customerId, productId, payplanId: 2 };
      await expectReplayWithout('allowedMoves', '/accounts', account);
      const payment = { accountId, amount: 1, paymentMethodId: 2 };
      await expectReplayWithout('externalId', '/payments', payment);
      const kyc = { verificationType: 'passport', verificationStatus: 'pending' };
      await expectReplayWithout('documents', `/customers/${customerId}/kyc`, kyc, 'PUT');
    });

    it('is sent by a bulk call, also for the items of an interrupted call', async () => {
      const { id: accountId } = await newAccount(service);
      const calls: [string, string, object][] = [
        ['customers', 'phoneProblem', { firstName: 'A', lastName: 'B', phone: '+254711222335' }],
        ['accounts', 'allowedMoves', { customerId: 1, productId: 1, payplanId: 2 }],
        ['payments', 'externalId', { accountId, amount: 1, paymentMethodId: 2 }],
      ];
      for (const [resource, field, item] of calls) {
        const key = `earlier ${resource}`;
        const [path, body] = [`/${resource}/bulk`, { items: [item] }];
        const first = await service.call('POST', path, body, withKey(key));
        const [created] = first.body.data.items;
        const { [field]: _removed, ...data } = created.data;
        const expected = { ...first.body.data, items: [{ ...created, data }] };
        await removeField(key, `{data,items,0,data,${field}}`, field);
        expect((await repeat(path, body, key)).body.data, resource).toEqual(expected);
        // An interrupted call has stored the answers of its items only.
        await removeField(key, `{${field}}`, field);
        await sql`delete from idempotency_keys where key = ${key} and path not like '%#%'`.execute(
          service.context.db,
        );
        expect((await repeat(path, body, key)).body.data, resource).toEqual(expected);
      }
    });

    it('is sent without the fields that were removed later', async () => {
      const customer = { firstName: 'A', lastName: 'B', phone: '+254711222336' };
      const first = await service.call('POST', '/customers', customer, withKey('removed'));
      await sql`
        update idempotency_keys set answer = jsonb_set(answer::jsonb, '{data,secret}', '"s"')::text
        where key = 'removed'`.execute(service.context.db);
      expect((await service.call('POST', '/customers', customer, withKey('removed'))).body).toEqual(
        first.body,
      );
    });
  });

  it('must have 1 to 255 characters', async () => {
    const { id: accountId } = await newAccount(service);
    const body = { accountId, amount: 1, paymentMethodId: 2 };
    expect((await service.call('POST', '/payments', body, withKey('x'.repeat(256)))).status).toBe(400);
    expect((await service.call('POST', '/payments', body, withKey(''))).status).toBe(400);
  });
});
