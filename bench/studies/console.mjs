/**
 * Measures when the account page of the console is usable on a slow phone: 400 kbit/s, 400 ms of latency, a CPU four times
 * slower. Builds the console with Preact and with React. Each round opens the page with both builds, first with an empty cache
 * ("cold") and then with a full cache ("cached").
 *
 *   npm run build && node bench/studies/console.mjs [--rounds=5]
 *
 * Needs chromium-headless-shell or chromium. The build with Preact remains in web/dist.
 * Result (an idle machine with two cores, medians of 5 rounds): React 4.9 s cold and 2.1 s cached, Preact 3.4 s cold and 1.9 s
 * cached. On a busy machine: Preact 4.7 s cold.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { readOptions } from '../lib/open-bench.mjs';
import { CHROMIUM, openPrograms, stop } from '../lib/programs.mjs';
import { loadBefore, log, medianOf, table } from '../lib/report.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'web', 'dist');
const LIBRARIES = ['react', 'preact']; // Preact is last, because the last build remains in web/dist.
const USER = { email: 'bench@example.com', password: 'a long enough password' };
const NETWORK = {
  offline: false,
  latency: 400,
  downloadThroughput: 400_000 / 8,
  uploadThroughput: 400_000 / 8,
};
const CPU_SLOWDOWN = 4;

const { rounds } = readOptions([], { rounds: 5 });
const load = loadBefore();
const scratch = mkdtempSync(join(tmpdir(), 'ams-console-'));
const programs = openPrograms(scratch);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });

try {
  LIBRARIES.forEach(build);
  const takes = [];
  let accountId;
  for (let round = 0; round <= rounds; round += 1) {
    for (const library of LIBRARIES) {
      rmSync(DIST, { recursive: true });
      cpSync(join(scratch, library), DIST, { recursive: true });
      const { program, base } = await programs.startService('', { NODE_ENV: 'development' });
      accountId ??= await createAccount(base);
      const take = { library, ...(await openTwice(base, `/accounts/${accountId}`)) };
      await stop(program);
      if (round > 0) takes.push(take); // The first round only fills the caches of the machine.
      log(`round ${round}: ${library} cold ${take.cold} ms, cached ${take.cached} ms`);
    }
  }
  const lines = LIBRARIES.map((library) => {
    const own = takes.filter((take) => take.library === library);
    const seconds = (name) => (medianOf(own, (take) => take[name]) / 1000).toFixed(2);
    return [library, sizeOf(library), seconds('cold'), seconds('cached')];
  });
  console.log(`\nLoad of the machine before: ${load}; medians of ${rounds} rounds\n`);
  console.log(table(['library', 'all files, brotli', 'cold, s', 'cached, s'], lines));
} finally {
  await browser.close();
  await programs.stopAll();
  rmSync(scratch, { recursive: true });
}

function build(library) {
  execFileSync('npx', ['vite', 'build', 'web', '--logLevel', 'warn'], {
    cwd: ROOT,
    env: { ...process.env, CONSOLE_LIBRARY: library },
    stdio: 'inherit',
  });
  cpSync(DIST, join(scratch, library), { recursive: true });
}

function sizeOf(library) {
  const assets = join(scratch, library, 'assets');
  const files = readdirSync(assets).filter((name) => name.endsWith('.br'));
  return `${(files.reduce((sum, name) => sum + statSync(join(assets, name)).size, 0) / 1000).toFixed(1)} kB`;
}

async function createAccount(base) {
  let token = '';
  const post = async (path, body) => {
    const response = await fetch(`${base}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!answer.success) throw new Error(JSON.stringify(answer.error));
    return answer.data;
  };
  const names = { firstName: 'Wanjiru', lastName: 'Kamau' };
  token = (await post('/auth/register', { ...USER, ...names })).accessToken;
  const customer = await post('/customers', { ...names, phone: '+254720000001' });
  const account = await post('/accounts', { customerId: customer.id, productId: 1, payplanId: 2 });
  return account.id;
}

/** @returns the milliseconds until the page has the button that records a payment: with an empty cache, and with a full one. */
async function openTwice(base, path) {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await page.goto(base);
  await page.locator('input[name=email]').fill(USER.email);
  await page.locator('input[name=password]').fill(USER.password);
  await page.keyboard.press('Enter');
  await page.locator('.avatar').waitFor();
  await page.goto('about:blank');

  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  await session.send('Network.emulateNetworkConditions', NETWORK);
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  const open = async () => {
    const start = performance.now();
    await page.goto(`${base}${path}`, { waitUntil: 'commit' });
    await page.locator('.page-head button.primary').waitFor();
    const ms = Math.round(performance.now() - start);
    await page.goto('about:blank');
    return ms;
  };
  const cold = await open();
  const cached = await open();
  await context.close();
  return { cold, cached };
}
