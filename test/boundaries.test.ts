import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { beforeAll, describe, expect, it } from 'vitest';
import { FOLDERS_IN_CYCLES, FORBIDDEN, hasNoRole, OPTIONS, WINGS } from './support/import-rules.ts';

const ROOT = join(import.meta.dirname, '..');
/** As in tsconfig.json. */
const ALIASES = { '@account-management/client': join(ROOT, 'packages', 'client', 'src', 'index.ts') };

let result: ICruiseResult;
let sources: { path: string; text: string }[];

beforeAll(async () => {
  const ruleSet = { forbidden: FORBIDDEN };
  const options = { ...OPTIONS, baseDir: ROOT, ruleSet, validate: true };
  const { output } = await cruise(['src', 'tools'], options, { alias: ALIASES });
  result = output as ICruiseResult;
  const paths = result.modules.map(({ source }) => source).filter((path) => /^(src|tools)\//.test(path));
  sources = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
});

describe('the import rules', () => {
  it('hold for every source file', () => {
    expect(result.summary.violations.map(({ rule, from, to }) => `${from} → ${to}: ${rule.name}`)).toEqual(
      [],
    );
  });

  it('see every file, and every kind of import', () => {
    expect(sources.length).toBeGreaterThan(200);
    const app = result.modules.find(({ source }) => source === 'src/app.ts');
    const imports = app?.dependencies.map(({ resolved }) => resolved);
    expect(imports).toContain('src/accounts/routes.ts');
    expect(imports).toContain('src/core/http/api.ts'); // import type
    expect(imports).toContain('src/core/http/server.ts'); // import { type … }
  });

  it('apply to at least one file each', () => {
    const applies = (pattern: string) => sources.some(({ path }) => new RegExp(pattern).test(path));
    const patterns = FORBIDDEN.flatMap(({ from, to }) => [from.path ?? [], to.path ?? []].flat(2));
    expect(patterns.filter((pattern) => !applies(pattern))).toEqual([]);
  });

  it('know every folder of src/ as a wing', () => {
    const wings = new Set(sources.flatMap(({ path }) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []));
    expect([...wings].sort()).toEqual([...WINGS].sort());
  });

  it('have no cycle of folders within a wing, except for FOLDERS_IN_CYCLES', () => {
    const folderOf = (path: string) => /^src\/([^/]+(?:\/[^/]+)?)\//.exec(path)?.[1] ?? '';
    const wingOf = (folder: string) => folder.split('/')[0];
    const imported = (folder: string) =>
      result.modules
        .filter(({ source }) => folderOf(source) === folder)
        .flatMap(({ dependencies }) => dependencies.map(({ resolved }) => folderOf(resolved)))
        .filter((other) => other !== folder && wingOf(other) === wingOf(folder));
    const reached = (folder: string, seen = new Set<string>()): Set<string> => {
      for (const other of new Set(imported(folder))) {
        if (!seen.has(other)) reached(other, seen.add(other));
      }
      return seen;
    };
    const folders = new Set(sources.map(({ path }) => folderOf(path)).filter((folder) => folder !== ''));
    const inCycles = [...folders].filter((folder) => reached(folder).has(folder));
    expect(inCycles.sort()).toEqual([...FOLDERS_IN_CYCLES].sort());
  });

  it('give every file of a feature a role', () => {
    expect(sources.map(({ path }) => path).filter(hasNoRole)).toEqual([]);
  });
});

describe('the environment', () => {
  it('is read only by the process and the CLI, which pass it to config/config.ts', () => {
    const readers = sources.filter(({ text }) => /\bprocess\.env\b/.test(text)).map(({ path }) => path);
    // The simulators read secrets, which must not appear in options that `ps` shows.
    expect(readers.sort()).toEqual(['src/cli/connect.ts', 'src/server.ts', 'tools/simulator/options.ts']);
  });
});

describe('the time of a row', () => {
  it('comes from business_now(), which tests can move, except for real time', () => {
    const realTime =
      /(?<![.\w])now\(\)(?!:)|clock_timestamp|statement_timestamp|current_timestamp|current_date/;
    // Sign-in, locks of jobs, the age of transactions and commits, and leases of webhook endpoints.
    const exempt = [
      'src/staff/api-keys/store.ts',
      'src/core/database/standby.ts',
      'src/staff/users/invitation-store.ts',
      'src/platform/jobs/queue.ts',
      'src/platform/migrations/runner.ts',
      'src/changes/webhook-endpoints/delivery-store.ts',
    ];
    const isExempt = (path: string) => exempt.includes(path);
    const lines = sources.flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line })));
    expect(lines.filter(({ path, line }) => realTime.test(line) && !isExempt(path))).toEqual([]);
  });
});

describe('instalments', () => {
  it('are computed only by the schedule, the changes of plans, and the pay plans', () => {
    const formula =
      /instalments_due_(by|in_runs)|\b(next_)?due_in_run\b|\bnext_due_date(_in_runs)?\(|date_of_place|place_by|dateInRun|duesInRunBy|equalInstalments\(|\ba\.run_|paid_to_instalments|item_date|(deposit|instalment)(_minor|Minor)\)? [*+-] |[*+-] [\w.(]*(deposit|instalment)(_minor|Minor)/;
    // Descriptions in schemas name the formula. A check of the books does not use the code that it checks.
    const owner =
      /^src\/(accounts\/(schedule|plan-changes)|catalogue\/pay-plans|core\/values)\/|schema[.]ts$|\/(schedule|plan)-checks-store[.]ts$/;
    const lines = sources.flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line })));
    expect(lines.filter(({ path, line }) => formula.test(line) && !owner.test(path))).toEqual([]);
    expect(lines.filter(({ path, line }) => formula.test(line) && owner.test(path)).length).toBeGreaterThan(
      5,
    );
  });
});
