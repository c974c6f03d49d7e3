import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { dataOf, forgetCredentials, PASSWORD, useService, wrongFields } from '../support/harness.ts';

const service = useService();
let count = 0;

/** A user whom the admin created. */
async function newUser(fields: Record<string, unknown> = {}) {
  count += 1;
  const body = {
    email: `made${count}@example.com`,
    password: PASSWORD,
    firstName: 'Made',
    lastName: 'User',
    role: 'manager',
    ...fields,
  };
  return dataOf(service.call('POST', '/users', body), 201);
}

async function newEmployee(): Promise<number> {
  const row = await service.context.db
    .insertInto('employees')
    .values({ name: 'Field Agent' })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

function signIn(email: string, password = PASSWORD) {
  return service.call('POST', '/auth/login', { email, password }, { token: null });
}

async function tokenOf(email: string): Promise<string> {
  return (await dataOf(signIn(email))).accessToken;
}

function auditOf(id: number) {
  return service.context.db
    .selectFrom('audit_entries')
    .selectAll()
    .where('resource', '=', 'user')
    .where('resource_id', '=', id)
    .orderBy('id')
    .execute();
}

describe('POST /users', () => {
  it('creates a user who can sign in', async () => {
    const employeeId = await newEmployee();
    const user = await newUser({ email: 'Wanjiru@Example.com', role: 'agent', employeeId });
    expect(user).toEqual({
      id: expect.any(Number),
      email: 'Wanjiru@Example.com',
      firstName: 'Made',
      lastName: 'User',
      role: 'agent',
      active: true,
      employeeId,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await signIn('wanjiru@example.com')).body.data.user).toEqual(user);
  });

  it('writes no secret to the audit trail', async () => {
    const user = await newUser();
    const [entry] = await auditOf(user.id);
    expect(entry).toMatchObject({ action: 'user.create', actor: 'admin@example.com' });
    expect(JSON.stringify(entry)).not.toMatch(/argon2|password/);
  });

  it('names every wrong field', async () => {
    const body = {
      email: 'no',
      password: 'short',
      firstName: '',
      role: 'owner',
      employeeId: 'x',
      admin: true,
    };
    expect(wrongFields(await service.call('POST', '/users', body))).toEqual([
      'admin',
      'email',
      'employeeId',
      'firstName',
      'lastName',
      'password',
      'role',
    ]);
  });

  it('refuses an employee that does not exist', async () => {
    const fields = {
      email: 'x@example.com',
      password: PASSWORD,
      firstName: 'A',
      lastName: 'B',
      role: 'agent',
    };
    const answer = await service.call('POST', '/users', { ...fields, employeeId: 987654 });
    expect(answer.status).toBe(404);
    expect(answer.body.error).toMatchObject({
      code: 'NOT_FOUND',
      details: { resource: 'employee', field: 'employeeId', id: 987654 },
    });
  });
});

describe('GET /users', () => {
  it('lists users with sorts and filters, without password hashes', async () => {
    const employeeId = await newEmployee();
    const one = await newUser({ lastName: 'Zuberi', role: 'finance', employeeId });
    const two = await newUser({ lastName: 'Achieng', role: 'finance' });
    const list = await service.call('GET', '/users?filter[role]=finance&sort=lastName:asc&limit=100');
    const ids = list.body.data.map(({ id }: { id: number }) => id);
    expect(ids.indexOf(two.id)).toBeLessThan(ids.indexOf(one.id));
    expect(list.text).not.toMatch(/argon2|password|emailKey/);
    expect(list.body.data.find(({ id }: { id: number }) => id === one.id)).toEqual(one);

    const queries = {
      [`filter[employeeId]=${employeeId}`]: [one.id],
      [`filter[email]=${two.email.toUpperCase()}`]: [two.id],
      [`filter[id][in]=${one.id},${two.id}&filter[employeeId][isnull]=true`]: [two.id],
      [`filter[id]=${one.id}&filter[active]=false`]: [],
      [`filter[firstName][contains]=ad&filter[createdAt][gte]=2000-01-01&filter[id]=${one.id}`]: [one.id],
    };
    for (const [query, expected] of Object.entries(queries)) {
      const answer = await service.call('GET', `/users?${query}`);
      expect(answer.status, answer.text).toBe(200);
      expect(
        answer.body.data.map(({ id }: { id: number }) => id),
        query,
      ).toEqual(expected);
    }
  });

  it('refuses an unknown field and an unknown role', async () => {
    for (const query of ['filter[passwordHash]=x', 'sort=passwordHash', 'filter[role]=owner']) {
      expect((await service.call('GET', `/users?${query}`)).status, query).toBe(400);
    }
  });
});

describe('PUT /users/:id', () => {
  it('changes only the fields sent, and removes the employee for null', async () => {
    const employeeId = await newEmployee();
    const user = await newUser();
    const named = await service.call('PUT', `/users/${user.id}`, { firstName: 'Njeri', employeeId });
    expect(named.body.data).toEqual({
      ...user,
      firstName: 'Njeri',
      employeeId,
      updatedAt: expect.any(String),
    });
    const cleared = await service.call('PUT', `/users/${user.id}`, { employeeId: null });
    expect(cleared.body.data).toMatchObject({ firstName: 'Njeri', employeeId: null });
    const entry = (await auditOf(user.id)).at(-1);
    expect(entry).toMatchObject({
      action: 'user.change',
      before: { employeeId },
      after: { employeeId: null },
    });
  });

  it('refuses another e-mail and an unknown employee', async () => {
    const user = await newUser();
    const email = await service.call('PUT', `/users/${user.id}`, { email: 'new@example.com' });
    expect(wrongFields(email)).toEqual(['email']);
    const employee = await service.call('PUT', `/users/${user.id}`, { employeeId: 987654 });
    expect(employee.status).toBe(404);
    expect(employee.body.error.details).toMatchObject({ resource: 'employee', field: 'employeeId' });
  });

  it('sets a new password, ends all sessions, and audits no secret', async () => {
    const user = await newUser();
    const { accessToken, refreshToken } = (await signIn(user.email)).body.data;
    const changed = await service.call('PUT', `/users/${user.id}`, { password: 'another long password' });
    expect(changed.status).toBe(200);
    expect((await signIn(user.email)).body.error.code).toBe('AUTH_FAILED');
    expect((await signIn(user.email, 'another long password')).status).toBe(200);
    expect((await service.call('GET', '/auth/me', undefined, { token: accessToken })).status).toBe(401);
    const refreshed = await service.call('POST', '/auth/refresh', { refreshToken }, { token: null });
    expect(refreshed.status).toBe(401);
    const entry = (await auditOf(user.id)).at(-1);
    expect(entry).toMatchObject({ after: { passwordChanged: true } });
    expect(JSON.stringify(entry)).not.toMatch(/argon2|another long/);
  });

  it('disables a user: sign-in fails, and cached sessions end within 5 seconds', async () => {
    const user = await newUser();
    const token = await tokenOf(user.email);
    const me = () => service.call('GET', '/auth/me', undefined, { token });
    expect((await me()).status).toBe(200); // Now the instance has the session in its cache.
    await service.call('PUT', `/users/${user.id}`, { active: false });
    expect((await signIn(user.email)).body.error.code).toBe('AUTH_FAILED');
    forgetCredentials(service);
    expect((await me()).status).toBe(401);

    await service.call('PUT', `/users/${user.id}`, { active: true });
    expect((await me()).status, 'an ended session stays ended').toBe(401);
    expect((await signIn(user.email)).status).toBe(200);
  });

  it('sets a role that takes effect in live sessions within 5 seconds', async () => {
    const user = await newUser({ role: 'viewer' });
    const token = await tokenOf(user.email);
    const list = () => service.call('GET', '/users', undefined, { token });
    expect((await list()).status).toBe(403);
    await service.call('PUT', `/users/${user.id}`, { role: 'admin' });
    forgetCredentials(service);
    expect((await list()).status).toBe(200);
    await service.call('PUT', `/users/${user.id}`, { role: 'viewer' });
    forgetCredentials(service);
    expect((await list()).status).toBe(403);
  });

  it('creates no session for a sign-in that is concurrent with a new password', async () => {
    for (let round = 0; round < 5; round++) {
      const user = await newUser();
      const [signedIn] = await Promise.all([
        signIn(user.email),
        service.call('PUT', `/users/${user.id}`, { password: 'another long password' }),
      ]);
      if (signedIn.status === 401) continue;
      const token = signedIn.body.data.accessToken;
      expect((await service.call('GET', '/auth/me', undefined, { token })).status).toBe(401);
    }
  });
});

describe('the last active admin', () => {
  const own = useService();
  beforeEach(async () => {
    await sql`
      update users set active = id = 1, role = case when id = 1 then 'admin' else role end`.execute(
      own.context.db,
    );
    await sql`update sessions set revoked_at = null`.execute(own.context.db);
    forgetCredentials(own);
  });

  it('can neither be disabled nor get another role', async () => {
    const me = (await own.call('GET', '/auth/me')).body.data;
    const role = await own.call('PUT', `/users/${me.id}`, { role: 'manager' });
    expect(wrongFields(role)).toEqual(['role']);
    const active = await own.call('PUT', `/users/${me.id}`, { active: false, role: 'admin' });
    expect(wrongFields(active)).toEqual(['active']);
    expect(active.body.error.message).toMatch(/last active admin/);
    expect((await own.call('PUT', `/users/${me.id}`, { role: 'admin', firstName: 'Still' })).status).toBe(
      200,
    );

    // A disabled admin does not count.
    const second = {
      email: 'second@example.com',
      password: PASSWORD,
      firstName: 'A',
      lastName: 'B',
      role: 'admin',
    };
    const { id } = (await own.call('POST', '/users', second)).body.data;
    expect((await own.call('PUT', `/users/${id}`, { active: false })).status).toBe(200);
    expect(wrongFields(await own.call('PUT', `/users/${me.id}`, { role: 'viewer' }))).toEqual(['role']);
    await own.call('PUT', `/users/${id}`, { active: true });
    expect((await own.call('PUT', `/users/${me.id}`, { role: 'viewer' })).status).toBe(200);
  });

  it('stays when two admins demote or disable each other concurrently', async () => {
    const fields = { password: PASSWORD, firstName: 'A', lastName: 'B', role: 'admin' };
    const first = (await own.call('GET', '/auth/me')).body.data;
    const made = await own.call('POST', '/users', { ...fields, email: 'other@example.com' });
    const second = made.body.data;
    const login = { email: 'other@example.com', password: PASSWORD };
    const signedIn = await own.call('POST', '/auth/login', login, { token: null });
    const otherToken = signedIn.body.data.accessToken;
    for (let round = 0; round < 10; round++) {
      const change = round % 2 ? { role: 'viewer' } : { active: false };
      const answers = await Promise.all([
        own.call('PUT', `/users/${second.id}`, change),
        own.call('PUT', `/users/${first.id}`, change, { token: otherToken }),
      ]);
      const left = await own.context.db
        .selectFrom('users')
        .select('id')
        .where('role', '=', 'admin')
        .where('active', '=', true)
        .execute();
      expect(left).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      await own.context.db
        .updateTable('users')
        .set({ role: 'admin', active: true })
        .where('id', 'in', [first.id, second.id])
        .execute();
      await own.context.db.updateTable('sessions').set({ revoked_at: null }).execute();
      forgetCredentials(own);
    }
  });
});
