import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's programs. The first one has no windows, so it needs less work for a page. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

const program = PROGRAMS.find(existsSync);

export const HAS_BROWSER = program !== undefined;
if (!HAS_BROWSER) process.stdout.write(`No page is tested, because there is no ${PROGRAMS.join(' or ')}.\n`);

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: ARGUMENTS });
}
