import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json. It is searched for, because the sources are deeper below it than the programs in `dist/`. */
export const PACKAGE_ROOT = folderAbove(import.meta.dirname, 'package.json');

function folderAbove(folder: string, file: string): string {
  return existsSync(join(folder, file)) ? folder : folderAbove(dirname(folder), file);
}
