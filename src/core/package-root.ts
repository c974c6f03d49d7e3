import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json: two levels above `src/core/`, and one level above the built programs in `dist/`. */
export const PACKAGE_ROOT = folderAbove(import.meta.dirname, 'package.json');

function folderAbove(folder: string, file: string): string {
  return existsSync(join(folder, file)) ? folder : folderAbove(dirname(folder), file);
}
