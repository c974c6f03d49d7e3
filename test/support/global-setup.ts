import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import type { TestProject } from 'vitest/node';
import { readConfig } from '../../src/config/config.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/supervisor.ts';
import { currencyOf, prepareDatabase } from '../../src/start/database-preparation.ts';
import { run } from './processes.ts';
import { databaseOn, runStatement } from './statements.ts';
import { useTemporaryFolder } from './temporary-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The settings of a connection to the maintenance database of the server, for creating databases. */
    server: pg.ClientConfig;
    redisUrl: string;
    /** The migrated database that each test file clones. Each run has its own. */
    template: string;
  }
}

/**
 * Provides one PostgreSQL for the whole run: TEST_DATABASE_URL, or a new embedded server. Each test file clones a migrated
 * template.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await run(process.execPath, ['scripts/ensure-build.mjs'], { stdio: 'inherit' }); // some tests run the built program
  const removeTemporaryFolder = await useTemporaryFolder(project, { inMemory: true });
  const url = process.env.TEST_DATABASE_URL ?? '';
  const redisUrl = process.env.TEST_REDIS_URL ?? '';
  const { server, stop } = url
    ? { server: { connectionString: url }, stop: async () => {} }
    : await startEmbedded();
  process.stdout.write(`Tests run on ${url ? 'TEST_DATABASE_URL' : 'an embedded PostgreSQL'}`);
  process.stdout.write(
    redisUrl ? ' and TEST_REDIS_URL.\n' : '. Tests of Redis are skipped (TEST_REDIS_URL is not set).\n',
  );

  const template = `ams_test_template_${randomUUID().replaceAll('-', '')}`;
  await runStatement(server, `create database ${template}`);
  const config = readConfig({ NODE_ENV: 'test' });
  await prepareDatabase(databaseOn(server, template), config, currencyOf(config));
  project.provide('server', server);
  project.provide('redisUrl', redisUrl);
  project.provide('template', template);
  return async () => {
    await runStatement(server, `drop database ${template} with (force)`);
    await stop();
    removeTemporaryFolder();
  };
}

async function startEmbedded() {
  const dataDir = await mkdtemp(join(tmpdir(), 'ams-test-'));
  const quiet = { info: () => {}, warn: (message: string) => process.stderr.write(`${message}\n`) };
  const embedded = await startEmbeddedPostgres({ dataDir, log: quiet });
  const stop = async () => {
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { server: { ...embedded.connection }, stop };
}
