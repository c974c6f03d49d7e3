import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The import rules of the house (CONTRIBUTING.md), held against every source file. */

const SRC = join(import.meta.dirname, '..', 'src');

/**
 * Which feature may know which other, and why.
 * - accounts copies the terms of a pay plan and asks whether a product is sold and an employee sells;
 * - money events are posted to the ledger;
 * - payments are posted to accounts, and matched by customers' national ids;
 * - credit leaves accounts by a payment method, and is refused where a payment is;
 * - statements tell an account's story from its terms and its money;
 * - a provider's statement is imported as the notifications that were lost, and proves payments in batches
 *   for the user who asked for it;
 * - invoices and reports print an account's number, and reports have its statuses;
 * - kyc belongs to a customer, a commission to an employee, a session to a user;
 * - a commission shows the statuses of the accounts that it is paid for.
 */
const FEATURES_MAY_IMPORT: Record<string, string[]> = {
  accounts: ['employees', 'ledger', 'pay-plans', 'products'],
  auth: ['users'],
  commissions: ['accounts', 'employees'],
  credit: ['accounts', 'ledger', 'payment-methods', 'payments'],
  invoices: ['accounts'],
  kyc: ['customers'],
  payments: ['accounts', 'customers', 'ledger'],
  'provider-statements': ['payment-methods', 'payments', 'reconciliations', 'users'],
  reports: ['accounts'],
  statements: ['accounts', 'ledger', 'pay-plans'],
};

/** Pure values of a feature that its rules and schema may share. */
const PURE_SIBLINGS = ['accounts/schedule.ts', 'accounts/account-number.ts'];

/** Not features: the core, what the service stands on, the CLI and the simulator. */
const NOT_FEATURES = ['core', 'platform', 'cli', 'simulator'];

/** Of the assembly's files those that all may know: the rights table, and the type of the configuration. */
const KNOWN_TO_ALL = ['config.ts', 'rights.ts'];

const ROLE = /(^|[/-])(schema|rules|store|commands|view|routes)\.ts$/;

/** Files of a feature without a role, and why. */
const WITHOUT_ROLE: Record<string, string> = {
  'auth/access.ts': 'issues and verifies access tokens, for the access hook of core/http',
  'auth/identity-providers.ts': 'client of OpenID Connect providers',
  'users/passwords.ts': 'hashes passwords in threads',
  'accounts/account-number.ts': 'value',
  'accounts/schedule.ts': 'value',
  'proof/checks.ts': 'table of checks',
  'provider-statements/reader.ts': 'parser',
  'provider-statements/work.ts': 'background work',
  'statements/answers.ts': 'formats',
  'statements/document.ts': 'printed document',
  'statements/words.ts': 'printed document',
};

interface SourceFile {
  /** Relative to src, with forward slashes. */
  path: string;
  text: string;
  /** The files of src that it imports, types too. */
  imports: string[];
  packages: string[];
}

function readSources(): SourceFile[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => {
      const text = readFileSync(join(SRC, path), 'utf8');
      const specifiers = specifiersOf(text);
      return {
        path,
        text,
        imports: specifiers
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => relative(SRC, join(SRC, dirname(path), specifier)).replaceAll('\\', '/')),
        packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
      };
    });
}

/** What follows `from`, `import` or `import(` in quotes. */
function specifiersOf(text: string): string[] {
  const found = text.matchAll(
    /^\s*(?:import|export)\b[^;]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm,
  );
  return [...found].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
}

function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '';
}

function isFeature(folder: string): boolean {
  return folder !== '' && !NOT_FEATURES.includes(folder);
}

const sources = readSources();
const edges = sources.flatMap(({ path, imports }) => imports.map((target) => ({ path, target })));

/** The edges that break a rule, as `from → to`. */
function breaches(rule: (edge: { path: string; target: string }) => boolean): string[] {
  return edges.filter(rule).map(({ path, target }) => `${path} → ${target}`);
}

describe('the reader of imports', () => {
  it('finds the imports that are known to be there, and only files that exist', () => {
    const app = sources.find(({ path }) => path === 'app.ts');
    expect(app?.imports).toContain('accounts/routes.ts');
    expect(app?.imports).toContain('core/http/api.ts'); // import type
    expect(sources.find(({ path }) => path === 'config.ts')?.packages).toContain('typebox');
    const files = sources.map(({ path }) => path);
    expect(breaches(({ target }) => !files.includes(target))).toEqual([]);
    // As many imports are read as the files have lines that end in one.
    const lines = sources.flatMap(({ text }) => text.match(/^(import|export|\}).* from '[^']+';$/gm) ?? []);
    expect(sources.flatMap(({ imports, packages }) => [...imports, ...packages])).toHaveLength(lines.length);
  });
});

describe('roles', () => {
  it('name every file of a feature, except those listed here and one file for each payment provider', () => {
    const files = sources.map(({ path }) => path).filter((path) => isFeature(folderOf(path)));
    const unnamed = files.filter((path) => !ROLE.test(path) && !path.startsWith('payments/providers/'));
    expect(unnamed.filter((path) => !(path in WITHOUT_ROLE))).toEqual([]);
  });
});

