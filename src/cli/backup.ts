import { createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Config } from '../core/context.ts';
import type { Connection } from '../core/database/db.ts';
import { codeOf } from '../core/http/errors.ts';
import { connectDirectly } from '../start/database-preparation.ts';
import { readDatabase } from './backup-file.ts';
import { readSingleArgument, runCommand, UsageError, withConnection } from './connect.ts';

const USAGE = 'Usage: npm run backup -- <file>\nThe file must not exist yet.';

await runCommand(async (config) => {
  const file = readSingleArgument(USAGE);
  if (await exists(file)) throw new UsageError(`${file} already exists.`);
  const rows = await withConnection(config, (connection) => takeBackup(connection, config, file));
  const { size } = await stat(file);
  console.log(`${rows} rows are in ${file} (${Math.ceil(size / 1024)} KB). Keep it as safe as the database.`);
});

/** The file gets its final name when it is complete and on the disk. */
async function takeBackup(connection: Connection, config: Config, file: string): Promise<number> {
  const unfinished = `${file}.unfinished`;
  const { client, close } = await connectDirectly(connection, config);
  try {
    let rows = 0;
    const whole = readDatabase(client, (count) => {
      rows = count;
    });
    // The file contains the whole database, so only its owner may read it.
    const options = { flags: 'wx', mode: 0o600, flush: true };
    await pipeline(whole, createGzip(), createWriteStream(unfinished, options));
    await rename(unfinished, file);
    await sync(dirname(file));
    return rows;
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new UsageError(`${unfinished} already exists. If no other backup is running, delete this file.`);
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await close();
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
