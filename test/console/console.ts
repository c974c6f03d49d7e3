import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import {
  cleanUpAfterwards,
  NO_RATE_LIMITS,
  newDatabase,
  type RunningService,
  startService,
} from '../acceptance/process.ts';
import {
  closePages,
  collectComplaints,
  HAS_BROWSER,
  PAGE_TIMEOUT_MS,
  sharedBrowser,
} from '../support/chromium.ts';
import { notification } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

export { HAS_BROWSER };

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

export const PASSWORD = 'a long enough password';

/** The built service, a browser, and the messages of the browser. */
export interface ConsoleTest {
  readonly origin: string;
  /** Sends a request below /api as the admin amina@example.com. */
  call(method: string, path: string, body?: unknown): Promise<Answer['data']>;
  /** Creates a user with the role and PASSWORD. @returns the e-mail of the user. */
  createUser(role: string): Promise<string>;
  /**
   * Opens a separate window, signed in as a user. Nobody is signed in if the e-mail is ''. If a test opens the window, it is
   * closed at the end of the test, or emptied for a later test. A test that changes the window itself, such as its clock, must
   * close it.
   *
   * @param options.isNew - the browser has nothing of the console in its cache.
   */
  open(path: string, options?: OpenOptions): Promise<Page>;
  /** Requests to other hosts and messages in the console of the browser. A test fails if it leaves one. */
  readonly complaints: string[];
  /** The origins of other servers that pages may request. */
  readonly otherOrigins: string[];
}

interface OpenOptions {
  viewport?: typeof DESKTOP;
  email?: string;
  locale?: string;
  isNew?: boolean;
}

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: The tests read the fields that they expect.
  data: any;
}

const ADMIN = 'amina@example.com';

/** Call once in each file. @param environment - additional settings of the service. */
export function useConsole(environment: Record<string, string> = {}): ConsoleTest {
  cleanUpAfterwards();
  const complaints: string[] = [];
  const otherOrigins: string[] = [];
  let service: RunningService;
  let token = '';
  let users = 0;
  const opened = new Map<Page, string>();
  /** Emptied windows by locale. A page appears in them in half of the time that it needs in a new window. */
  const emptied: Record<string, Page[]> = {};

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    service = await startService({
      ...NO_RATE_LIMITS,
      DATABASE_URL: await newDatabase(),
      COMPANY_NAME: 'Sunrise Pumps Ltd',
      LOG_LEVEL: 'warn',
      ...environment,
    });
    const admin = { email: ADMIN, password: PASSWORD, firstName: 'Amina', lastName: 'Otieno' };
    token = (await service.call('POST', '/auth/register', admin)).body.data.accessToken;
  });
  beforeEach(() => opened.clear()); // So that a window that `beforeAll` has opened stays open.
  afterEach(async ({ task }) => {
    const left = complaints.splice(0);
    const isReusable = task.result?.state === 'pass';
    await Promise.all(
      [...opened].map(async ([page, locale]) => {
        if (page.isClosed()) return;
        if (!isReusable || page.context().pages().length > 1) return page.context().close();
        await empty(page);
        emptied[locale] = [...(emptied[locale] ?? []), page];
      }),
    );
    // Other late messages are about requests that the end of the test has interrupted.
    left.push(...complaints.splice(0).filter((message) => message.startsWith('request to')));
    expect(left, 'messages of the browser, and requests to other hosts').toEqual([]);
  });
  afterAll(closePages);

  async function call(method: string, path: string, body?: unknown) {
    const answer = await service.call(method, path, body, { token });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  }

  /** Gets the session cookie by a request, because typing into the sign-in page takes longer. */
  async function startSession(context: BrowserContext, email: string): Promise<void> {
    const url = `${service.origin}/api/auth/session`;
    const answer = await context.request.post(url, { data: { email, password: PASSWORD } });
    expect(answer.status(), await answer.text()).toBe(200);
  }

  async function newWindow(locale: string): Promise<Page> {
    const browser = await sharedBrowser();
    const context = await browser.newContext({ locale, timezoneId: 'America/New_York' });
    const page = await context.newPage();
    const isAllowed = (url: string) =>
      [service.origin, ...otherOrigins].some((origin) => url.startsWith(`${origin}/`));
    collectComplaints(page, isAllowed, complaints);
    page.setDefaultTimeout(PAGE_TIMEOUT_MS);
    return page;
  }

  /** Removes everything that a test has added to a window. */
  async function empty(page: Page): Promise<void> {
    const context = page.context();
    for (const event of ['dialog', 'request', 'response'] as const) page.removeAllListeners(event);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.emulateMedia({ media: null, colorScheme: null });
    await context.setOffline(false);
    await context.clearCookies();
    await page.goto(`${service.origin}/healthz`); // A page without scripts, which could store something.
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  }

  return {
    get origin() {
      return service.origin;
    },
    complaints,
    otherOrigins,
    call,
    async createUser(role) {
      users += 1;
      const email = `${role}${users}@example.com`;
      const names = { firstName: 'Test', lastName: role };
      await call('POST', '/users', { email, password: PASSWORD, role, ...names });
      return email;
    },
    async open(path, { viewport = DESKTOP, email = ADMIN, locale = 'en-GB', isNew = false } = {}) {
      const page = (isNew ? undefined : emptied[locale]?.pop()) ?? (await newWindow(locale));
      opened.set(page, locale);
      await page.setViewportSize(viewport);
      if (email !== '') await startSession(page.context(), email);
      await page.goto(`${service.origin}${path}`);
      if (email !== '') await page.locator('.avatar').waitFor();
      return page;
    },
  };
}