describe('imports run one way', () => {
  it('the core knows no feature and, of the assembly, only the type of the configuration', () => {
    const out = edges.filter(({ path, target }) => folderOf(path) === 'core' && folderOf(target) !== 'core');
    expect([...new Set(out.map(({ target }) => target))]).toEqual(['config.ts']);
    for (const { path, text } of sources.filter(({ path }) => folderOf(path) === 'core')) {
      expect(text, path).not.toMatch(/^import (?!type ).*config\.ts';$/m);
    }
  });

  it('routes are imported by the assembly alone', () => {
    // service.ts makes the settable clock of platform/test-clock/routes.ts, and takes no route from there.
    const allowed = ['app.ts → ', 'service.ts → platform/test-clock/routes.ts'];
    const taken = breaches(({ target }) => target.endsWith('/routes.ts'));
    expect(taken.filter((edge) => !allowed.some((start) => edge.startsWith(start)))).toEqual([]);
  });

  it('rules and schemas know the core, pure siblings, and rules and schemas alone', () => {
    const own = (path: string) => path.endsWith('rules.ts') || path.endsWith('/schema.ts');
    expect(
      breaches(
        ({ path, target }) =>
          own(path) &&
          !own(target) &&
          folderOf(target) !== 'core' &&
          target !== 'rights.ts' &&
          !target.endsWith('/provider.ts') &&
          !PURE_SIBLINGS.includes(target),
      ),
    ).toEqual([]);
    expect(
      breaches(({ path, target }) => PURE_SIBLINGS.includes(path) && folderOf(target) !== 'core'),
    ).toEqual([]);
  });

  it('rules and pure siblings take nothing from packages, but for a word list', () => {
    const pure = sources.filter(({ path }) => path.endsWith('rules.ts') || PURE_SIBLINGS.includes(path));
    expect(pure.flatMap(({ path, packages }) => packages.map((name) => `${path} → ${name}`))).toEqual([
      'users/password-rules.ts → @zxcvbn-ts/language-common',
    ]);
  });

  it('a store imports no commands', () => {
    expect(
      breaches(({ path, target }) => path.endsWith('store.ts') && target.endsWith('/commands.ts')),
    ).toEqual([]);
  });

  it('features know each other only as declared', () => {
    const known: Record<string, Set<string>> = {};
    for (const { path, target } of edges) {
      const [from, to] = [folderOf(path), folderOf(target)];
      if (!isFeature(from) || !isFeature(to) || from === to) continue;
      known[from] ??= new Set();
      known[from].add(to);
    }
    const sorted = Object.fromEntries(Object.entries(known).map(([from, to]) => [from, [...to].sort()]));
    expect(sorted).toEqual(FEATURES_MAY_IMPORT);
  });

  it('the platform knows no feature, and features know only its printer', () => {
    expect(
      breaches(({ path, target }) => folderOf(path) === 'platform' && isFeature(folderOf(target))),
    ).toEqual([]);
    const known = edges.filter(
      ({ path, target }) => isFeature(folderOf(path)) && folderOf(target) === 'platform',
    );
    expect([...new Set(known.map(({ target }) => target))]).toEqual(['platform/printing/printer.ts']);
  });

  it('views change nothing: they import no commands', () => {
    expect(
      breaches(({ path, target }) => path.endsWith('view.ts') && target.endsWith('commands.ts')),
    ).toEqual([]);
  });

  it('the assembly is imported by the assembly and the CLI alone, but for the rights and the type of the configuration', () => {
    const fromBelow = breaches(
      ({ path, target }) =>
        folderOf(target) === '' && !KNOWN_TO_ALL.includes(target) && !['', 'cli'].includes(folderOf(path)),
    );
    expect(fromBelow).toEqual([]);
  });

  it('the simulator speaks HTTP with the service, and shares nothing with it', () => {
    const own = (path: string) => path.startsWith('simulator/') || path === 'cli/simulate.ts';
    expect(breaches(({ path, target }) => own(path) && !target.startsWith('simulator/'))).toEqual([]);
  });

  it('no file imports itself in a circle', () => {
    const next = new Map(sources.map(({ path, imports }) => [path, imports]));
    const circles: string[] = [];
    const done = new Set<string>();
    function walk(path: string, trail: string[]): void {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      else if (!done.has(path)) {
        for (const target of next.get(path) ?? []) walk(target, [...trail, path]);
        done.add(path);
      }
    }
    for (const { path } of sources) walk(path, []);
    expect(circles).toEqual([]);
  });
});

describe('the environment', () => {
  it('is read by the process and the CLI, which pass it to the configuration, and by nobody else', () => {
    const readers = sources.filter(({ text }) => /\bprocess\.env\b/.test(text)).map(({ path }) => path);
    // simulate.ts: what is secret must stand in no option that `ps` shows.
    expect(readers.sort()).toEqual(['cli/connect.ts', 'cli/simulate.ts', 'server.ts']);
  });
});

describe('the time at which rows are written', () => {
  it('is that of business_now(), which a test can move, but where real time is meant', () => {
    const own = /(?<![.\w])now\(\)(?!:)|clock_timestamp|statement_timestamp|current_timestamp|current_date/;
    const users = sources.filter(({ text }) => own.test(text)).map(({ path }) => path);
    const isSignIn = (path: string) => path === 'users/invitation-store.ts';
    // Heartbeats of background work.
    const isBackground = (path: string) => path.startsWith('provider-statements/');
    expect(users.filter((path) => !isSignIn(path) && !isBackground(path))).toEqual([]);
    const background = sources
      .filter(({ path }) => isBackground(path))
      .flatMap(({ text }) => text.split('\n'));
    expect(background.filter((line) => own.test(line) && !line.includes('progressed_at'))).toEqual([]);
  });
});
