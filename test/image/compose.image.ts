import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createCaller, notification } from '../support/http.ts';
import { run } from '../support/processes.ts';

const PASSWORD = 'a long enough password';
const SECRETS = {
  POSTGRES_PASSWORD: 'password-of-the-database',
  JWT_SECRET: 'a secret of this test, longer than 32 bytes',
  WEBHOOK_SECRET: 'what the provider sends',
};
/** The names that podman-compose gives to containers. */
const [FIRST, SECOND] = ['ams_service-1_1', 'ams_service-2_1'];
const first = createCaller('http://127.0.0.1:8081/api');
const second = createCaller('http://127.0.0.1:8082/api');
let token: string;

beforeAll(async () => {
  await compose('up', '-d', '--no-build');
  await Promise.all([untilReady(8081), untilReady(8082)]);
});

afterAll(() => compose('down', '--volumes'));

test('the image contains the build and the three packages that are not bundled, and no sources, tests or source maps', async () => {
  const files = (await inside(FIRST, 'find', '.', '-type', 'f')).split('\n');
  const folders = new Set(files.map((file) => file.split('/').slice(1, 2).join()));
  expect([...folders].sort()).toEqual([
    ...[
      'LICENSE',
      'dist',
      'fonts',
      'migrations',
      'node_modules',
      'package.json',
      'scripts',
      'templates',
      'web',
    ],
  ]);
  const packages = new Set(
    files.flatMap((file) => /^\.\/node_modules\/(@[^/]+\/[^/]+)/.exec(file)?.[1] ?? []),
  );
  expect([...packages].map((name) => name.replace(/-linux-.*/, '')).sort()).toEqual([
    ...[
      '@fastify/swagger-ui',
      '@myriaddreamin/typst-ts-node-compiler',
      '@myriaddreamin/typst-ts-node-compiler',
    ],
    ...['@node-rs/argon2', '@node-rs/argon2'],
  ]);
  expect(files.filter((file) => /\.map$|\.ts$|\.tsx$/.test(file) && !file.includes('node_modules'))).toEqual(
    [],
  );
});

test('the service runs as a user without rights, on a file system that it cannot write to', async () => {
  expect(await inside(FIRST, 'id', '-un')).toBe('node');
  expect(await inside(FIRST, 'grep', '-E', '^(CapEff|CapBnd|NoNewPrivs)', '/proc/1/status')).toMatch(
    /^CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1$/,
  );
  for (const folder of ['/app', '/etc', '/home/node', '/var']) {
    await expect(inside(FIRST, 'touch', `${folder}/file`)).rejects.toThrow('Read-only file system');
  }
});

test('create-admin works inside the container, and the admin signs in on the other instance', async () => {
  const name = ['--email', 'admin@example.com', '--first-name', 'First', '--last-name', 'Admin'];
  const created = await podman(
    ...['exec', '--env', `ADMIN_PASSWORD=${PASSWORD}`, FIRST, 'npm', 'run', 'create-admin', '--', ...name],
  );
  expect(created).toContain('admin@example.com can sign in as admin.');
  const session = await second('POST', '/auth/login', { email: 'admin@example.com', password: PASSWORD });
  expect(session.status, session.text).toBe(200);
  token = session.body.data.accessToken;
});

test('a notification that one instance accepts is a payment of the account on the other', async () => {
  const product = await create('/products', { sku: 'P1', name: 'Pump', category: 'pumps', price: 50_000 });
  const payplan = await create('/payplans', {
    ...{ name: 'Weekly', deposit: 2000, instalmentAmount: 400, instalmentCount: 52, frequency: 'weekly' },
  });
  const customer = await create('/customers', {
    firstName: 'Amina',
    lastName: 'Otieno',
    phone: '+254712345678',
  });
  const account = await create('/accounts', {
    ...{ customerId: customer.id, productId: product.id, payplanId: payplan.id },
  });
  const said = notification({ BillRefNumber: account.accountNumber, TransAmount: '2000.00' });
  const headers = { 'x-webhook-secret': SECRETS.WEBHOOK_SECRET };
  const taken = await second('POST', '/webhooks/payments/mobilemoney', said, { token: null, headers });
  expect(taken.status, taken.text).toBe(200);

  const payments = await first('GET', `/accounts/${account.id}/payments`, undefined, { token });
  expect(payments.body.data).toMatchObject([
    { transactionRef: said.TransID, amount: 2000, status: 'matched' },
  ]);
  const statement = await first('GET', `/accounts/${account.id}/statement?format=pdf`, undefined, { token });
  expect(statement.status, statement.text.slice(0, 300)).toBe(200);
  expect(statement.text).toMatch(/^%PDF/);
});

test('verify proves the books inside the container', async () => {
  expect(await inside(FIRST, 'npm', 'run', 'verify')).toMatch(/^All \d+ checks pass/m);
});

test('the health check of the image passes, and the instances reach PostgreSQL and Redis', async () => {
  const health = await fetch('http://127.0.0.1:8082/health');
  expect(await health.json()).toMatchObject({ database: 'up', redis: 'up' });
  await podman('healthcheck', 'run', FIRST);
});

test('a stopped container ends by itself with exit code 0, while the other serves', async () => {
  await podman('stop', SECOND);
  expect(await podman('inspect', '--format', '{{.State.ExitCode}}', SECOND)).toBe('0');
  const answer = await first('GET', '/customers', undefined, { token });
  expect(answer.status).toBe(200);
});

async function create(path: string, body: unknown) {
  const answer = await first('POST', path, body, { token });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data;
}

function compose(...args: string[]) {
  return output('podman-compose', '--project-name', 'ams', '--file', 'compose.yaml', ...args);
}

function inside(container: string, ...command: string[]): Promise<string> {
  return podman('exec', container, ...command);
}

function podman(...args: string[]): Promise<string> {
  return output('podman', ...args);
}

/** Runs a program. run.sh has put its own `podman` first in the PATH. It uses the storage of the test. */
async function output(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(program, args, { env: { ...process.env, ...SECRETS }, timeout: 240_000 });
  return stdout.trim();
}

async function untilReady(port: number): Promise<void> {
  const look = async () => {
    const { status } = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(status).toBe(200);
  };
  await vi.waitFor(look, { timeout: 180_000, interval: 1000 });
}
