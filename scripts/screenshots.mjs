/**
 * Takes pictures of every page of the staff console with the data of the demo company, at widths of 1280 and 360 px, in the light
 * and the dark theme. Replaces the pictures of the README.
 *
 *   npm run screenshots              # writes to screenshots/; needs chromium-headless-shell or chromium
 *   DATA_DIR=~/demo npm run screenshots    # keeps the demo company for the next time
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { CHROMIUM, freePort, openPrograms } from '../bench/lib/programs.mjs';

const ROOT = join(import.meta.dirname, '..');
const ALL = join(ROOT, 'screenshots');
const README = join(ROOT, 'docs', 'images');
const USER = { email: 'amina@example.com', password: 'a long enough password' };
const NAMES = { firstName: 'Amina', lastName: 'Otieno' };
const SIZES = { 1280: { width: 1280, height: 860 }, 360: { width: 360, height: 740 } };
const LONGEST_START_MS = 300_000;

/** The page, width and theme of each picture in the README. */
const SHOWN = [
  ['today', 1280, 'light'],
  ['account', 1280, 'light'],
  ['unmatched', 1280, 'dark'],
  ['portfolio', 1280, 'light'],
  ['account', 360, 'light'],
  ['sale', 360, 'dark'],
];

const scratch = mkdtempSync(join(tmpdir(), 'ams-screenshots-'));
const programs = openPrograms(scratch);
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
try {
  const origin = await startService();
  const token = await signUp(origin);
  const pages = await pagesOf((path) => read(origin, path, token));
  for (const directory of [ALL, README]) mkdirSync(directory, { recursive: true });
  for (const width of Object.keys(SIZES)) await takeAll(origin, pages, Number(width));
} finally {
  await browser.close();
  await programs.stopAll();
  rmSync(scratch, { recursive: true });
}

async function startService() {
  const port = await freePort();
  const program = programs.startScript('../../dist/server.js', {
    PORT: port,
    HOST: '127.0.0.1',
    DATA_DIR: process.env.DATA_DIR ?? join(scratch, 'data'),
    DEMO_DATA: 'company',
    COMPANY_NAME: 'Sunrise Solar Ltd',
    RATE_LIMIT_AUTH: 0,
    RATE_LIMIT_BROWSER: 0,
    RATE_LIMIT_GENERAL: 0,
    RATE_LIMIT_PAGES: 0,
  });
  const origin = `http://127.0.0.1:${port}`;
  for (const start = Date.now(); Date.now() - start < LONGEST_START_MS; await delay(200)) {
    if (program.exitCode !== null) throw new Error(`The service ended with ${program.exitCode}.`);
    const response = await fetch(`${origin}/readyz`).catch(() => undefined); // The service does not listen yet.
    if (response?.ok) return origin;
  }
  throw new Error('The service did not start in five minutes.');
}

