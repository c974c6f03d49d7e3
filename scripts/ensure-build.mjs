import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs before every command of package.json that needs dist/. If the development packages are installed, builds each part whose
 * build is missing or outdated, or every part if the argument is `--force`. Otherwise builds nothing, and fails if a needed build
 * is missing or older than its sources. This script is plain JavaScript and uses no packages, because it also runs without the
 * development packages.
 */
const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'node_modules');

/** The parts of the build, which are built at the same time. If an optional part has no sources, it needs no build. */
const PARTS = [
  {
    name: 'the service',
    sources: ['src', 'tools', 'packages/client/src'], // The simulator in tools/ uses the sources of the client.
    settings: ['rolldown.config.ts', 'tsconfig.json', 'package.json', 'package-lock.json'],
    mark: 'dist/.built',
    command: ['rolldown/bin/cli.mjs', '-c'],
  },
  {
    name: 'the staff console',
    sources: ['web/src'],
    settings: ['web/index.html', 'web/vite.config.ts', 'web/package.json', 'package-lock.json'],
    mark: 'web/dist/.built',
    command: ['vite/bin/vite.js', 'build', 'web'],
    isOptional: true, // Without the console, the service has only the API.
  },
];

/** While a process builds, this file exists and the process touches it every second. An old file was left by a killed process. */
const LOCK = join(PACKAGES, '.build-lock');
const LOCK_EXPIRES_MS = 10_000;

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
// Checks all development packages: npm can install one of them alone, as an optional peer of another package.
const canBuild = Object.keys(devDependencies).every((name) => existsSync(join(PACKAGES, name)));
const HOW_TO_BUILD =
  'Run "npm ci && npm run build" with the development packages; "npm prune --omit=dev" removes them afterwards.';

/** Types, which no build contains. Type checks make them. */
const TYPES = join('packages', 'client', 'src', 'generated', 'api.ts');

const isThere = (path) => existsSync(join(ROOT, path));
const present = PARTS.filter(({ sources: [folder] }) => isThere(folder));

if (canBuild && present.length > 0) {
  if (present.some(reasonToBuild)) {
    await takeLock();
    // Decides again, because another process may have built while this one waited.
    await Promise.all(present.filter(reasonToBuild).map(build));
  }
} else {
  const missing = PARTS.find((part) => !builtMs(part) && (!part.isOptional || present.includes(part)));
  // Ignores the settings: after a build, `npm prune` writes package-lock.json, which then looks newer than the build.
  const changed = PARTS.map((part) => findChange(part, part.sources)).find(Boolean);
  if (missing) fail(`The service is not built: there is no ${join(ROOT, missing.mark)}. ${HOW_TO_BUILD}`);
  else if (changed) fail(`The build is older than the sources in ${changed}/. ${HOW_TO_BUILD}`);
}

function reasonToBuild(part) {
  if (process.argv.includes('--force')) return '--force';
  if (!builtMs(part)) return 'not built yet';
  const changed = findChange(part, [...part.sources, ...part.settings]);
  return changed && `${changed} has changed`;
}

/** Finds a file, or a folder with a file, that is newer than the build. */
function findChange(part, paths) {
  return paths.filter(isThere).find((path) => newestChangeMs(join(ROOT, path)) > (builtMs(part) ?? Infinity));
}

function builtMs({ mark }) {
  return changeMs(join(ROOT, mark));
}

function newestChangeMs(path) {
  if (!statSync(path).isDirectory()) return changeMs(path);
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => file !== join(ROOT, TYPES));
  return Math.max(...files.map((file) => changeMs(file) ?? 0));
}

function changeMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** Waits until no other process builds, because a build first empties its folder. This process then has the lock until it ends. */
async function takeLock() {
  for (let isWaiting = false; !createLock(); isWaiting = true) {
    if (!isWaiting) console.log('Waiting for another process that builds');
    if (Date.now() - (changeMs(LOCK) ?? Date.now()) > LOCK_EXPIRES_MS) rmSync(LOCK, { force: true });
    await sleep(100);
  }
  setInterval(() => utimesSync(LOCK, new Date(), new Date()), 1_000).unref();
  process.once('exit', () => rmSync(LOCK, { force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
}

function createLock() {
  try {
    writeFileSync(LOCK, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

async function build(part) {
  const began = new Date();
  console.log(`Building ${part.name} (${reasonToBuild(part)})`);
  const mark = join(ROOT, part.mark);
  rmSync(mark, { force: true }); // Commands that start now wait for this build.
  const [program, ...args] = part.command;
  // The programs write warnings and errors to stderr, and a list of all built files to stdout.
  const child = spawn(process.execPath, [join(PACKAGES, program), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.once('exit', () => child.kill());
  const [status] = await once(child, 'exit');
  if (status !== 0) return fail(`Building ${part.name} failed.`);
  // With the time of the start, so that a source that changed during the build is built again.
  writeFileSync(mark, '');
  utimesSync(mark, began, began);
  console.log(`Built ${part.name} in ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
