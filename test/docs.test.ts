import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const DECISIONS = 'docs/decisions';
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = ['.', 'bench', 'docs', 'packages', 'src', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
    .map((path) => join(folder, path)),
);

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(path: string): string[] {
  const text = read(path).replace(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documentation', () => {
  it.each(pages)('links only to files and headings that exist: %s', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? page : join(dirname(page), file);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('has at most twenty decisions, each with three headings on at most 60 lines, and all in the index', () => {
    const index = read(`${DECISIONS}/README.md`);
    const names = readdirSync(join(ROOT, DECISIONS)).filter((file) => file !== 'README.md');
    expect(names.length).toBeLessThanOrEqual(20);
    for (const name of names) {
      const text = read(`${DECISIONS}/${name}`);
      expect(text.match(/^## .+$/gm), name).toEqual(['## Context', '## Decision', '## Consequences']);
      expect(text.split('\n').length, name).toBeLessThanOrEqual(61);
      expect(index, name).toContain(`(${name})`);
    }
  });
});
