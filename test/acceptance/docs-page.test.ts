import { readFile } from 'node:fs/promises';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { examplesOfMedia, type Operation, readDescription } from '../support/api-description.ts';
import {
  closePages,
  collectComplaints,
  HAS_BROWSER,
  PAGE_TIMEOUT_MS,
  sharedBrowser,
} from '../support/chromium.ts';
import { eventually } from '../support/waiting.ts';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  startService,
} from './process.ts';

cleanUpAfterwards();

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const UPLOAD = 'POST /api/reconciliations/statements';
/**
 * One operation for each way in which the page builds a request: bodies with one and several examples, parameters in
 * the path and in headers, text that is not JSON, and a file. test/api/description.test.ts sends all examples.
 */
const KINDS_OF_REQUEST = [
  ...['POST /api/auth/login', 'POST /api/auth/refresh', 'POST /api/customers', 'PUT /api/customers/{id}'],
  ...['POST /api/accounts', 'POST /api/payments', 'POST /api/webhooks/payments/mobilemoney'],
  ...['POST /api/webhooks/payments/tigopesa', UPLOAD, 'POST /api/invoices', 'POST /api/customers/bulk'],
];
/** Sets the clock of the examples, and registers the admin. The page then sends the token of the admin. */
const SIGNED_IN = ['PUT /api/test/clock', 'POST /api/auth/register'];
/** The requests that make the invoice and the payments of the examples, in the order in which they can be sent. */
const BOOKS = ['POST /api/customers', 'POST /api/accounts', 'POST /api/payments', 'POST /api/invoices'];
/** Reads with filters, with dates, with a path parameter, and without parameters. */
const READS = [
  'GET /api/accounts',
  'GET /api/payments',
  'GET /api/reports/payments',
  'GET /api/invoices/{id}',
  'GET /health',
];

const ON_A_PHONE = ['GET /api/accounts', 'POST /api/payments', UPLOAD, 'GET /api/invoices/{id}/pdf'];
/** The operations that the tests use, apart from the first test, which shows the whole documentation. */
const USED = new Set([
  ...[...SIGNED_IN, ...KINDS_OF_REQUEST, ...BOOKS, ...READS],
  ...['GET /api/auth/me', 'GET /api/customers', 'GET /api/invoices/{id}/pdf'],
]);

