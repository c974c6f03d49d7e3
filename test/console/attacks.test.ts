import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import { ROOT, report } from '../acceptance/process.ts';
import { committedDescription, examplesOfMedia, type Operation } from '../support/api-description.ts';
import { DAY, ENDINGS, STORY } from '../support/example-order.ts';
import { notification } from '../support/http.ts';
import { eventually, untilPasses } from '../support/waiting.ts';
import { csvFile, HAS_BROWSER, navigate, newAccount, PASSWORD, signIn, useConsole } from './console.ts';

const ADMIN = 'amina@example.com';
/** Inserted as HTML, it would load a file that does not exist, and run a script. */
const PAYLOAD = '"><img src=x onerror=attack()>';
const CALLBACK_URL = 'http://service.test';
const UPLOAD = 'POST /api/reconciliations/statements';
const LONG_PAYLOAD = `${PAYLOAD}<script>attack()</script><a href="javascript:attack()">open</a>`;
/** Not filled, because they end something, change the session, take a body of a provider, or need more than their example. */
const NOT_FILLED =
  /auth|cash\/|clock|credit|discard$|months|approvals|payment-requests|status-queries|imports\/|webhooks|statements\/|revoke|rotate|DELETE|unassign|unmatched|resolve|receipt|\/stop$|\/test$|\/resend$/;
/** The story creates the resource with id 1 of each. */
const PAGE_SOURCE = readFileSync(join(ROOT, 'web/src/pages/index.ts'), 'utf8');
const PAGES = [...PAGE_SOURCE.matchAll(/path: '([^']+)',\s+permission: '([^']+)'/g)].map(
  ([, path = '', permission = '']) => ({ path: path.replace(':id', '1'), permission }),
);

