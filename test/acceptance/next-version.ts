import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Ended, type Environment, newFolder, ROOT, runToEnd } from './process.ts';

/** Creates a copy of this version with additional migrations. @returns a function that runs its migrations. */
export async function nextVersion(
  migrations: Record<string, string>,
): Promise<(environment: Environment) => Promise<Ended>> {
  const folder = await newFolder();
  await mkdir(join(folder, 'dist'));
  for (const name of ['dist', 'migrations'])
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'package.json']) await symlink(join(ROOT, name), join(folder, name));
  for (const [name, text] of Object.entries(migrations))
    await writeFile(join(folder, 'migrations', `${name}.sql`), text);
  const program = join(folder, 'dist', 'cli', 'migrate.js');
  return (environment) => runToEnd([process.execPath, program], environment, folder);
}
