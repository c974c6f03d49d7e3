import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs before every command of package.json that needs dist/. If the development packages are installed, builds each part whose
 * build is missing or outdated. Otherwise builds nothing, and fails if a needed build is missing or older than its sources. This
 * script is plain JavaScript and uses no packages, because it also runs without the development packages.
 */
const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'node_modules');
const COMPILER = join(PACKAGES, 'typescript', 'bin', 'tsc');
const BUNDLER = join(PACKAGES, 'rolldown', 'bin', 'cli.mjs');
const VITE = join(PACKAGES, 'vite', 'bin', 'vite.js');

/** The parts of the build. `command` writes the file `build` last. If an optional part has no sources, it needs no build. */
const CLIENT = {
  sources: 'packages/client/src',
  settings: ['packages/client/tsconfig.json', 'packages/client/package.json', 'package-lock.json'],
  build: 'packages/client/dist/.tsbuildinfo',
  command: [COMPILER, '-b', 'packages/client'],
  isOptional: true, // Only the console and the simulator use the client.
};
const SERVICE = {
  sources: 'src',
  settings: ['rolldown.config.ts', 'package.json', 'package-lock.json'],
  build: 'dist/.built',
  command: [BUNDLER, '-c'],
};
const SIMULATOR = { ...SERVICE, sources: 'tools' };
const CONSOLE = {
  sources: 'web/src',
  settings: ['web/index.html', 'web/vite.config.ts', 'web/package.json', 'package-lock.json'],
  build: 'web/dist/.built',
  command: [VITE, 'build', 'web', '--logLevel', 'warn'],
  isOptional: true, // Without the console, the service has only the API.
};
const PARTS = [CLIENT, SERVICE, SIMULATOR, CONSOLE];

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
// Checks all development packages: npm can install the compiler alone, as an optional peer of another package.
const canBuild = Object.keys(devDependencies).every((name) => existsSync(join(PACKAGES, name)));
const HOW_TO_BUILD =
  'Run "npm ci && npm run build" with the development packages; "npm prune --omit=dev" removes them afterwards.';

const isThere = (path) => existsSync(join(ROOT, path));
const present = PARTS.filter(({ sources }) => isThere(sources));

if (canBuild && present.length > 0) {
  for (const part of present) if (!isThere(part.build) || isOutdated(part)) run(...part.command);
} else {
  const missing = PARTS.find((part) => !isThere(part.build) && (!part.isOptional || isThere(part.sources)));
  // Ignores the settings: after a build, `npm prune` writes package-lock.json, which then looks newer than the build.
  const outdated = missing ? undefined : present.find((part) => isOutdated({ ...part, settings: [] }));
  if (missing) fail(`The service is not built: there is no ${join(ROOT, missing.build)}. ${HOW_TO_BUILD}`);
  if (outdated) fail(`The build is older than the sources in ${outdated.sources}/. ${HOW_TO_BUILD}`);
}

/** Runs a Node.js program. If it fails, ends this process with the same status. */
function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function isOutdated({ sources, settings = [], build }) {
  const changes = settings.filter(isThere).map((file) => statSync(join(ROOT, file)).mtimeMs);
  return Math.max(newestChangeMs(join(ROOT, sources)), ...changes) > statSync(join(ROOT, build)).mtimeMs;
}

function newestChangeMs(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
