import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { report } from '../acceptance/process.ts';
import { committedDescription, examplesOfMedia } from '../support/api-description.ts';
import { newAccount, newApiKey, newCustomer, PASSWORD, pay, useService } from '../support/harness.ts';
import { type Sent, send } from './wire.ts';

/** Ways around the table of rights. test/every-route.test.ts tests each route with each role. */
const service = useService();
const ROLES = ['manager', 'finance', 'agent', 'viewer'] as const;
type Role = (typeof ROLES)[number];

/** Users, each with an API key of the same role. */
const people = {} as Record<Role, { token: string; key: string; id: number; email: string }>;
/** Even the key of an admin must not have the permissions that no API key may have. */
let adminKey: string;
let accountId: number;
let paymentId: number;
let customerId: number;

beforeAll(async () => {
  for (const role of ROLES) {
    const token = await service.signInAs(role);
    const me = await service.call('GET', '/auth/me', undefined, { token });
    const { key } = await newApiKey(service, role);
    people[role] = { token, key, id: me.body.data.id, email: me.body.data.email };
  }
  adminKey = (await newApiKey(service, 'admin')).key;
  accountId = (await newAccount(service)).id;
  paymentId = (await pay(service, accountId, 50)).id;
  customerId = (await newCustomer(service)).id;
});

/** The rows that determine money, identity and rights, as text. */
async function state(): Promise<string> {
  const { rows } = await sql<{ state: string }>`select jsonb_build_object(
    'users', (select jsonb_agg(jsonb_build_array(id, role, active, password_hash, employee_id) order by id) from users),
    'keys', (select jsonb_agg(jsonb_build_array(id, role, permissions, networks, expires_at, revoked_at) order by id) from api_keys),
    'secrets', (select jsonb_agg(to_jsonb(s) order by secret_hash) from api_key_secrets s),
    'kyc', (select jsonb_agg(to_jsonb(k) order by id) from kyc_records k),
    'customers', (select jsonb_agg(jsonb_build_array(id, kyc_status) order by id) from customers),
    'payments', (select jsonb_agg(jsonb_build_array(id, status, account_id, reconciliation_id) order by id) from payments),
    'accounts', (select jsonb_agg(jsonb_build_array(id, status) order by id) from accounts),
    'catalogue', (select jsonb_agg(to_jsonb(p) order by id) from products p),
    'rules', (select jsonb_agg(to_jsonb(r) order by id) from commission_rules r),
    'commissions', (select jsonb_agg(to_jsonb(c) order by id) from commissions c)
  )::text as state`.execute(service.context.db);
  return rows[0]?.state ?? '';
}

