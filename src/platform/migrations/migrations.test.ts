import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../core/package-root.ts';
import { parseMigration, readMigrationNames } from './files.ts';
import { isUsable } from './version-rules.ts';

/** Rules of squawk whose violation can break an earlier version that still runs. A comment in the migration can ignore them. */
const BREAKING =
  /squawk-ignore(-file)?.*(ban-drop|renaming|changing-column-type|adding-required-field|adding-not-nullable-field)/;

/** Rules that squawk does not know. */
function problemsOf(name: string, text: string, names: readonly string[]): string[] {
  const problems: string[] = [];
  const isConcurrent = /^\s*(create|drop|reindex)\b.*\bconcurrently\b/im.test(text);
  if (isConcurrent && parseMigration(name, text).isTransaction)
    problems.push('"concurrently" needs the first line "-- Outside a transaction"');
  for (const [, index = ''] of text.matchAll(/^create\s.*\bconcurrently\s+(\w+)/gim)) {
    if (!text.includes(`drop index concurrently if exists ${index};`))
      problems.push(`an interrupted build leaves an invalid index: drop ${index} first, if it exists`);
  }
  const excluded = /oldest_usable_migration\(\)[\s\S]*?'(\w+)'/.exec(text)?.[1];
  if (excluded !== undefined && (!names.includes(excluded) || excluded > name))
    problems.push(`oldest_usable_migration() returns ${excluded}, which is not this or an earlier migration`);
  if (BREAKING.test(text) && excluded === undefined)
    problems.push('the migration can break earlier versions: replace oldest_usable_migration()');
  return problems;
}

function repeatedNumbers(names: readonly string[]): string[] {
  const numbers = names.map((name) => name.split('_')[0] ?? name);
  return numbers.filter((number, at) => numbers.indexOf(number) < at);
}

describe('migrations', async () => {
  const names = await readMigrationNames();

  it.each(names)('follow the rules for upgrades without an interruption: %s', (name) => {
    const text = readFileSync(join(PACKAGE_ROOT, 'migrations', `${name}.sql`), 'utf8');
    expect(problemsOf(name, text, names)).toEqual([]);
  });

  it('have unique numbers, so that their order does not depend on their names', () => {
    expect(repeatedNumbers(names)).toEqual([]);
    expect(repeatedNumbers(['0001_a', '0002_b', '0002_c', '0003_d'])).toEqual(['0002']);
  });

  it.each([
    ['create index concurrently a on b (c);', 2],
    ['-- Outside a transaction.\ncreate unique index concurrently a on b (c);', 1],
    [
      '-- Outside a transaction.\ndrop index concurrently if exists a;\ncreate index concurrently a on b (c);',
      0,
    ],
    ['-- squawk-ignore ban-drop-column\nalter table a drop column b;', 1],
    [
      `-- squawk-ignore ban-drop-column\nalter table a drop column b;
       create or replace function oldest_usable_migration() returns text language sql return '0036_oldest_usable_migration';`,
      0,
    ],
    [
      `create or replace function oldest_usable_migration() returns text language sql return '0099_later';`,
      1,
    ],
  ])('with the text %j break %i of these rules', (text, count) => {
    expect(problemsOf('0040_example', text, names)).toHaveLength(count);
  });

  it('are split into statements if they run outside a transaction', () => {
    const text = '-- Outside a transaction.\ndrop index a;\ncreate index concurrently a\n  on b (c);\n';
    expect(parseMigration('0040_example', text).statements.map((statement) => statement.trim())).toEqual([
      '-- Outside a transaction.\ndrop index a',
      'create index concurrently a\n  on b (c)',
    ]);
  });
});

describe('a version of the service', () => {
  const own = ['0001_a', '0002_b'];

  it.each([
    ['with its own migrations', own, '0001_a', true],
    ['with later migrations that keep it working', [...own, '0003_c'], '0002_b', true],
    ['with later migrations that exclude it', [...own, '0003_c'], '0003_c', false],
    ['without one of its migrations', ['0001_a'], '0001_a', false],
    ['with another migration in the place of its own', ['0001_a', '0002_x', '0003_c'], '0001_a', false],
  ])('can work with a database %s: %j, oldest usable %s: %s', (_what, applied, oldest, expected) => {
    expect(isUsable(own, applied, oldest)).toBe(expected);
  });
});
