import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../acceptance/process.ts';

const DIST = join(ROOT, 'web', 'dist');
const ASSETS = join(DIST, 'assets');

/** What a browser loads, in bytes after brotli. */
const sizeOf = (name: string) => statSync(join(ASSETS, `${name}.br`)).size;
const names = readdirSync(ASSETS).filter((name) => /\.(js|css|svg)$/.test(name));
const page = readFileSync(join(DIST, 'index.html'), 'utf8');

describe('the build of the console', () => {
  it('needs at most 105 kB for the first screen, whichever page that is', () => {
    const app = names.filter((name) => page.includes(name)).map(sizeOf);
    const largest = (pattern: RegExp) => Math.max(...names.filter((name) => pattern.test(name)).map(sizeOf));
    const files = readdirSync(join(ROOT, 'web', 'src', 'i18n', 'sw')).map((name) => name.replace('.ts', ''));
    const messages = new RegExp(`^(?!core|index)(${files.join('|')})-[^-]{8}\\.js$`);
    const bytes = app.reduce(
      (sum, size) => sum + size,
      largest(/^core-/) + largest(/^page-/) + largest(messages),
    );
    expect(bytes).toBeLessThan(105_000);
  });

  it('needs at most 185 kB for all pages in both languages, and 10 kB for a page', () => {
    expect(names.map(sizeOf).reduce((sum, size) => sum + size)).toBeLessThan(185_000);
    const pages = names.filter((name) => name.startsWith('page-'));
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((name) => sizeOf(name) > 10_000)).toEqual([]);
  });

  it('has no inline script or style', () => {
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });
});