/** The request in all spellings that could pass a faulty access check. */
function disguises(method: string, path: string, body: unknown): Sent[] {
  const text = JSON.stringify(body);
  const below = path.replace(/^\/api/, '');
  const paths = [
    path,
    `/api/v1${below}`,
    `${path}/`,
    `/api/${below}`,
    `//api${below}`,
    `/API${below}`,
    path.toUpperCase(),
    `/api/public/..${below}`,
    `/api/.${below}`,
    `${path}?role=admin`,
    `${path}#admin`,
    `${path}%20`,
    `${path}.json`,
    path.replace(/\/([a-z])/, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`),
    `/api-docs/..${path}`,
    `/health/..${path}`,
  ];
  const headers = [
    {},
    { 'x-original-url': path, 'x-rewrite-url': path },
    { 'x-role': 'admin', 'x-user-id': '1', 'x-forwarded-user': 'admin@example.com' },
    { 'x-http-method-override': method, 'x-method-override': method, 'x-http-method': method },
  ];
  const methods = [method, 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  return [
    ...paths.flatMap((one) => headers.map((header) => ({ method, path: one, headers: header, body: text }))),
    ...methods.map((one) => ({
      method: one,
      path: `${path}?_method=${method}`,
      headers: headers[3] ?? {},
      body: text,
    })),
  ];
}

/** Requests from which a user could profit, with the roles that may not send them. */
const FORBIDDEN: [what: string, roles: readonly Role[], make: () => [string, string, unknown]][] = [
  [
    'verifies KYC',
    ['finance', 'agent', 'viewer'],
    () => [
      'PUT',
      `/api/customers/${customerId}/kyc`,
      { verificationType: 'passport', verificationStatus: 'verified', documents: [] },
    ],
  ],
  [
    'reverses a payment',
    ['agent', 'viewer'],
    () => ['POST', `/api/payments/${paymentId}/reverse`, { reason: 'mine' }],
  ],
  ['reconciles', ['agent', 'viewer'], () => ['POST', '/api/payments/reconcile', { paymentIds: [paymentId] }]],
  ['assigns money', ['agent', 'viewer'], () => ['POST', `/api/payments/${paymentId}/assign`, { accountId }]],
  [
    'writes an account off',
    ['finance', 'agent', 'viewer'],
    () => ['PUT', `/api/accounts/${accountId}`, { status: 'cancelled', reason: 'mine' }],
  ],
  ['raises a role', ROLES, () => ['PUT', `/api/users/${people.agent.id}`, { role: 'admin' }]],
  [
    'makes an admin',
    ROLES,
    () => [
      'POST',
      '/api/users',
      { email: 'evil@example.com', password: PASSWORD, firstName: 'E', lastName: 'V', role: 'admin' },
    ],
  ],
  ['takes the admin’s password', ROLES, () => ['PUT', '/api/users/1', { password: 'taken over by me' }]],
  ['makes an API key', ROLES, () => ['POST', '/api/api-keys', { name: 'Mine', role: 'admin' }]],
  ['takes over an API key', ROLES, () => ['POST', '/api/api-keys/1/rotate', { overlapSeconds: 0 }]],
  ['opens an API key to the world', ROLES, () => ['PUT', '/api/api-keys/1', { networks: null }]],
  [
    'sets commissions',
    ['finance', 'agent', 'viewer'],
    () => ['POST', '/api/commissions/rules', { rateBasisPoints: 10_000 }],
  ],
  [
    'pays itself',
    ['agent', 'viewer'],
    () => ['POST', '/api/commissions/calculate', { employeeId: 1, period: '2026-03' }],
  ],
  ['changes prices', ['finance', 'agent', 'viewer'], () => ['PUT', '/api/products/1', { price: 1 }]],
];

describe('without the right', () => {
  it.each(FORBIDDEN)('no caller %s, in any disguise', async (what, roles, make) => {
    const before = await state();
    let sent = 0;
    const callers = roles.flatMap((role) => [people[role].token, people[role].key]);
    if (roles === ROLES) callers.push(adminKey);
    for (const token of callers) {
      for (const disguise of disguises(...make())) {
        const { status, text } = await send(service.origin, { ...disguise, token });
        sent += 1;
        // A spelling that becomes a read needs another permission. It may succeed, because `state` shows that nothing changes.
        const isRead =
          disguise.method === 'GET' || disguise.method === 'HEAD' || disguise.method === 'OPTIONS';
        if (!isRead) expect([400, 403, 404], `${disguise.method} ${disguise.path} ${text}`).toContain(status);
      }
    }
    expect(await state()).toBe(before);
    report(`${what}: ${sent} attempts, no effect`);
  });

  it('an agent submits KYC as pending, and cannot decide it by submitting it again', async () => {
    const { token } = people.agent;
    const submit = (verificationStatus: string) =>
      service.call(
        'PUT',
        `/customers/${customerId}/kyc`,
        { verificationType: 'passport', verificationStatus },
        { token },
      );
    expect((await submit('pending')).status).toBe(200);
    for (const status of ['verified', 'rejected', 'expired']) expect((await submit(status)).status).toBe(403);
    expect((await service.call('GET', `/customers/${customerId}`)).body.data.kycStatus).toBe('pending');
  });

  it('does not replay a stored answer to a user without the right to the operation', async () => {
    const key = { 'idempotency-key': 'known-to-both' };
    const body = { paymentIds: [paymentId] };
    const first = await service.call('POST', '/payments/reconcile', body, { headers: key });
    expect(first.status).toBe(200);
    const { token } = people.agent;
    const stolen = await service.call('POST', '/payments/reconcile', body, { token, headers: key });
    expect(stolen.status).toBe(403);
    const other = await service.call('POST', '/payments/reconcile', body, {
      token: people.finance.token,
      headers: key,
    });
    expect(other.headers.get('idempotent-replayed')).toBeNull();
  });
});

describe('a user', () => {
  it('cannot raise their own role through any operation, whatever fields they add', async () => {
    const writes = committedDescription().operations.filter(
      ({ body, name }) => body && !name.includes('/auth/logout') && !name.includes('/test/clock'),
    );
    const raises = [{ role: 'admin' }, { user: { role: 'admin' } }, { roles: ['admin'] }, { isAdmin: true }];
    let sent = 0;
    for (const role of ROLES) {
      const { token, id } = people[role];
      for (const { method, path, body } of writes) {
        const [example] = body ? examplesOfMedia(body) : [];
        for (const raise of raises) {
          const target = path.replace('/api/users/{id}', `/api/users/${id}`).replace(/\{\w+\}/g, '1');
          const right = { ...(example as object), ...raise };
          for (const prefix of ['/api', '/api/v1']) {
            await send(service.origin, {
              method,
              path: target.replace(/^\/api/, prefix),
              token,
              body: JSON.stringify(right),
            });
            sent += 1;
          }
        }
      }
      const me = await service.call('GET', '/auth/me', undefined, { token });
      expect(me.body.data, role).toMatchObject({ id, role });
    }
    const { rows } = await sql<{ admins: number }>`
      select count(*) as admins from users where role = 'admin'`.execute(service.context.db);
    expect(rows[0]?.admins).toBe(1);
    report(`${sent} writes that ask for a role: nobody has another`);
  });

  it('cannot sign in as another by an e-mail that looks the same', async () => {
    const lookalikes = [
      'аdmin@example.com',
      'admin@example.com\u200b',
      'ａdmin@example.com',
      'admin@examp1e.com',
    ];
    for (const email of lookalikes) {
      const body = { email, password: PASSWORD, firstName: 'A', lastName: 'B' };
      const answer = await service.call('POST', '/auth/register', body, { token: null });
      if (answer.status === 201) expect(answer.body.data.user.role, email).toBe('manager');
      const login = await service.call(
        'POST',
        '/auth/login',
        { email: 'admin@example.com', password: PASSWORD },
        { token: null },
      );
      expect(login.body.data.user.id).toBe(1);
    }
  });
});
