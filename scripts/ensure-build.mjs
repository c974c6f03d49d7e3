import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs before every command of package.json that needs dist/. Where the compiler is installed, it builds what has
 * changed. An installation without development packages uses the build it has, and fails if that is missing or older
 * than the sources. Plain JavaScript without packages, because it has to run in both.
 */
const ROOT = join(import.meta.dirname, '..');
const SOURCES = join(ROOT, 'src');
const BUILD = join(ROOT, 'dist', '.tsbuildinfo'); // the compiler writes it last
const COMPILER = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const HOW_TO_BUILD =
  'Run "npm ci && npm run build" with the development packages; "npm prune --omit=dev" removes them afterwards.';

if (existsSync(COMPILER) && existsSync(SOURCES)) {
  const { status } = spawnSync(process.execPath, [COMPILER, '-b', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} else if (!existsSync(BUILD)) {
  fail(`The service is not built: there is no ${BUILD}. ${HOW_TO_BUILD}`);
} else if (existsSync(SOURCES) && newestChangeMs(SOURCES) > statSync(BUILD).mtimeMs) {
  fail(`The build in dist/ is older than the sources in src/. ${HOW_TO_BUILD}`);
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
