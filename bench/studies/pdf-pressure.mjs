// How much do PDFs slow other calls down? Runs the built program on an embedded database of its own, calls
// GET /accounts/:id in a closed loop, and compares its p95 idle with its p95 while 20 PDFs at a time are
// being printed. Loopback only; about half a minute.
//
//   npm run build && node bench/studies/pdf-pressure.mjs
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROUNDS = 5;
const ROUND_MS = 2_000;
const CALLERS = 2;
const PDFS_AT_ONCE = 20;
const ITEMS = 30;

const dataDir = await mkdtemp(join(tmpdir(), 'ams-bench-'));
const port = await freePort();
const base = `http://127.0.0.1:${port}/api`;
const off = { RATE_LIMIT_AUTH: '0', RATE_LIMIT_GENERAL: '0', RATE_LIMIT_BULK: '0' };
const service = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'dist', 'server.js')], {
  env: {
    ...process.env,
    ...off,
    PORT: String(port),
    DATA_DIR: dataDir,
    DATABASE_URL: '',
    LOG_LEVEL: 'error',
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});

try {
  await untilReady();
  const password = 'a long enough password';
  const user = { email: 'bench@example.com', password, firstName: 'B', lastName: 'B' };
  const token = (await call('POST', '/auth/register', user)).accessToken;
  const customer = await call(
    'POST',
    '/customers',
    { firstName: 'Ольга', lastName: 'ወልደ', phone: '+254711000001' },
    token,
  );
  const account = await call(
    'POST',
    '/accounts',
    { customerId: customer.id, productId: 1, payplanId: 2 },
    token,
  );
  const invoices = [];
  for (let n = 0; n < PDFS_AT_ONCE; n++) {
    const items = Array.from({ length: ITEMS }, (_, k) => ({
      description: `Line ${n}.${k}: cable, кабель, ገመድ, كابل`,
      quantity: 1.5,
      unitPrice: 100 + k,
    }));
    invoices.push(await call('POST', '/invoices', { accountId: account.id, items }, token));
  }
  const readAccount = () => get(`/accounts/${account.id}`, token);
  await measure(readAccount, CALLERS, ROUND_MS); // warm-up
  await Promise.all(invoices.map(({ id }) => get(`/invoices/${id}/pdf`, token)));

  const idle = [];
  const pressed = [];
  const pdf = [];
  for (let round = 0; round < ROUNDS; round++) {
    idle.push(await measure(readAccount, CALLERS, ROUND_MS));
    let next = 0;
    const [reads, prints] = await Promise.all([
      measure(readAccount, CALLERS, ROUND_MS),
      measure(
        () => get(`/invoices/${invoices[next++ % invoices.length].id}/pdf`, token),
        PDFS_AT_ONCE,
        ROUND_MS,
      ),
    ]);
    pressed.push(reads);
    pdf.push(prints);
  }
  const p95Idle = median(idle.map((round) => round.p95));
  const p95Pressed = median(pressed.map((round) => round.p95));
  console.log(`GET /accounts/:id, ${CALLERS} callers, medians of ${ROUNDS} rounds of ${ROUND_MS} ms:`);
  console.log(`  idle       p50 ${ms(median(idle.map((r) => r.p50)))}  p95 ${ms(p95Idle)}`);
  console.log(
    `  under PDFs p50 ${ms(median(pressed.map((r) => r.p50)))}  p95 ${ms(p95Pressed)}  = ${(p95Pressed / p95Idle).toFixed(2)} x`,
  );
  console.log(
    `PDFs of ${ITEMS} items, ${PDFS_AT_ONCE} at once: ${(median(pdf.map((r) => r.count)) / (ROUND_MS / 1000)).toFixed(0)} a second`,
  );
  const alone = await measure(() => get(`/invoices/${invoices[0].id}/pdf`, token), 1, ROUND_MS);
  console.log(`One PDF at a time, nothing else: p50 ${ms(alone.p50)}  p95 ${ms(alone.p95)}`);
} finally {
  service.kill('SIGTERM');
  await once(service, 'exit');
  await rm(dataDir, { recursive: true, force: true });
}

/** Calls in a closed loop for a while; times of every call in ms. */
async function measure(work, callers, durationMs) {
  const end = performance.now() + durationMs;
  const times = [];
  const loop = async () => {
    while (performance.now() < end) {
      const start = performance.now();
      await work();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, loop));
  times.sort((a, b) => a - b);
  return { count: times.length, p50: times[times.length >> 1], p95: times[Math.floor(times.length * 0.95)] };
}

async function call(method, path, body, token) {
  const response = await fetch(base + path, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

async function get(path, token) {
  const response = await fetch(base + path, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`);
}

async function untilReady() {
  for (let attempt = 0; attempt < 300; attempt++) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the service did not start');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address();
  server.close();
  await once(server, 'close');
  return free;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

function ms(value) {
  return `${value.toFixed(1)} ms`;
}