/** Signs in as a user. @returns a function that sends a POST request of this user below /api, and returns the data of its answer. */
export async function postsAs(console: ConsoleTest, email: string) {
  const { accessToken } = await console.call('POST', '/auth/login', { email, password: PASSWORD });
  return async (path: string, body: object = {}): Promise<Answer['data']> => {
    const answer = await fetch(`${console.origin}/api${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    expect(answer.status, text).toBeLessThan(300);
    return (JSON.parse(text) as Answer).data;
  };
}

export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.locator('input[name=email]').fill(email);
  await page.locator('input[name=password]').fill(password);
  await page.keyboard.press('Enter');
  await page.locator('.avatar').waitFor();
}

/** Gives the browser a share sheet, which keeps in `globalThis.shared` what it gets. */
export const SHARE_SHEET =
  "Object.defineProperty(navigator, 'share', { configurable: true, value: async (data) => { globalThis.shared = data; } })";

/** Opens another page as a link does, without a load of the whole console. */
export async function navigate(page: Page, path: string): Promise<void> {
  await page.evaluate(`document.title = ''; history.pushState(null, '', ${JSON.stringify(path)})`);
  await eventually(() => page.title()).not.toBe(''); // Each page sets it when it appears.
}

/** The value of the figure with this name on a page. */
export function statValue(page: Page, name: string): Locator {
  return page.locator('.stat', { hasText: name }).locator('.stat-value');
}

/** Clicks twice, before the page can react to the first click. */
export async function clickTwice(button: Locator): Promise<void> {
  await button.evaluate((element: { click(): void }) => {
    element.click();
    element.click();
  });
}

/**
 * Loses the answer to the first POST after the service has done the work. The browser complains about the lost answer.
 *
 * @returns a list to which each POST adds its Idempotency-Key.
 */
export async function loseFirstAnswer(page: Page, url: string): Promise<readonly (string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  await page.route(url, async (route) => {
    const request = route.request();
    if (request.method() !== 'POST') return route.continue();
    keys.push(request.headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort('connectionreset');
  });
  return keys;
}

/** Answers the first POST with 503, as a busy service does. The browser complains about this answer. */
export async function refuseFirst(page: Page, url: string, retryAfterSeconds: number): Promise<void> {
  let refused = 0;
  await page.route(url, (route) => {
    if (route.request().method() !== 'POST' || refused > 0) return route.continue();
    refused += 1;
    return route.fulfill({ status: 503, headers: { 'retry-after': String(retryAfterSeconds) } });
  });
}

/**
 * Observes whether a control has the focus when the page first shows new content. If the focus came later, the keys of a fast
 * user would be lost. Call this function before the action that shows the content.
 *
 * @param shown - a JavaScript expression that is true in the page when the content is shown.
 * @param control - the selector of the control.
 * @returns a function that waits for the content, and returns whether the control had the focus.
 */
export async function watchFocus(
  page: Page,
  shown: string,
  control: string,
): Promise<() => Promise<boolean>> {
  await page.evaluate(`void (globalThis.hadFocus = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!(${shown})) return;
      observer.disconnect();
      resolve(document.activeElement.matches(${JSON.stringify(control)}));
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  }))`);
  return () => page.evaluate('globalThis.hadFocus');
}

/** On a phone the filters of a list are behind a button. */
export async function openFilters(page: Page): Promise<void> {
  if ((page.viewportSize()?.width ?? 0) < DESKTOP.width)
    await page.locator('.list-filters-box > summary').click();
}

/** The text of an element. The non-breaking spaces of amounts become ordinary spaces. */
export async function textOf(locator: Locator): Promise<string> {
  return ((await locator.textContent()) ?? '').replaceAll('\u00a0', ' ');
}

/**
 * Expects that axe finds no violation, that no figure is cut off, and that the page does not scroll sideways, on a desktop and on a
 * phone. The themes differ only in colours, so axe looks at the other size in the dark theme, and only for rules about colours. The
 * navigation around the page is checked only once after the page was loaded, because it stays the same.
 */
export async function expectAccessible(page: Page): Promise<void> {
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  const isChecked = await page.evaluate<boolean>("'axe' in globalThis");
  if (!isChecked) await page.evaluate(AXE);
  const part = isChecked ? 'main, dialog' : ':root';
  const own = page.viewportSize() ?? DESKTOP;
  await expectNoViolation(page, part, 'every rule');
  await expectFits(page);
  await page.setViewportSize(own.width < DESKTOP.width ? DESKTOP : PHONE);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectNoViolation(page, part, 'colours');
  await expectFits(page);
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(own);
}

/** Without `preload`, axe does not load the style sheets again, for a rule that is off by default. */
const AXE_OPTIONS = { resultTypes: ['violations'], preload: false, elementRef: false };

async function expectNoViolation(page: Page, part: string, rules: 'every rule' | 'colours'): Promise<void> {
  const options =
    rules === 'colours' ? { ...AXE_OPTIONS, runOnly: ['color-contrast', 'link-in-text-block'] } : AXE_OPTIONS;
  const found = await page.evaluate<string[]>(
    `axe.run(${JSON.stringify(part)}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' ')))`,
  );
  expect(found, `${page.url()}, ${page.viewportSize()?.width} px wide, ${rules}`).toEqual([]);
}

async function expectFits(page: Page): Promise<void> {
  const cut = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.stat, .stat-value, .amount, .bars li')].filter((element) =>
      element.getBoundingClientRect().right > innerWidth || element.scrollWidth > element.clientWidth + 1
    ).map(({ textContent }) => textContent)`,
  );
  expect(cut, `figures of ${page.url()} that are cut off`).toEqual([]);
  const width = await page.evaluate('document.documentElement.scrollWidth');
  expect(width, `width of ${page.url()}`).toBeLessThanOrEqual(page.viewportSize()?.width ?? 0);
}