/** Registers the first user, who becomes the admin. If this user exists, signs in. @returns the access token. */
async function signUp(origin) {
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${origin}/api/auth/${path}`, init)).json();
  };
  const registered = await post('register', { ...USER, ...NAMES });
  const { data } = registered.success ? registered : await post('login', USER);
  return data.accessToken;
}

async function read(origin, path, token) {
  const response = await fetch(`${origin}/api${path}`, { headers: { authorization: `Bearer ${token}` } });
  const answer = await response.json();
  if (!answer.success) throw new Error(`${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

/** The pages in the order of the navigation. Each has a name and a path, and some have a function to run before the picture. */
async function pagesOf(get) {
  const [late] = await get('/accounts?filter[daysPastDue][gt]=0&sort=daysPastDue:asc&limit=1');
  const [invoice] = await get('/invoices?limit=1');
  const [unverified] = await get('/customers?filter[kycReviewPending]=true&limit=1');
  const [payment] = await get('/payments?filter[status]=matched&sort=id:desc&limit=1');
  const [statement] = await get('/reconciliations/statements?limit=1');
  const [endpoint] = await get('/webhook-endpoints?limit=1');
  const [checked] = await get('/imports?limit=1');
  const openCreate = (page) => page.locator('.page-head button.primary').click();
  return [
    ['today', '/today'],
    ['find', '/find', (page) => page.locator('main input[type=search]').fill('wanji')],
    ['unmatched', '/unmatched'],
    ['conflicts', '/unmatched?view=conflicts'],
    ['rejected', '/unmatched?view=rejected'],
    ['approvals', '/approvals'],
    ['statements', '/statements'],
    ['statement', `/statements/${statement.id}`],
    ['reconcile', '/statements?view=payments'],
    ['proof', '/statements?view=proof', (page) => page.locator('.view-options button').click()],
    ['sale', '/sales/new'],
    ['sale-product', '/sales/new', openProducts],
    ['portfolio', '/portfolio', (page) => page.locator('.trend-target').nth(11).waitFor()],
    ['late', '/portfolio/late'],
    ['customers', '/customers'],
    ['customer', `/customers/${(unverified ?? late).customerId ?? unverified.id}`],
    ['accounts', '/accounts'],
    ['account', `/accounts/${late.id}`],
    ['record-payment', `/accounts/${late.id}`, openCreate],
    ['change-plan', `/accounts/${late.id}`, showChangeOfPlan],
    ['plan-changes', '/plan-changes'],
    ['payments', '/payments'],
    ['payment', `/payments/${payment.id}`],
    ['invoices', '/invoices'],
    ...(invoice ? [['invoice', `/invoices/${invoice.id}`]] : []),
    ['commissions', '/commissions'],
    ['commission-rules', '/commissions/rules'],
    ['products', '/products'],
    ['product', '/products/1'],
    ['pay-plans', '/pay-plans'],
    ['new-pay-plan', '/pay-plans', openCreate],
    ['payment-methods', '/payment-methods'],
    ['employees', '/employees'],
    ['users', '/users', openCreate],
    ['invitations', '/invitations'],
    ['api-keys', '/api-keys', openCreate],
    ['webhook-endpoints', '/webhook-endpoints'],
    ...(endpoint ? [['webhook-endpoint', `/webhook-endpoints/${endpoint.id}`]] : []),
    ['imports', '/imports'],
    ...(checked ? [['import', `/imports/${checked.id}`]] : []),
    ['audit', '/audit'],
  ];
}

/** Goes to the step of a sale for the product, and chooses a product. */
async function openProducts(page) {
  await page.getByRole('button', { name: 'New customer' }).click();
  await page.locator('input[name=firstName]').fill('Mercy');
  await page.locator('input[name=lastName]').fill('Cherono');
  await page.locator('input[name=phone]').fill('0722600700');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.locator('input[name=documentNumber]').fill('30112233');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('Home system 40 W', { exact: true }).click();
  await page.locator('input[name=payplanId]').first().waitFor();
}

/** Shows the effect of a deferral by two instalments. */
async function showChangeOfPlan(page) {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Change plan' }).click();
  await page.locator('input[name=periods]').fill('2');
  await page.keyboard.press('Enter');
  await page.locator('.effect').waitFor();
}

async function takeAll(origin, pages, width) {
  const context = await browser.newContext({
    viewport: SIZES[width],
    locale: 'en-GB',
    timezoneId: 'Africa/Nairobi',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(origin);
  await page.locator('input[name=email]').waitFor();
  await takeThemes(page, 'sign-in', width);
  await page.locator('input[name=email]').fill(USER.email);
  await page.locator('input[name=password]').fill(USER.password);
  await page.keyboard.press('Enter');
  await page.locator('.avatar').waitFor();
  for (const [name, path, prepare] of pages) {
    await page.goto(`${origin}${path}`);
    await page.locator('h1').waitFor();
    await prepare?.(page);
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await delay(300); // Wait until the page has requested the results of a search, and transitions have ended.
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await takeThemes(page, name, width);
  }
  await context.close();
}

async function takeThemes(page, name, width) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const isDialog = (await page.locator('dialog[open]').count()) > 0;
    const path = join(ALL, `${name}-${width}-${colorScheme}.png`);
    await page.screenshot({ path, fullPage: !isDialog });
    if (SHOWN.some(([shown, size, theme]) => shown === name && size === width && theme === colorScheme))
      writeFileSync(join(README, `${name}-${width}.webp`), await asWebp(await page.screenshot()));
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Converts a picture in the browser, because Node.js cannot write WebP. */
async function asWebp(png) {
  const page = await browser.newPage();
  const base64 = await page.evaluate(async (source) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${source}`)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.85 });
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }, png.toString('base64'));
  await page.close();
  return Buffer.from(base64, 'base64');
}