describe.skipIf(!HAS_BROWSER)('the console under attack', async () => {
  /** A provider that answers with scripts. */
  const provider = await startProviderApi({
    operations: {
      'POST /mpesa/stkpush/v1/processrequest': ({ fields }) => {
        reportUrls.push(String(fields.CallBackURL));
        const texts = { ResponseDescription: PAYLOAD, CustomerMessage: PAYLOAD };
        return {
          body: { MerchantRequestID: PAYLOAD, CheckoutRequestID: 'ws_CO_1', ResponseCode: '0', ...texts },
        };
      },
    },
  });
  afterAll(() => provider.close());
  const reportUrls: string[] = [];
  const console = useConsole({
    TEST_CLOCK: 'on',
    WEBHOOKS_OUT_ALLOW: '127.0.0.1',
    APPROVAL_LIMIT: '100000',
    MOBILEMONEY_API_URL: provider.url,
    MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
    MOBILEMONEY_SHORT_CODE: '600638',
    MOBILEMONEY_PASSKEY: 'passkey',
    MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
  });
  let token = '';
  let accepted: string[];
  let attacker: Server;
  let attackerOrigin = '';
  let attackingPage = '';

  beforeAll(async () => {
    const answer = await send('POST', '/api/auth/login', { email: ADMIN, password: PASSWORD });
    token = answer.body.data.accessToken;
    accepted = await attack();
    attacker = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end(`<!doctype html>${attackingPage}`),
    );
    await new Promise<void>((resolve) => attacker.listen(0, '127.0.0.1', resolve));
    // To browsers, localhost and 127.0.0.1 are different sites.
    const { port } = attacker.address() as AddressInfo;
    attackerOrigin = `http://${console.origin.includes('127.0.0.1') ? 'localhost' : '127.0.0.1'}:${port}`;
  });
  afterAll(() => new Promise((resolve) => attacker.close(resolve)));

  async function send(
    method: string,
    path: string,
    body?: unknown,
    as = token,
    // biome-ignore lint/suspicious/noExplicitAny: The tests read the fields that they expect.
  ): Promise<{ status: number; body: any }> {
    const response = await fetch(`${console.origin}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(as && { authorization: `Bearer ${as}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  describe('with scripts in every text that the API accepts', () => {
    it('accepts them in customers, accounts, payments and everything else', () => {
      report(`console: ${accepted.length} fields accept the text: ${accepted.join(', ')}`);
      expect(accepted).toEqual(
        expect.arrayContaining([
          'POST /api/customers firstName',
          'POST /api/customers metadata.region',
          'POST /api/products name',
          'POST /api/products sku',
          'POST /api/payplans name',
          'POST /api/employees name',
          'POST /api/api-keys name',
          'POST /api/users firstName',
          'POST /api/payment-methods name',
          'POST /api/payments transactionRef',
          'POST /api/invoices/{id}/void reason',
          'PUT /api/accounts/{id} reason',
          'PUT /api/customers/{id}/kyc documents.0.number',
        ]),
      );
    });

    it('shows them as text on every page, and runs none', async () => {
      const page = await console.open('/find');
      const showing: string[] = [];
      page.on('response', (response) => {
        if (response.status() >= 400) console.complaints.push(`${response.status()} ${response.url()}`);
      });
      for (const { path } of PAGES) {
        await navigate(page, path);
        await page
          .locator('h1')
          .waitFor()
          .catch(() => console.complaints.push(`no heading on ${path}`));
        await page.locator('.skeleton').first().waitFor({ state: 'detached' });
        if ((await page.locator('main').textContent())?.includes('onerror=')) showing.push(path);
        await expectHarmless(page, path);
      }
      report(`console: ${showing.length} of ${PAGES.length} pages show the text`);
      expect(showing).toEqual(
        expect.arrayContaining(['/customers', '/customers/1', '/accounts/1', '/products', '/employees']),
      );
    });

    it('shows them as text in search results, dialogs and as the name of a file', async () => {
      const page = await console.open('/find');
      await page.locator('main input[type=search]').fill('onerror');
      await page.locator('main').getByText('onerror=').first().waitFor();
      await expectHarmless(page, 'results');
      for (const path of ['/employees', '/products', '/payment-methods', '/users', '/api-keys']) {
        await page.goto(`${console.origin}${path}`);
        await page.locator('tbody a, tbody button').filter({ hasText: 'onerror=' }).first().click();
        await page.locator('dialog[open], h1').first().waitFor();
        await expectHarmless(page, `${path} opened`);
      }
      await page.goto(`${console.origin}/statements`);
      const buffer = Buffer.from(`Organization:,${PAYLOAD}\r\n`);
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: `${PAYLOAD}.csv`, mimeType: 'text/csv', buffer });
      await page.locator('main').getByText('Not uploaded').waitFor();
      // The browser reports that the service refused the file.
      await eventually(() => console.complaints).toEqual([expect.stringContaining('400 (Bad Request)')]);
      console.complaints.splice(0);
      await expectHarmless(page, 'upload');
    });

    it('shows them as text in credit, approvals and the history of an account', async () => {
      const account = await newAccount(console, { firstName: PAYLOAD });
      const other = await newAccount(console);
      const payment = {
        accountId: account.id,
        amount: 900_000,
        paymentMethodId: 2,
        transactionRef: `b${PAYLOAD}`,
      };
      await console.call('POST', '/payments', payment);
      const credit = `/accounts/${account.id}/credit`;
      const refund = (amount: number) =>
        console.call('POST', `${credit}/refund`, { amount, paymentMethodId: 2, reason: LONG_PAYLOAD });
      await refund(10);
      const transfer = { toAccountId: other.id, amount: 20, reason: LONG_PAYLOAD };
      await console.call('POST', `${credit}/transfer`, transfer);
      const rejected = await refund(300_000);
      const email = await console.createUser('finance');
      const second = await send('POST', '/api/auth/login', { email, password: PASSWORD });
      const decision = await send(
        'POST',
        `/api/approvals/${rejected.id}/reject`,
        { reason: LONG_PAYLOAD },
        second.body.data.accessToken,
      );
      expect(decision.status).toBe(200);
      const pending = await refund(200_000);

      const page = await console.open(`/accounts/${account.id}`);
      await page.locator('main').getByText('onerror=').first().waitFor();
      await expectHarmless(page, 'account with credit');
      for (const { id } of [pending, rejected]) {
        await page.goto(`${console.origin}/approvals?open=${id}`);
        await page.locator('dialog').getByText('onerror=').first().waitFor();
        await expectHarmless(page, `approval ${id}`);
      }
    });

    it('shows them as text in a payment request whose provider answers with them', async () => {
      const { id } = await newAccount(console);
      await console.call('POST', `/accounts/${id}/payment-requests`, { amount: 100, phone: '0712345678' });
      await untilPasses(() => expect(reportUrls).toHaveLength(1));
      const report = {
        MerchantRequestID: PAYLOAD,
        CheckoutRequestID: 'ws_CO_1',
        ResultCode: 1032,
        ResultDesc: PAYLOAD,
      };
      const address = new URL(reportUrls[0] ?? '').pathname;
      await untilPasses(async () => {
        expect((await send('POST', address, { Body: { stkCallback: report } }, '')).status).toBe(200);
      });
      const page = await console.open(`/accounts/${id}`);
      await page.getByText('The customer cancelled').waitFor();
      await expectHarmless(page, 'payment request');
    });

    it('shows them as text in the names and cells of imported files', async () => {
      const page = await console.open('/imports');
      await page.getByRole('button', { name: 'New import' }).click();
      await page.getByText('Add the files, then check them.').waitFor();
      const cell = `"${PAYLOAD.replaceAll('"', '""')}"`;
      const customers = (phone: string) =>
        csvFile('customers.csv', [
          'external_id,first_name,last_name,phone',
          `${cell},${cell},${cell},${phone}`,
        ]);
      const choose = (...files: ReturnType<typeof csvFile>[]) =>
        page.locator('input[type=file]').setInputFiles(files);
      await choose(csvFile(`${PAYLOAD}.csv`, ['a']), csvFile(`${PAYLOAD}.xls`, ['PK']), customers(cell));
      await page.getByRole('alert').getByText('onerror=').first().waitFor();
      await page.getByRole('cell', { name: 'customers.csv' }).waitFor();
      await expectHarmless(page, 'names of files');
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.locator('main').getByText('customers.csv, line 2').first().waitFor();
      await expectHarmless(page, 'findings');
      await choose(customers('0712345999'));
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.getByRole('button', { name: 'Run the import' }).click();
      await page.locator('dialog').getByRole('button', { name: 'Run the import' }).click();
      await page.locator('.page-sub .badge', { hasText: 'Imported' }).waitFor();
      await expectHarmless(page, 'import');
      await page.goto(`${console.origin}/customers`);
      await page.locator('tbody a').filter({ hasText: 'onerror=' }).first().click();
      await page.locator('h1').getByText('onerror=').waitFor();
      await expectHarmless(page, 'imported customer');
      await page.context().close();
      expect(console.complaints).toEqual([]);
    });
  });

  /** Puts scripts into every text that the API accepts. @returns the names of the fields. */
  async function attack(): Promise<string[]> {
    await send('PUT', '/api/test/clock', { date: DAY });
    const { operations } = committedDescription();
    const accepted: string[] = [];
    for (const name of [...STORY, ...ENDINGS]) {
      const isNotification = name === 'POST /api/webhooks/payments/mobilemoney';
      if (NOT_FILLED.test(name) && !isNotification) continue;
      const operation = operations.find((one) => one.name === name);
      if (!operation) throw new Error(`${name} is not described.`);
      if (name.includes('/bulk-deferrals/{id}/')) await untilBulkDeferralRests();
      if (isNotification) await sendNotifications(operation);
      else if (name.endsWith('/bulk') || name === UPLOAD) await sendExample(operation);
      else if (name === 'POST /api/payments/{id}/correct-amount')
        accepted.push(...(await fill({ ...operation, path: await pathOfNewPayment(operation) })));
      else if (operation.body) accepted.push(...(await fill(operation)));
    }
    return accepted;
  }

  async function untilBulkDeferralRests(): Promise<void> {
    const status = async () => (await send('GET', '/api/plan-changes/bulk-deferrals/1')).body.data.status;
    await eventually(status).not.toMatch(/ing$/);
  }

  /** A provider has reported the payment 1, so that its amount can no longer be corrected. */
  async function pathOfNewPayment({ path }: Operation): Promise<string> {
    const answer = await send('POST', '/api/payments', { accountId: 1, amount: 4, paymentMethodId: 2 });
    return path.replace('{id}', answer.body.data.id);
  }

  /** Lists have the fields of the single calls. The text becomes the name of the organisation in a statement. */
  async function sendExample({ method, path, body, bodyType = '' }: Operation): Promise<void> {
    const example = body && examplesOfMedia(body)[0];
    const text =
      typeof example === 'string'
        ? example.replace('Sunlight Solar Ltd', '<img src=x onerror=attack()>')
        : JSON.stringify(example);
    const headers = { 'content-type': bodyType, authorization: `Bearer ${token}` };
    const response = await fetch(`${console.origin}${path}`, { method, headers, body: text });
    expect(response.status, await response.text()).toBeLessThan(300);
  }

  async function sendNotifications({ body }: Operation): Promise<void> {
    const texts = { BillRefNumber: PAYLOAD, FirstName: PAYLOAD, MiddleName: PAYLOAD, LastName: PAYLOAD };
    const address = '/api/webhooks/payments/mobilemoney';
    // With the ids of the story.
    for (const one of [...(body ? examplesOfMedia(body) : []), notification(texts)])
      expect((await send('POST', address, one)).status).toBe(200);
    const wrong = { ...texts, TransAmount: PAYLOAD, BusinessShortCode: PAYLOAD };
    expect((await send('POST', address, notification(wrong))).status).toBe(400); // It is in the list of the rejected.
  }

  /** Sends the example with the text in all fields that accept it. @returns their names. */
  async function fill({ name, method, path, parameters, body }: Operation): Promise<string[]> {
    const address = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((rest, parameter) => rest.replace(`{${parameter.name}}`, String(parameter.example)), path);
    const example = body && (examplesOfMedia(body)[0] as object);
    const leaves = textsIn(example);
    const limits = new Map(leaves.map((leaf) => [leaf, LONG_PAYLOAD]));
    for (;;) {
      const answer = await send(method, address, withTexts(example, limits));
      if (answer.status < 300) return [...limits.keys()].map((leaf) => `${name} ${leaf}`);
      const { fields = [], field: taken = '' } = answer.body.error.details;
      const paths = [...fields.map(({ path }: { path: string }) => path), taken].map((one: string) =>
        one.replaceAll(/\[(\d+)\]/g, '.$1'),
      );
      const known = paths.filter((one) => limits.has(one));
      // A long text, then a short one, then the example.
      for (const one of known) {
        if (limits.get(one) === LONG_PAYLOAD) limits.set(one, PAYLOAD);
        else limits.delete(one);
      }
      if (known.length === 0) throw new Error(`${name}: ${JSON.stringify(answer.body)}`);
    }
  }

  async function expectHarmless(page: Page, where: string): Promise<void> {
    const found = await page.evaluate(
      `document.querySelectorAll('img[src=x], [onerror], [href^="javascript:"], main script').length`,
    );
    expect(found, `elements made from texts: ${where}`).toBe(0);
    expect(console.complaints, where).toEqual([]);
  }

  describe('from a page of another site', () => {
    /** Opens a page of the attacker in the browser of the victim. */
    async function visit(page: Page, html: string): Promise<void> {
      attackingPage = html;
      await page.goto(attackerOrigin);
    }

    async function expectStillSignedIn(page: Page): Promise<void> {
      await page.goto(`${console.origin}/find`);
      await page.locator('.avatar').click();
      await page.getByText(ADMIN).waitFor();
      await page.context().close();
      console.complaints.splice(0); // The browser reports the refused requests.
    }

    const FORMS = [
      ['end a session', '/api/auth/session/refresh', '', 'text/plain'],
      ['sign the victim in as the attacker', '/api/auth/session', '{"email":"', 'text/plain'],
      ['record a payment', '/api/payments', '{"accountId":1,"amount":1,"x":"', 'text/plain'],
    ] as const;
    it('lets no form change a session, or record a payment', async () => {
      const page = await console.open('/find');
      for (const [what, path, field, type] of FORMS) {
        const answered = page.waitForResponse((response) => response.url() === `${console.origin}${path}`);
        await visit(
          page,
          `<iframe name="frame"></iframe><form method="post" enctype="${type}" target="frame" action="${console.origin}${path}">
          <input name='${field}' value='"}'></form><script>document.forms[0].submit()</script>`,
        );
        expect((await answered).status(), what).toBeGreaterThanOrEqual(400);
      }
      await expectStillSignedIn(page);
    });

    it('lets no script end or take over a session, and no frame show it', async () => {
      const page = await console.open('/find');
      await visit(page, '<p>attack</p>');
      const outcomes = await page.evaluate(async (origin) => {
        const options = { credentials: 'include' } as const;
        const outcome = (path: string, init: RequestInit) =>
          fetch(`${origin}/api${path}`, { ...options, ...init }).then(
            (response) => (response.type === 'opaque' ? 'opaque' : `readable ${response.status}`),
            () => 'blocked',
          );
        return Promise.all([
          outcome('/auth/session', { method: 'DELETE' }),
          outcome('/auth/session/refresh', { method: 'POST' }),
          outcome('/auth/session/refresh', { method: 'POST', mode: 'no-cors' }),
          outcome('/auth/me', {}),
          outcome('/customers/1', { mode: 'no-cors' }),
        ]);
      }, console.origin);
      expect(outcomes.filter((one) => one.startsWith('readable'))).toEqual([]);

      await visit(page, `<iframe src="${console.origin}/find"></iframe>`);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      await page.waitForLoadState('networkidle'); // A framed console would have drawn itself.
      expect(await frame?.locator('.avatar, input[name=email]').count()).toBe(0);
      const response = await fetch(`${console.origin}/find`);
      expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      await expectStillSignedIn(page);
    });
  });

  it('keeps no token where a later script or person can find it', async () => {
    const tokens = new Set<string>();
    const page = await console.open('/find');
    page.on('request', (request) => {
      const given = request.headers().authorization;
      if (given) tokens.add(given.replace('Bearer ', ''));
    });
    for (const path of ['/today', '/customers/1', '/accounts/1', '/unmatched']) {
      await page.goto(`${console.origin}${path}`);
      await page.locator('h1').waitFor();
    }
    expect(tokens.size).toBeGreaterThan(0);
    const found = await page.evaluate<string>(`(async () => JSON.stringify({
      local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, history: history.state,
      databases: await indexedDB.databases(), caches: self.caches ? await caches.keys() : [],
      workers: navigator.serviceWorker ? (await navigator.serviceWorker.getRegistrations()).length : 0,
      window: Object.keys(window).filter((key) => typeof window[key] === 'string').map((key) => window[key]),
      url: location.href, page: document.documentElement.outerHTML }))()`);
    for (const one of tokens) expect(found.includes(one)).toBe(false);
    expect(JSON.parse(found)).toMatchObject({
      ...{ local: {}, session: {}, cookie: '', databases: [], caches: [], workers: 0 },
    });
    const cookies = await page.context().cookies();
    expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: 'Strict' },
    ]);
  });

  const REDIRECTS = [
    '/?next=https://evil.example/',
    '/find?next=//evil.example&returnTo=https:evil.example&redirect=javascript:attack()',
    '//evil.example/find',
    '/\\evil.example/find',
    '/%2F%2Fevil.example',
    '/%5C%5Cevil.example',
    '/find#https://evil.example/',
    '/.//evil.example/',
  ];
  it('stays on its own origin after a sign-in at an address that names another', async () => {
    const page = await console.open('/', { email: '' });
    for (const address of REDIRECTS) {
      await page.context().clearCookies();
      const response = await page.goto(`${console.origin}${address}`);
      expect(new URL(page.url()).origin, address).toBe(console.origin);
      if (response?.status() !== 200) continue;
      await signIn(page, ADMIN);
      await page.locator('h1').waitFor();
      expect(new URL(page.url()).origin, address).toBe(console.origin);
      const foreign = await page.evaluate(
        `[...document.links].filter(({ origin }) => origin !== location.origin).map(({ href }) => href)`,
      );
      expect(foreign, address).toEqual([]);
    }
    await page.context().close();
    expect(console.complaints.splice(0).filter((text) => text.startsWith('request to'))).toEqual([]);
  });

  const HIDDEN_CALLS = [
    'POST /users',
    'PUT /users/1',
    'POST /users/invitations',
    'POST /api-keys',
    'POST /webhook-endpoints',
    'POST /payments/reconcile',
    'POST /payments/1/assign',
    'POST /payments/1/reverse',
    'POST /products',
    'PUT /payplans/1',
    'GET /audit',
    'POST /invoices/1/void',
    'PUT /commissions/payments/1',
    'POST /accounts/1/credit/refund',
  ];
  it.each(['viewer', 'agent'])(
    'refuses a %s the requests of hidden pages, and links to none',
    async (role) => {
      const email = await console.createUser(role);
      const answer = await send('POST', '/api/auth/login', { email, password: PASSWORD });
      const own: string = answer.body.data.accessToken;
      const { permissions } = (await send('GET', '/api/auth/me', undefined, own)).body.data;
      const hidden = PAGES.filter(({ permission }) => !permissions.includes(permission));
      expect(hidden.length).toBeGreaterThan(5);
      for (const call of HIDDEN_CALLS) {
        const [method = '', path = ''] = call.split(' ');
        const { status } = await send(method, `/api${path}`, method === 'GET' ? undefined : {}, own);
        expect(status, call).toBe(403);
      }
      const page = await console.open('/find', { email });
      expect(await page.locator('.side a').count()).toBeGreaterThan(3);
      for (const { path } of hidden)
        expect(await page.locator(`.side a[href="${path}"]`).count(), path).toBe(0);
      for (const { path } of hidden) {
        await page.goto(`${console.origin}${path}`);
        await page.getByRole('heading', { name: 'Your role may not open this page' }).waitFor();
      }
      expect(console.complaints).toEqual([]);
    },
  );
});

/** The paths of the texts in a JSON value: `metadata.region`, `documents.0.number`. */
function textsIn(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => textsIn(member, path ? `${path}.${key}` : key));
}

/** A copy with other texts at these paths. */
function withTexts(value: unknown, texts: ReadonlyMap<string, string>, path = ''): unknown {
  if (typeof value === 'string') return texts.get(path) ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    withTexts(member, texts, path ? `${path}.${key}` : key),
  ]);
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
}
