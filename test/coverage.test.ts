import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIV3_1 } from 'openapi-types';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

/**
 * Compares acceptance/COVERAGE.md with the existing tests and the API description. COVERAGE.md names the tests for each line of the
 * API specification.
 */
const ROOT = join(import.meta.dirname, '..');
const COVERAGE = 'test/acceptance/COVERAGE.md';

/** The headings of the API specification, with the number of lines below each. */
const SECTIONS = {
  'What the service does': 8,
  'Base addresses': 4,
  'Fields of records in responses': 1,
  'Response envelope': 7,
  'Pagination object': 4,
  Account: 6,
  Customer: 5,
  'KYC update': 3,
  Payment: 5,
  'Payment reconciliation request': 2,
  'Invoice request': 5,
  'Commission calculation request': 3,
  Product: 3,
  'Inbound payment notification': 8,
  'States and transitions': 3,
  'Endpoints in general': 2,
  'Authentication endpoints': 3,
  Accounts: 5,
  Customers: 3,
  Payments: 3,
  Products: 3,
  Invoices: 3,
  Commissions: 2,
  Reports: 2,
  Webhook: 1,
  Health: 7,
  'Pagination, filtering, sorting': 3,
  'Documentation endpoints': 2,
  Authentication: 10,
  Events: 3,
  Errors: 10,
  Limits: 6,
  Versioning: 4,
};

/** The endpoints of the API specification, below /api. */
const ENDPOINTS = [
  'POST /auth/login',
  'POST /auth/register',
  'GET /auth/:provider',
  'GET /accounts',
  'POST /accounts',
  'GET /accounts/:id',
  'PUT /accounts/:id',
  'GET /accounts/:accountId/payments',
  'GET /customers',
  'POST /customers',
  'PUT /customers/:id/kyc',
  'POST /payments',
  'GET /payments/:id',
  'POST /payments/reconcile',
  'GET /products',
  'GET /products/:id',
  'GET /products/:id/configurations',
  'POST /invoices',
  'GET /invoices/:id',
  'GET /invoices/:id/pdf',
  'POST /commissions/calculate',
  'GET /commissions/payments',
  'GET /reports/accounts/summary',
  'GET /reports/payments',
  'POST /webhooks/payments/mobilemoney',
];
const AT_THE_ROOT = ['GET /health'];
/** The documentation does not describe itself. */
const DOCUMENTATION = ['GET /api-docs', 'GET /api-docs/openapi.json'];

interface Row {
  section: string;
  line: string;
  shownBy: string[];
}

function readRows(): Row[] {
  const [, ...sections] = readFileSync(join(ROOT, COVERAGE), 'utf8').split(/^## /m);
  return sections.flatMap((text) => {
    const [section = '', ...lines] = text.split('\n');
    const [, , ...rows] = lines.filter((line) => line.startsWith('|')); // without the head
    return rows.map((row) => {
      const [, line = '', shownBy = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return { section, line, shownBy: shownBy.split('<br>').filter((part) => part !== '') };
    });
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** `it.skipIf(x).each(rows)('…')` is called it, skipIf, each. */
function namesOf(callee: unknown): string[] {
  if (!isObject(callee)) return [];
  if (callee.type === 'Identifier') return [String(callee.name)];
  if (callee.type === 'CallExpression') return namesOf(callee.callee);
  if (callee.type === 'MemberExpression') return [...namesOf(callee.object), ...namesOf(callee.property)];
  return [];
}

function textOf(node: unknown): string | undefined {
  if (!isObject(node)) return undefined;
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  const [only, ...others] = node.type === 'TemplateLiteral' ? (node.quasis as unknown[]) : [];
  return isObject(only) && others.length === 0 ? (only.value as { cooked: string }).cooked : undefined;
}

/** The titles of the tests in a syntax tree. The titles of `each` are templates. Tests that are always skipped do not count. */
function titlesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(titlesIn);
  if (!isObject(node)) return [];
  if (node.type !== 'CallExpression') return Object.values(node).flatMap(titlesIn);
  const [name = '', ...modifiers] = namesOf(node.callee);
  const isTest = name === 'it' || name === 'test';
  if ((isTest || name === 'describe') && modifiers.some((word) => word === 'skip' || word === 'todo'))
    return [];
  const title = isTest ? textOf((node.arguments as unknown[])[0]) : undefined;
  return title === undefined ? Object.values(node).flatMap(titlesIn) : [title];
}

const titles = new Map<string, string[]>();
function hasTest(file: string, title: string): boolean {
  const known =
    titles.get(file) ?? titlesIn(parseAst(readFileSync(join(ROOT, file), 'utf8'), { lang: 'ts' }));
  titles.set(file, known);
  return known.includes(title);
}

const testFiles = ['src', 'test', 'tools'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`),
);
const pages = readdirSync(join(ROOT, 'docs/decisions')).map((name) => `docs/decisions/${name}`);
const rows = readRows();

describe('each line of the API specification', () => {
  it('has its row, under its heading', () => {
    const counts: Record<string, number> = {};
    for (const { section } of rows) counts[section] = (counts[section] ?? 0) + 1;
    expect(counts).toEqual(SECTIONS);
  });

  it('names a test or a decision', () => {
    expect(rows.filter(({ line, shownBy }) => line === '' || shownBy.length === 0)).toEqual([]);
  });

  it('names existing tests and decisions', () => {
    const missing = rows.flatMap(({ section, line, shownBy }) =>
      shownBy
        .filter((part) => {
          const [, file = '', title] = /^`([^`]+)`(?: `([^`]+)`)?$/.exec(part) ?? [];
          return title === undefined
            ? !pages.includes(file)
            : !testFiles.includes(file) || !hasTest(file, title);
        })
        .map((part) => `${section}: ${line}: ${part}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('each endpoint of the API specification', () => {
  const { paths = {} } = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as OpenAPIV3_1.Document;

  it.each([...ENDPOINTS.map((endpoint) => endpoint.replace(' ', ' /api')), ...AT_THE_ROOT])(
    '%s is described, and not as something to leave alone',
    (endpoint) => {
      const [method = '', path = ''] = endpoint.replace(/:(\w+)/g, '{$1}').split(' ');
      const operation = paths[path]?.[method.toLowerCase() as OpenAPIV3_1.HttpMethods];
      expect(operation?.summary).toMatch(/\S/);
      expect(operation).not.toHaveProperty('deprecated', true);
    },
  );

  it.each([...ENDPOINTS, ...AT_THE_ROOT, ...DOCUMENTATION])('%s has a row', (endpoint) => {
    expect(rows.some(({ line }) => line.startsWith(`\`${endpoint}\``))).toBe(true);
  });
});

describe('the reader of tests', () => {
  it('finds titles in every spelling, and ignores tests that never run', () => {
    const source = `
      it('plain', () => {});
      describe('group', () => { test(\`in quotes of another kind\`, () => {}); });
      it.each<[string]>([['a']])('of each %s', async () => {});
      test.concurrent.each(rows)('at once: $name', () => {});
      it.skipIf(missing)('where it can', () => {});
      it.skip('skipped', () => {});
      it.todo('later');
      describe.skip('group', () => { it('within what is skipped', () => {}); });
      // it('in a comment', () => {});
      call('no test', () => {});`;
    expect(titlesIn(parseAst(source, { lang: 'ts' }))).toEqual([
      'plain',
      'in quotes of another kind',
      'of each %s',
      'at once: $name',
      'where it can',
    ]);
  });
});