describe.skipIf(!HAS_BROWSER)('in a browser that can reach only a new service', () => {
  const complaints: string[] = [];
  /** The operations whose examples the page has sent. */
  const sent = new Set<string>();
  let service: RunningService;
  let browser: Browser;
  let page: Page;
  let whole: OpenAPIV3_1.Document;
  let operations: Operation[];

  beforeAll(async () => {
    service = await startService({
      ...NO_RATE_LIMITS,
      DATABASE_URL: await newDatabase(),
      TEST_CLOCK: 'on',
      LOG_LEVEL: 'warn',
    });
    const answer = await fetch(`${service.origin}/api-docs/openapi.json`);
    whole = (await answer.json()) as OpenAPIV3_1.Document;
    ({ operations } = readDescription(whole));
    browser = await sharedBrowser();
    page = await openPage(await browser.newContext({ viewport: DESKTOP }), '/api-docs');
  });
  afterEach(() => expect(complaints.splice(0), 'errors, and requests to other hosts').toEqual([]));
  afterAll(closePages);

  /** Shows only the operations of the tests. At each change, the page draws all operations again, which takes seconds. */
  async function openPage(context: BrowserContext, path: string): Promise<Page> {
    await context.route('**/api-docs/openapi.json', (route) => route.fulfill({ json: documentOfUsed() }));
    return openWholePage(context, path);
  }

  async function openWholePage(context: BrowserContext, path: string): Promise<Page> {
    const opened = await context.newPage();
    opened.setDefaultTimeout(PAGE_TIMEOUT_MS);
    collectComplaints(opened, (url) => url.startsWith(`${service.origin}/`), complaints);
    await opened.goto(`${service.origin}${path}`);
    return opened;
  }

  /** The description of these operations with their successful answers, and the schemas to which they refer. */
  function documentOfUsed(): OpenAPIV3_1.Document {
    const paths: Record<string, Record<string, unknown>> = {};
    for (const { name, method, path } of operations) {
      const key = method.toLowerCase() as 'get';
      if (!USED.has(name)) continue;
      const operation = whole.paths?.[path]?.[key];
      const successes = Object.entries(operation?.responses ?? {}).filter(([status]) =>
        status.startsWith('2'),
      );
      paths[path] = {
        ...paths[path],
        [key]: { ...operation, responses: Object.fromEntries(successes) },
      };
    }
    const schemas: Record<string, OpenAPIV3_1.SchemaObject> = {};
    const addSchemasOf = (value: unknown) => {
      for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
        const schema = whole.components?.schemas?.[name];
        if (!schema || name in schemas) continue;
        schemas[name] = schema;
        addSchemasOf(schema);
      }
    };
    addSchemasOf([paths, { ...whole.components, schemas: {} }]);
    return { ...whole, paths, components: { ...whole.components, schemas } };
  }

  function operationOf(name: string): Operation {
    const found = operations.find((operation) => operation.name === name);
    if (!found) throw new Error(`${name} is not described.`);
    return found;
  }

  /** Opens or closes an operation. Dispatches the event, because a click would wait for several frames of the large page. */
  const toggle = (block: Locator) => block.locator('.opblock-summary-control').dispatchEvent('click');

  /** Opens an operation of the documentation. */
  async function unfold(name: string, on = page): Promise<Locator> {
    const { heading, block } = placeOf(name, on);
    await unfoldTag(heading);
    await block.waitFor();
    await clickUntilOpen(() => toggle(block), block.and(on.locator('.is-open')));
    return block;
  }

  async function unfoldTag(heading: Locator): Promise<void> {
    await heading.waitFor();
    await clickUntilOpen(() => heading.click(), heading.and(heading.page().locator('[data-is-open=true]')));
  }

  /** The heading of the operation's tag, and the operation itself. */
  function placeOf(name: string, on = page): { heading: Locator; block: Locator } {
    const { operationId, tags } = operationOf(name);
    const tag = tags[0]?.replaceAll(' ', '_');
    return {
      heading: on.locator(`[id="operations-tag-${tag}"]`),
      block: on.locator(`[id="operations-${tag}-${operationId}"]`),
    };
  }

  /** Clicks again only if the last click opened nothing: a click closes what the address of the page has opened meanwhile. */
  async function clickUntilOpen(click: () => Promise<void>, open: Locator): Promise<void> {
    const opens = async () => {
      if (await open.isVisible()) return true;
      await click();
      return open.waitFor({ timeout: 2_000 }).then(
        () => true,
        () => false,
      );
    };
    await eventually(opens).toBe(true);
  }

  /** Executes an open operation. @returns the status that the page shows. */
  async function execute(block: Locator): Promise<number> {
    const answered = block.page().waitForResponse(`${service.origin}/**`);
    await block.locator('button.execute').click();
    const status = (await answered).status();
    const shown = block.locator('.live-responses-table .response .response-col_status');
    await eventually(async () => Number.parseInt((await shown.textContent()) ?? '', 10)).toBe(status);
    return status;
  }

  /** Sends every example of an operation unchanged, and closes the operation. */
  async function sendExamples(name: string): Promise<void> {
    const block = await unfold(name);
    if (name === 'POST /api/auth/refresh') await block.locator('textarea').fill(await newRefreshToken());
    if (name === UPLOAD) await pickExampleFile(block);
    const { body } = operationOf(name);
    const choice = block.locator('.opblock-section-request-body .examples-select select');
    for (const index of (body ? examplesOfMedia(body) : [undefined]).keys()) {
      if (index > 0) await choice.selectOption({ index });
      const status = await execute(block);
      const answer = await block.locator('.live-responses-table').textContent();
      expect(Math.floor(status / 100), `${name}: ${answer}`).toBe(2);
    }
    await toggle(block);
    await block.and(page.locator('.is-open')).waitFor({ state: 'detached' });
    sent.add(name);
  }

  /** Sends the examples that no earlier test has sent: each can be sent once, and each test can run alone. */
  async function prepare(...names: readonly string[]): Promise<void> {
    for (const name of [...SIGNED_IN, ...names]) if (!sent.has(name)) await sendExamples(name);
  }

  async function signIn(): Promise<{ accessToken: string; refreshToken: string }> {
    const answer = await service.call(
      'POST',
      '/auth/login',
      operationOf('POST /api/auth/login').body?.example,
    );
    expect(answer.status, answer.text).toBe(200);
    return answer.body.data;
  }

  async function newRefreshToken(): Promise<string> {
    return JSON.stringify({ refreshToken: (await signIn()).refreshToken });
  }

  async function pickExampleFile(block: Locator): Promise<void> {
    const downloading = page.waitForEvent('download');
    await block.getByText('Download example.csv').click();
    const buffer = await readFile(await (await downloading).path());
    expect(buffer.toString()).toBe(operationOf(UPLOAD).body?.example);
    const file = { name: 'statement.csv', mimeType: 'text/csv', buffer };
    await block.locator('input[type="file"]').setInputFiles(file);
  }

  /** The bytes of the downloaded file, and those that the service sends. */
  async function download(block: Locator, path: string) {
    const downloading = page.waitForEvent('download');
    await block.locator('.live-responses-table a[download]').click();
    const file = await downloading;
    const { accessToken } = await signIn();
    const sent = await fetch(`${service.origin}${path}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    return {
      name: file.suggestedFilename(),
      saved: await readFile(await file.path()),
      sent: Buffer.from(await sent.arrayBuffer()),
    };
  }

  async function expectNoSidewaysScroll(on: Page, what: string): Promise<void> {
    const width = await on.evaluate('document.documentElement.scrollWidth');
    expect(width, what).toBeLessThanOrEqual(on.viewportSize()?.width ?? 0);
  }

  it('the whole documentation lists the operations under their tags, on a phone in one column', async () => {
    const context = await browser.newContext({ viewport: PHONE });
    const all = await openWholePage(context, '/api-docs');
    await all.locator('.opblock-tag-section').first().waitFor();
    expect(await all.title()).toBe('Account Management Service API');
    expect(await all.locator('.opblock-tag-section').count()).toBe(
      new Set(operations.flatMap(({ tags }) => tags)).size,
    );
    expect(await all.locator('body').textContent()).not.toMatch(/swagger|smartbear|fastify/i);
    await expectNoSidewaysScroll(all, 'the tags');
    for (const name of ON_A_PHONE) {
      await unfoldTag(placeOf(name, all).heading);
      await placeOf(name, all).block.waitFor();
    }
    await expectNoSidewaysScroll(all, 'the operations');
    await context.close();
  });

  it('registering or signing in by "Execute" signs in for every other call', async () => {
    for (const [link, name] of [
      ['Sign in', 'POST /api/auth/login'],
      ['Register', 'POST /api/auth/register'],
    ] as const) {
      await page.locator('header').getByRole('link', { name: link }).click();
      const { block } = placeOf(name);
      await block.and(page.locator('.is-open')).waitFor();
    }
    await prepare();
    await sendExamples('GET /api/auth/me');
    await page.reload();
    await sendExamples('GET /api/auth/me');
  });

  it('an example of every kind of request succeeds when it is sent unchanged', async () => {
    await prepare(...KINDS_OF_REQUEST, ...READS);
  });

  it('a PDF is downloaded with the bytes that the service sends', async () => {
    await prepare(...BOOKS);
    const block = await unfold('GET /api/invoices/{id}/pdf');
    expect(await execute(block)).toBe(200);
    const { name, saved, sent } = await download(block, '/api/invoices/1/pdf');
    expect(name).toMatch(/^INV-.*\.pdf$/);
    expect(saved.subarray(0, 5).toString()).toBe('%PDF-');
    expect(saved.equals(sent)).toBe(true);

    await page.route('**/api/invoices/1/pdf', (route) => route.fulfill({ json: { data: 'no file' } }), {
      times: 1,
    });
    expect(await execute(block)).toBe(200);
    const table = block.locator('.live-responses-table');
    await eventually(() => table.textContent()).toContain('no file');
    expect(await table.locator('a[download]').count()).toBe(0);
  });

  it('a CSV report is downloaded with the bytes that the service sends', async () => {
    await prepare(...BOOKS);
    const block = await unfold('GET /api/reports/payments');
    await block.locator('tr[data-param-name="format"] select').selectOption('csv');
    expect(await execute(block)).toBe(200);
    const { name, saved, sent } = await download(
      block,
      '/api/reports/payments?startDate=2026-11-01&endDate=2026-11-30&format=csv',
    );
    expect(name).toBe('payments_2026-11-01_2026-11-30.csv');
    expect(saved.toString()).toContain('RECEIPT-0001');
    expect(saved.equals(sent)).toBe(true);
  });

  it('the dialog for the token starts with the focus in its field', async () => {
    await prepare();
    const { accessToken } = await signIn();
    const context = await browser.newContext({ viewport: DESKTOP });
    const own = await openPage(context, '/api-docs');
    await own.locator('button.authorize').first().click();
    await own.keyboard.type(accessToken);
    await own.keyboard.press('Enter');
    await own.locator('button.btn-done').first().click();
    expect(await execute(await unfold('GET /api/customers', own))).toBe(200);
    await context.close();
  });

  it('a phone shows requests, answers and the dialog for the token in one column', async () => {
    await prepare(...BOOKS);
    const context = await browser.newContext({ viewport: PHONE });
    const phone = await openPage(context, '/api-docs#/Authentication/signIn');
    const signingIn = await unfold('POST /api/auth/login', phone);
    expect(await execute(signingIn)).toBe(200);
    await expectNoSidewaysScroll(phone, 'signing in');
    await phone.locator('button.authorize').first().click();
    await expectNoSidewaysScroll(phone, 'the dialog');
    await phone.locator('button.btn-done').first().click();
    for (const name of ON_A_PHONE) {
      const block = await unfold(name, phone);
      await expectNoSidewaysScroll(phone, name);
      if (name.startsWith('GET')) expect(await execute(block)).toBe(200);
      await expectNoSidewaysScroll(phone, `${name}, answered`);
    }
    await context.close();
  });

  it.each(['light', 'dark'] as const)(
    'the page follows the color scheme of the device (%s)',
    async (colorScheme) => {
      const context = await browser.newContext({ viewport: PHONE, colorScheme });
      const own = await openPage(context, '/api-docs');
      await own.locator('.opblock-tag-section').first().waitFor();
      const isDark = await own.evaluate('document.documentElement.classList.contains("dark-mode")');
      expect(isDark).toBe(colorScheme === 'dark');
      await expectNoSidewaysScroll(own, colorScheme);
      await context.close();
    },
  );
});
