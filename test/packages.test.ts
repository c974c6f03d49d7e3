import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { expect, it } from 'vitest';

interface LockedPackage {
  version?: string;
  engines?: { node?: string };
}

const root = join(import.meta.dirname, '..');
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};
const lowestVersions = (lock.packages['']?.engines?.node ?? '')
  .split('||')
  .map((range) => semver.minVersion(range)?.version ?? range);

it.each(lowestVersions)(
  'every installed package supports Node.js %s, so that npm ci warns of none',
  (version) => {
    const unsupported = Object.entries(lock.packages)
      .map(([path, { engines }]) => `${path} needs ${engines?.node ?? '*'}`)
      .filter((text) => !semver.satisfies(version, text.split(' needs ')[1] ?? ''));
    expect(unsupported).toEqual([]);
  },
);

it('test:mutation downloads the version of vitest with which the other tests run', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(scripts['test:mutation']).toContain(
    ` --package=vitest@${lock.packages['node_modules/vitest']?.version} `,
  );
});
