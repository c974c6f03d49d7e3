import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Runs before every command of package.json that needs dist/. With the development packages installed, it builds what has
 * changed. Without them, it uses the existing build, and fails if that is missing or older than the sources. It is plain
 * JavaScript without packages, because it runs in both kinds of installation.
 */
const ROOT = join(import.meta.dirname, '..');
/** The compiler writes the build file of a project last. */
const PROJECTS = [
  { config: 'tsconfig.build.json', sources: join(ROOT, 'src'), build: join(ROOT, 'dist', '.tsbuildinfo') },
  {
    config: 'packages/client',
    sources: join(ROOT, 'packages', 'client', 'src'),
    build: join(ROOT, 'packages', 'client', 'dist', '.tsbuildinfo'),
    isOptional: true, // Only the simulator needs it.
  },
  { config: 'tools', sources: join(ROOT, 'tools'), build: join(ROOT, 'dist', 'tools', '.tsbuildinfo') },
];
const CONSOLE = {
  sources: join(ROOT, 'web', 'src'),
  build: join(ROOT, 'web', 'dist', '.built'), // Vite writes it last.
  isOptional: true, // An installation without its sources has only the API.
};
/** They change the console, too. */
const CONSOLE_SETTINGS = ['web/index.html', 'web/vite.config.ts', 'web/package.json', 'package-lock.json'];
const PACKAGES = join(ROOT, 'node_modules');
const COMPILER = join(PACKAGES, 'typescript', 'bin', 'tsc');
const BUNDLER = join(PACKAGES, 'vite', 'bin', 'vite.js');
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** The compiler alone is not enough: it is an optional peer of other packages, and needs the type packages. */
const canBuild = Object.keys(devDependencies).every((name) => existsSync(join(PACKAGES, name)));
const HOW_TO_BUILD =
  'Run "npm ci && npm run build" with the development packages; "npm prune --omit=dev" removes them afterwards.';

const parts = [...PROJECTS, CONSOLE];
const present = parts.filter(({ sources }) => existsSync(sources));
const missing = parts.find(
  ({ sources, build, isOptional }) => !existsSync(build) && (!isOptional || existsSync(sources)),
);
const outdated = missing ? undefined : present.find(isOutdated);

if (canBuild && present.length > 0) {
  const configs = PROJECTS.filter((project) => present.includes(project)).map(({ config }) => config);
  run(COMPILER, '-b', ...configs);
  // Unlike the compiler, Vite would build everything again.
  if (present.includes(CONSOLE) && (!existsSync(CONSOLE.build) || isOutdated(CONSOLE))) {
    run(BUNDLER, 'build', 'web', '--logLevel', 'warn');
  }
} else if (missing) {
  fail(`The service is not built: there is no ${missing.build}. ${HOW_TO_BUILD}`);
} else if (outdated) {
  fail(`The build is older than the sources in ${relative(ROOT, outdated.sources)}/. ${HOW_TO_BUILD}`);
}

/** Ends this process if the program fails. */
function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function isOutdated(part) {
  const settings = part === CONSOLE ? CONSOLE_SETTINGS.map((name) => join(ROOT, name)) : [];
  const changes = settings.filter((file) => existsSync(file)).map((file) => statSync(file).mtimeMs);
  return Math.max(newestChangeMs(part.sources), ...changes) > statSync(part.build).mtimeMs;
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