/** Creates a customer with an account of the weekly demo plan (deposit 2,000, 52 × 400). */
export async function newAccount(
  console: ConsoleTest,
  { firstName = 'Wanjiru', lastName = 'Kamau', activationDate = '' } = {},
): Promise<{ id: number; customerId: number; accountNumber: string }> {
  phones += 1;
  const phone = `+2547${String(20_000_000 + phones)}`;
  const customer = await console.call('POST', '/customers', { firstName, lastName, phone });
  const body = { customerId: customer.id, productId: 1, payplanId: 2 };
  return console.call('POST', '/accounts', activationDate ? { ...body, activationDate } : body);
}

let phones = 0;

/** Creates an account, and a payment that is meant for it but has one wrong digit in the reference. */
export async function newMistypedPayment(console: ConsoleTest, amount = '400.00') {
  const { id: accountId, accountNumber } = await newAccount(console);
  const wrongDigit = (Number(accountNumber.at(-1)) + 1) % 10;
  const reference = `${accountNumber.slice(0, -1)}${wrongDigit}`;
  const fields = notification({ BillRefNumber: reference, TransAmount: amount });
  const { paymentId } = await console.call('POST', '/webhooks/payments/mobilemoney', fields);
  return { paymentId: Number(paymentId), accountId, accountNumber, reference };
}

interface StatementLine {
  receipt: string;
  amount: string;
  account?: string | undefined;
}

/** A statement of 1 November 2026, as the portal of the provider exports it. */
export function statementFile(name: string, organisation: string, lines: readonly StatementLine[]) {
  const rows = lines.map(
    ({ receipt, amount, account = '' }) =>
      `${receipt},01-11-2026 10:15:30,01-11-2026 10:15:28,Pay Bill,Completed,${amount},,0.00,true,Pay Utility,254712345678 - WANJIRU KAMAU,,${account}`,
  );
  return csvFile(name, [
    `Organization:,${organisation}`,
    'Short Code:,600638',
    '',
    STATEMENT_HEADER,
    ...rows,
  ]);
}

const STATEMENT_HEADER =
  'Receipt No.,Completion Time,Initiation Time,Details,Transaction Status,Paid In,Withdrawn,Balance,Balance Confirmed,Reason Type,Other Party Info,Linked Transaction ID,A/C No.';

export function csvFile(name: string, lines: readonly string[]) {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(`${lines.join('\r\n')}\r\n`) };
}

/** The date that is this number of days ago as YYYY-MM-DD, in the time zone of the service. Negative: in the future. */
export function dayBefore(days: number): string {
  const day = new Date(Date.now() - days * 86_400_000);
  return new Intl.DateTimeFormat('en-CA', { timeZone: 'Africa/Nairobi' }).format(day);
}
