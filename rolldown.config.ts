import { readFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

/** The programs that the scripts of package.json run, such as `cli/verify`. */
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const programs = Object.values(scripts).flatMap(
  (script) => /^exec node .*?\bdist\/(\S+)\.js/.exec(script)?.[1] ?? [],
);
/** The modules that bench/ imports. */
const modules = [
  ...['accounts/account-number-rules', 'config/config', 'core/context', 'core/values/dates'],
  ...[
    'start/database-preparation',
    'platform/migrations/files',
    'platform/migrations/runner',
    'reports/payments-store',
    'service',
  ],
];
const sourceOf = (name: string) => (name.startsWith('tools/') ? `${name}.ts` : `src/${name}.ts`);

/**
 * Bundles each program with its packages into dist/. Without bundles, a program would read about 2,000 files at its start, which
 * takes more CPU time than the rest of the start.
 */
export default defineConfig({
  input: {
    ...Object.fromEntries([...programs, ...modules].map((name) => [name, sourceOf(name)])),
    // The printer starts it beside its own file.
    'print-program': 'src/platform/printing/print-program.ts',
  },
  platform: 'node',
  // Packages with native code. pg-native is not installed.
  external: ['@myriaddreamin/typst-ts-node-compiler', '@node-rs/argon2', 'pg-native'],
  transform: { target: 'es2023' },
  output: { dir: 'dist', cleanDir: true, chunkFileNames: '[name].js', keepNames: true },
});
