import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Config } from '../core/context.ts';
import { openCopyPool } from '../core/database/copy-pool.ts';
import type { Connection } from '../core/database/db.ts';
import type { Replica } from '../core/database/replica.ts';
import { type ExportedFile, writePortfolio } from '../portfolio/export/view.ts';
import { currencyOf } from '../start/database-preparation.ts';
import {
  REPLICA_OPTION,
  readArguments,
  reportLostConnection,
  runCommand,
  timeOf,
  UsageError,
  withConnection,
  withReplica,
} from './connect.ts';

const USAGE =
  'Usage: npm run export -- <folder> [--replica]\n' +
  'Writes the whole portfolio to CSV files, which "npm run import" reads. The folder must be new or empty. With --replica, reads\n' +
  'the data from the replica, if the replica is not too far behind.';

await runCommand(async (config) => {
  const { folder, isReplicaWanted } = readCommandLine();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0) throw new UsageError(`${folder} is not empty.`);
  await withConnection(config, (connection) =>
    withReplica(config, { isReplicaWanted, primary: connection }, (replica) =>
      writeFiles(connection, replica, config, folder),
    ),
  );
  console.log(`The portfolio is in ${folder}. It contains personal data: keep it as safe as the database.`);
});

function readCommandLine(): { folder: string; isReplicaWanted: boolean } {
  const { values, positionals } = readArguments(USAGE, { allowPositionals: true, options: REPLICA_OPTION });
  const [folder, ...rest] = positionals;
  if (!folder || rest.length > 0) throw new UsageError(USAGE);
  return { folder, isReplicaWanted: values.replica };
}

/** The files get their final names when all of them are complete and on the disk. */
async function writeFiles(
  connection: Connection,
  replica: Replica | undefined,
  config: Config,
  folder: string,
): Promise<void> {
  const copies = openCopyPool({
    connection,
    replica,
    limits: config.limits,
    onConnectionLost: reportLostConnection,
  });
  const unfinished: string[] = [];
  let readAt = '';
  try {
    await writePortfolio(copies, 'export', currencyOf(config), async ({ value: file, takenAtMs }) => {
      readAt ||= timeOf(takenAtMs);
      const path = join(folder, `${file.name}.csv.unfinished`);
      unfinished.push(path);
      await writeFile(file, path);
    });
    for (const path of unfinished) await rename(path, path.replace(/\.unfinished$/, ''));
    if (replica) console.log(`The files contain everything that was acknowledged before ${readAt}.`);
  } catch (error) {
    for (const path of unfinished) await rm(path, { force: true });
    throw error;
  } finally {
    await copies.close();
  }
}

async function writeFile({ name, bytes, rowCount }: ExportedFile, path: string): Promise<void> {
  // Only the owner of the file may read it.
  const output = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  const progress = setInterval(() => {
    console.log(`${name}.csv: ${Math.floor(output.bytesWritten / 1_000_000)} MB …`);
  }, 5_000);
  try {
    await pipeline(bytes, output);
  } finally {
    clearInterval(progress);
  }
  console.log(`${name}.csv: ${rowCount()} rows`);
}
