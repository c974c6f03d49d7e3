import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { expect, it } from 'vitest';

interface LockedPackage {
  engines?: { node?: string };
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8')) as {
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
