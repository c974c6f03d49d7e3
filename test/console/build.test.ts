import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { newFolder, ROOT, report } from '../acceptance/process.ts';
import { run } from '../support/processes.ts';
import { HAS_BROWSER, useConsole } from './console.ts';

const DIST = join(ROOT, 'web', 'dist');
const ASSETS = join(DIST, 'assets');

/** The size of a file as the browser loads it: bytes after brotli. */
const sizeOf = (name: string) => statSync(join(ASSETS, `${name}.br`)).size;
const names = readdirSync(ASSETS).filter((name) => /\.(js|css|svg)$/.test(name));
const page = readFileSync(join(DIST, 'index.html'), 'utf8');

const sumOf = (bytes: readonly number[]) => bytes.reduce((sum, one) => sum + one, 0);
const test = useConsole();

/** The files that a page of the browser has loaded. */
async function filesOf(opened: Page): Promise<string[]> {
  await opened.locator('.skeleton').first().waitFor({ state: 'detached' });
  const addresses = await opened.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => name),
  );
  return [...new Set(addresses.filter((name) => name.includes('/assets/')).map((name) => basename(name)))];
}

describe.skipIf(!HAS_BROWSER)('the first screen', () => {
  it('of a visitor, who signs in, needs at most 62 kB', async () => {
    const opened = await test.open('/', { email: '', locale: 'sw-KE' });
    await opened.locator('input[name=email]').waitFor();
    expectSmall(await filesOf(opened));
  });

  it('of a signed-in user, which is Today, needs at most 62 kB', async () => {
    const opened = await test.open('/', { locale: 'sw-KE' });
    await opened.reload();
    await opened.locator('.avatar').waitFor();
    await opened.locator('h1').waitFor();
    expectSmall(await filesOf(opened));
  });

  it('requests the session before the files of the page, because browsers limit concurrent requests', async () => {
    const opened = await test.open('/', {});
    await opened.reload();
    await opened.locator('h1').waitFor();
    const names = await opened.evaluate(() => {
      const entries = performance.getEntriesByType('resource').sort((a, b) => a.startTime - b.startTime);
      return entries.map(({ name }) => name);
    });
    const session = names.findIndex((name) => name.endsWith('/api/auth/session/refresh'));
    const page = names.findIndex((name) => name.includes('/assets/page-'));
    expect(session).toBeGreaterThan(0);
    expect(page).toBeGreaterThan(session);
  });

  function expectSmall(files: readonly string[]): void {
    expect(files.length).toBeGreaterThan(3);
    const bytes = sumOf(files.map(sizeOf));
    report(`console: first screen of ${bytes} bytes in ${files.length} files`);
    expect(bytes).toBeLessThan(62_000);
    expect(files.length).toBeLessThan(15); // On a slow network, many small files take longer than a large one.
  }
});

describe('the build of the console', () => {
  it('needs at most 200 kB for all pages in both languages, and at most 10 kB for a page', () => {
    const bytes = sumOf(names.map(sizeOf));
    report(`console: ${bytes} bytes in all`);
    expect(bytes).toBeLessThan(200_000);
    const pages = names.filter((name) => name.startsWith('page-'));
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((name) => sizeOf(name) > 10_000)).toEqual([]);
  });

  it('also succeeds with React', async () => {
    const folder = await newFolder();
    await run('npx', ['vite', 'build', 'web', '--outDir', folder, '--logLevel', 'warn'], {
      cwd: ROOT,
      env: { ...process.env, CONSOLE_LIBRARY: 'react' },
    });
    const scripts = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.js'));
    const texts = scripts.map((name) => readFileSync(join(folder, 'assets', name), 'utf8'));
    expect(texts.some((text) => text.includes('https://react.dev/errors/'))).toBe(true);
  });

  it('has no inline script or style', () => {
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });
});
