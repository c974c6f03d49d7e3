import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Chromium as Debian installs it. The first program has no windows, so it shows a page with less work. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  // Pages reach only this machine. To block requests with Playwright instead would delay each request, and disable the cache.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

const program = PROGRAMS.find(existsSync);

/** How long Playwright waits for a page. Busy machines need long. */
export const PAGE_TIMEOUT_MS = 120_000;

export const HAS_BROWSER = program !== undefined;
if (!HAS_BROWSER) process.stdout.write(`No page is tested, because there is no ${PROGRAMS.join(' or ')}.\n`);

let launched: Promise<Browser> | undefined;

/** The browser that all test files of this process share. It ends with the process. Each page has its own context. */
export async function sharedBrowser(): Promise<Browser> {
  if (!(await launched)?.isConnected()) {
    launched = chromium.launch({ executablePath: program, args: ARGUMENTS });
    launched.catch(() => {
      launched = undefined; // The next file tries again.
    });
  }
  return launched as Promise<Browser>;
}

/** Closes the pages that the tests of a file have opened, also after a failure. */
export async function closePages(): Promise<void> {
  await Promise.all(((await launched)?.contexts() ?? []).map((context) => context.close()));
}

/** Adds to the complaints each request to another origin, and each error and warning of the browser. */
export function collectComplaints(
  page: Page,
  isAllowed: (url: string) => boolean,
  complaints: string[],
): void {
  page.context().on('request', (request) => {
    const url = request.url();
    if (!/^(data|blob):/.test(url) && !isAllowed(url)) complaints.push(`request to ${url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    const isIcon = message.location().url.endsWith('/favicon.ico'); // The pages of simulated servers have no icon.
    if (['error', 'warning'].includes(message.type()) && !isIcon)
      complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
}
