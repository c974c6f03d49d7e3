import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const PAGES = join(ROOT, 'web', 'src', 'pages');

interface Operation {
  parameters?: readonly { name?: string }[];
}

const { paths } = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as {
  paths: Record<string, { post?: Operation }>;
};

/** Each POST of a page: its path, and whether the page sends it with an Idempotency-Key. */
const sent = readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.tsx'))
  .flatMap((file) => {
    const text = readFileSync(join(PAGES, file), 'utf8');
    return [...text.matchAll(/useWrite\(\s*'post',\s*'([^']+)'([^)]*)\)/g)];
  })
  .map(([, path = '', options = '']) => ({ path, hasKey: !options.includes('isRepeatable: false') }));

/** A page that sends no key although it could. */
const WITHOUT_KEY = ['/api/users'];

describe('the console', () => {
  it('sends an Idempotency-Key with each POST that accepts one, and with no other', () => {
    expect(sent.length).toBeGreaterThan(30);
    const acceptsKey = (path: string) =>
      paths[path]?.post?.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false;
    const wrong = sent.filter(({ path, hasKey }) => hasKey !== acceptsKey(path));
    expect(wrong.map(({ path }) => path)).toEqual(WITHOUT_KEY);
  });
});
