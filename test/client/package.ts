import { execFileSync } from 'node:child_process';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
const PACKAGE = join(ROOT, 'packages', 'client');
const COMPILER = join(ROOT, 'node_modules', '.bin', 'tsc');

/** Makes a folder of a user who has installed the client. */
export function installClient(folder: string): void {
  const installed = join(folder, 'node_modules', '@account-management', 'client');
  const dist = join(installed, 'dist');
  const output = ['--outDir', dist, '--tsBuildInfoFile', join(dist, '.tsbuildinfo')];
  execFileSync('npm', ['run', 'types', '--silent'], { cwd: PACKAGE, stdio: 'inherit' });
  execFileSync(COMPILER, ['-p', PACKAGE, ...output], { stdio: 'inherit' });
  copyFileSync(join(PACKAGE, 'package.json'), join(installed, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
}

/** Compiles files as a strict user does. @returns what the compiler reports. */
export function compileStrictly(folder: string, files: string[], options: object = {}): string {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    noEmit: true,
    ...options,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  try {
    return execFileSync(COMPILER, ['-p', folder], { encoding: 'utf8' });
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error);
  }
}
