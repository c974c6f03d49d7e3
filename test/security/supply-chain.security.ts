import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, report } from '../acceptance/process.ts';
import { run } from '../support/processes.ts';

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  os?: string[];
  hasInstallScript?: boolean;
}

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  lockfileVersion: number;
  packages: Record<string, LockedPackage>;
};
const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  string,
  Record<string, string>
>;
const installed = Object.entries(lock.packages).filter(
  ([path, { link }]) => path.startsWith('node_modules/') && !link,
);

describe('the lock file', () => {
  it('contains exactly what package.json requires', () => {
    const root = lock.packages[''] as Record<string, unknown>;
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      expect(root[kind]).toEqual(own[kind]);
    }
    expect(lock.lockfileVersion).toBe(3);
  });

  it('has the version and digest of every installed package', () => {
    const without = installed.filter(
      ([, { version, integrity }]) => !version || !/^sha512-/.test(integrity ?? ''),
    );
    // Optional binaries of other platforms have no digest if the registry did not serve them when the lock file was written.
    // npm then installs the exact version that the parent package names, or leaves the binary out.
    const foreign = without.filter(([, { optional, version, os }]) => optional && version && os);
    report(
      `${installed.length} packages, ${foreign.length} optional ones of other platforms without a digest`,
    );
    expect(without.filter((one) => !foreign.includes(one)).map(([path]) => path)).toEqual([]);
  });

  it('fetches only from a registry: no git, file or URL in package.json', () => {
    const elsewhere = installed.filter(
      ([, { resolved }]) => resolved !== undefined && !/^https:\/\//.test(resolved),
    );
    expect(elsewhere.map(([path]) => path)).toEqual([]);
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      for (const [name, range] of Object.entries(own[kind] ?? {})) {
        expect(range, name).toMatch(/^[\^~]?\d+\.\d+\.\d+(-[\w.]+)?$/);
      }
    }
  });

  it('needs no install script of the service’s packages', () => {
    // `npm ci --ignore-scripts` works, too: see the supervisor of the embedded PostgreSQL.
    const scripted = installed.filter(([, one]) => one.hasInstallScript).map(([path]) => path);
    report(
      `packages with install scripts: ${scripted.map((path) => path.replace(/^.*node_modules\//, '')).join(', ') || 'none'}`,
    );
    const direct = Object.keys(own.dependencies ?? {}).map((name) => `node_modules/${name}`);
    expect(scripted.filter((path) => direct.includes(path))).toEqual([]);
  });
});

describe('known weaknesses', () => {
  it('that are high or critical: none, according to the registry', async ({ skip }) => {
    const audit = run('npm', ['audit', '--omit=dev', '--json'], { cwd: ROOT });
    const { stdout } = await audit.catch((failure: { stdout: string }) => failure); // It fails if it finds weaknesses.
    const told = JSON.parse(stdout || '{}') as {
      metadata?: { vulnerabilities: Record<string, number> };
      message?: string;
    };
    if (!told.metadata) {
      report('npm audit: this registry does not answer it, so nothing is known here');
      skip('this registry does not answer npm audit');
    }
    const { high = 0, critical = 0 } = told.metadata?.vulnerabilities ?? {};
    expect({ high, critical }).toEqual({ high: 0, critical: 0 });
  });
});

describe('the bill of materials', () => {
  it('is made by one command and lists every package of the service with licence and digest', async () => {
    const { stdout } = await run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT });
    const bill = JSON.parse(stdout) as {
      bomFormat: string;
      components: { name: string; version: string; purl: string; hashes?: object[] }[];
    };
    expect(bill.bomFormat).toBe('CycloneDX');
    const named = new Set(bill.components.map(({ name }) => name));
    for (const name of Object.keys(own.dependencies ?? {})) expect([...named], name).toContain(name);
    expect(bill.components.every(({ purl }) => purl.startsWith('pkg:npm/'))).toBe(true);
    report(`bill of materials: ${bill.components.length} components`);
  });
});
