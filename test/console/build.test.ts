import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { en } from '../../web/src/i18n/en/index.ts';
import { sw } from '../../web/src/i18n/sw/index.ts';
import { ROOT } from '../acceptance/process.ts';

const DIST = join(ROOT, 'web', 'dist');
const ASSETS = join(DIST, 'assets');

/** What a browser loads, in bytes after brotli. */
const sizeOf = (name: string) => statSync(join(ASSETS, `${name}.br`)).size;
const names = readdirSync(ASSETS).filter((name) => /\.(js|css|svg)$/.test(name));
const page = readFileSync(join(DIST, 'index.html'), 'utf8');

describe('the build of the console', () => {
  it('needs at most 100 kB for the first screen', () => {
    const first = names.filter((name) => page.includes(name) || /^(en|page)-/.test(name));
    const signIn = first.filter((name) => !name.startsWith('page-'));
    const largestPage = Math.max(...first.filter((name) => name.startsWith('page-')).map(sizeOf));
    const bytes = signIn.map(sizeOf).reduce((sum, size) => sum + size, largestPage);
    expect(bytes).toBeLessThan(100_000);
  });

  it('needs at most 160 kB in all, and 10 kB for a page', () => {
    expect(names.map(sizeOf).reduce((sum, size) => sum + size)).toBeLessThan(160_000);
    const pages = names.filter((name) => name.startsWith('page-'));
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((name) => sizeOf(name) > 10_000)).toEqual([]);
  });

  it('has no inline script or style', () => {
    expect(page).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
  });
});

describe('the messages', () => {
  it('have the same parameters in both languages', () => {
    const parametersOf = (text: string) => String((text.match(/\{\w+\}/g) ?? []).sort());
    const keys = Object.keys(en) as (keyof typeof en)[];
    expect(keys.filter((key) => parametersOf(sw[key]) !== parametersOf(en[key]))).toEqual([]);
  });
});
