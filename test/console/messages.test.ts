import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { en } from '../../web/src/i18n/en/index.ts';
import { sw } from '../../web/src/i18n/sw/index.ts';

const SOURCE = new URL('../../web/src/', import.meta.url);
const KEYS = Object.keys(en) as (keyof typeof en)[];
const FILES = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.startsWith('i18n/'),
);

/** The keys that a file mentions: whole, as the stem of a counted message, with a part in `${}`, or as a group of values. */
function keysIn(file: string): string[] {
  const text = readFileSync(new URL(file, SOURCE), 'utf8');
  const literals = new Set([...text.matchAll(/'([\w.-]+)'/g)].map(([, literal]) => literal));
  const groups = [...text.matchAll(/tValue\(\s*'(\w+)'/g)].map(([, group]) => `${group}\\.[\\w.-]+`);
  const templates = [...text.matchAll(/`([\w.]+\.\$\{[^`]*)`/g)].map(([, template = '']) =>
    template.replaceAll('.', '\\.').replaceAll(/\$\{[^}]*\}/g, '[\\w-]+'),
  );
  const patterns = [...groups, ...templates].map((pattern) => new RegExp(`^${pattern}$`));
  return KEYS.filter((key) => {
    const stem = key.replace(/\.(one|other)$/, '');
    return literals.has(key) || literals.has(stem) || patterns.some((pattern) => pattern.test(key));
  });
}

/** The file and the modules that it imports, which the browser loads with it. */
function withImports(file: string, found = new Set<string>()): Set<string> {
  if (!FILES.includes(file) || found.has(file)) return found;
  found.add(file);
  const text = readFileSync(new URL(file, SOURCE), 'utf8');
  for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g))
    withImports(join(dirname(file), path), found);
  return found;
}

async function keysOf(messages: string): Promise<string[]> {
  const texts = await import(new URL(`i18n/en/${messages}.ts`, SOURCE).href);
  return Object.values<object>(texts).flatMap(Object.keys);
}

describe('the messages', () => {
  it('exist in both languages', () => {
    expect(Object.keys(sw).sort()).toEqual([...KEYS].sort());
  });

  it('have the same parameters in both languages', () => {
    const parametersOf = (text: string) => String((text.match(/\{\w+\}/g) ?? []).sort());
    expect(KEYS.filter((key) => parametersOf(sw[key]) !== parametersOf(en[key]))).toEqual([]);
  });

  it('are all used', () => {
    const used = new Set(FILES.flatMap(keysIn));
    expect(KEYS.filter((key) => !used.has(key))).toEqual([]);
  });

  it('are loaded with the page that uses them', async () => {
    const index = readFileSync(new URL('pages/index.ts', SOURCE), 'utf8');
    const pages = [...index.matchAll(/messages: '([\w-]+)',\s+load: \(\) => import\('\.\/([^']+)'\)/g)];
    expect(pages.length).toBe(index.match(/import\(/g)?.length);
    const entries = [
      ['core', 'app.tsx'],
      ['core', 'pages/sign-in/page.tsx'],
      ['find', 'pages/find/results.tsx'],
      ['find', 'pages/shared/keys-dialog.tsx'],
      ...pages.map(([, messages = '', file = '']) => [messages, `pages/${file}`]),
      ['today seller', 'pages/today/seller.tsx'], // which its page loads for some users
    ] as const;
    for (const [messages, file] of entries) {
      const lists = await Promise.all(['core', ...messages.split(' ')].map(keysOf));
      const loaded = new Set(lists.flat());
      const used = [...withImports(file)].flatMap(keysIn);
      expect(
        used.filter((key) => !loaded.has(key)),
        file,
      ).toEqual([]);
    }
  });
});
