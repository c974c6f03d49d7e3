import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../core/package-root.ts';

const FOLDER = join(PACKAGE_ROOT, 'migrations');
/** The beginning of a file whose statements are committed one by one, as `create index concurrently` requires. */
const OUTSIDE_TRANSACTION = /^-- Outside a transaction\b/;

export interface MigrationFile {
  name: string;
  /** The whole file if the migration is one transaction. Otherwise each statement of the file. */
  statements: readonly string[];
  isTransaction: boolean;
}

/** The names, in the order in which the migrations are applied. */
export async function readMigrationNames(): Promise<string[]> {
  const files = await readdir(FOLDER);
  return files.flatMap((file) => (file.endsWith('.sql') ? [file.replace('.sql', '')] : [])).sort();
}

export async function readMigrationFiles(): Promise<MigrationFile[]> {
  const names = await readMigrationNames();
  return Promise.all(
    names.map(async (name) => parseMigration(name, await readFile(join(FOLDER, `${name}.sql`), 'utf8'))),
  );
}

/** If the migration is not one transaction, each of its statements must end with a semicolon at the end of a line. */
export function parseMigration(name: string, text: string): MigrationFile {
  const isTransaction = !OUTSIDE_TRANSACTION.test(text);
  const statements = isTransaction ? [text] : text.split(/;$/m).filter((part) => part.trim() !== '');
  return { name, statements, isTransaction };
}
