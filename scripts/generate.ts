/**
 * Writes the generated files:
 *
 *   from the migrations        src/core/database/tables.ts, schema.sql
 *   from the routes            openapi.json
 *   from openapi.json          the calls of packages/client, and its types, which are not committed
 *   from the configuration     .env.example
 *   from bench/RESULTS.md      the table of docs/scaling.md
 *   from the code              the catalogue of docs/events.md, the columns of docs/portfolio-import.md
 *
 * With --check, writes no committed file, and fails if one of the files is out of date.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { buildApp } from '../src/app.ts';
import { createHorizonReader } from '../src/changes/events/feed-horizon.ts';
import { readConfig } from '../src/config/config.ts';
import { PROVIDER_SETTINGS, settingsSchema } from '../src/config/settings.ts';
import type { Context } from '../src/core/context.ts';
import { createLog } from '../src/core/log.ts';
import { systemClock } from '../src/core/values/dates.ts';
import { openPostingQueue } from '../src/payments/posting/post-payments.ts';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/supervisor.ts';
import { currencyOf, prepareDatabase } from '../src/start/database-preparation.ts';
import { openPools } from '../src/start/pools.ts';
import { clientOperations } from './client-operations.ts';
import { dumpSchema } from './dump-schema.ts';
import { eventFieldsTable, eventsTable } from './events-table.ts';
import { portfolioTables } from './portfolio-tables.ts';
import { resultsTable } from './results-table.ts';

const config = readConfig({ NODE_ENV: 'test', LOG_LEVEL: 'silent', DEMO_DATA: 'off' });

const dataDir = await mkdtemp(join(tmpdir(), 'ams-generate-'));
const embedded = await startEmbeddedPostgres({ dataDir, log: { info: () => {}, warn: console.error } });
try {
  await prepareDatabase(embedded.connection, config, currencyOf(config));
  const description = await generateDescription();
  const results = resultsTable(await readFile('bench/RESULTS.md', 'utf8'));
  const files = {
    'src/core/database/tables.ts': await generateTables(),
    'schema.sql': await generateSchema(),
    'openapi.json': description,
    'packages/client/src/generated/operations.ts': clientOperations(JSON.parse(description)),
    '.env.example': generateEnvironment(),
    'docs/scaling.md': await fillIn('docs/scaling.md', 'results', results),
    'docs/events.md': await fillIn(
      'docs/events.md',
      'catalogue',
      `${eventsTable()}\n\n${eventFieldsTable()}`,
    ),
    'docs/portfolio-import.md': await fillIn('docs/portfolio-import.md', 'columns', portfolioTables()),
  };
  await writeOrCheck(files, process.argv.includes('--check'));
  execFileSync('npm', ['run', 'types', '-w', 'packages/client'], { stdio: ['ignore', 'ignore', 'inherit'] });
} finally {
  await embedded.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function writeOrCheck(files: Record<string, string>, check: boolean): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    const present = await readFile(file, 'utf8').catch(() => '');
    if (present === text) continue;
    if (check) {
      console.error(`${file} is out of date: run "npm run generate".`);
      process.exitCode = 1;
    } else {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      console.log(`wrote ${file}`);
    }
  }
}

async function generateTables(): Promise<string> {
  const { host, port, user, database } = embedded.connection;
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  const typeMapping = JSON.stringify({ int8: 'Int8', date: 'PlainDate', timestamptz: 'TimestampColumn' });
  const out = join(dataDir, 'tables.ts');
  const options = ['--dialect', 'postgres', '--url', url, '--out-file', out, '--type-mapping', typeMapping];
  const patterns = ['--include-pattern', 'public.*', '--exclude-pattern', 'public.kysely_*'];
  execFileSync('node_modules/.bin/kysely-codegen', [...options, ...patterns, '--log-level', 'error']);
  // The same type as `Metadata` in core/http/fields.ts.
  const metadata = 'metadata: Generated<Record<string, string>>';
  const text = (await readFile(out, 'utf8')).replaceAll('metadata: Generated<Json>', metadata);
  const imports = [
    'import type { PlainDate } from "../values/dates.ts";',
    'import type { Int8 } from "./int8.ts";',
    'import type { TimestampColumn } from "./timestamps.ts";',
  ].join('\n');
  const rows =
    '/** A row of a table as it is read. */\nexport type Row<Table extends keyof DB> = Selectable<DB[Table]>;\n';
  const kysely = 'import type { ColumnType, Selectable } from "kysely";';
  return `${text.replace(/^import type \{ ColumnType \} from "kysely";$/m, `${kysely}\n${imports}`)}\n${rows}`;
}

async function generateSchema(): Promise<string> {
  const client = new pg.Client(embedded.connection);
  await client.connect();
  try {
    return await dumpSchema(client);
  } finally {
    await client.end();
  }
}

async function generateDescription(): Promise<string> {
  const pools = await openPools(config, { connection: embedded.connection });
  const context: Context = {
    db: pools.db,
    clock: systemClock,
    config,
    currency: currencyOf(config),
    secret: 'unused',
  };
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const app = buildApp({
    ...pools,
    context: { ...context, queue: openPostingQueue(context) },
    stopwatch: performance,
    horizon: createHorizonReader(pools.db),
    log: createLog(config),
    redis: undefined,
    version,
    consoleFolder: undefined,
    databaseKind: 'embedded PostgreSQL',
    jobsCompletedAt: () => undefined,
    deliveryCounts: () => ({}),
    requestCounts: () => ({}),
    isAccepting: () => true,
  });
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  await pools.cancelLongWork();
  await pools.close();
  return text;
}

function generateEnvironment(): string {
  const settings = Object.entries(settingsSchema.properties).map(([name, schema]) => {
    const { description, default: value } = schema as { description?: string; default?: string | number };
    return `# ${description}\n#${name}=${value}\n`;
  });
  const providers = Object.entries(PROVIDER_SETTINGS).map(
    ([part, description]) => `# ${description}\n#OAUTH_<NAME>_${part}=\n`,
  );
  const parts = [...settings, ...providers];
  return `# Every setting with its default. Copy to .env and uncomment what you change.\n\n${parts.join('\n')}`;
}

/** @returns the page with the new text between the comments `<!-- <name>: … -->` and `<!-- end of <name> -->`. */
async function fillIn(file: string, name: string, text: string): Promise<string> {
  const page = await readFile(file, 'utf8');
  const part = new RegExp(`(?<=<!-- ${name}: .* -->\\n)[\\s\\S]*(?=<!-- end of ${name} -->)`);
  return page.replace(part, () => `\n${text}\n\n`);
}
