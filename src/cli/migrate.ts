import { currencyOf, prepareDatabase } from '../start/database-preparation.ts';
import { runCommand, withConnection } from './connect.ts';

await runCommand(async (config) => {
  const { migrations } = await withConnection(config, (connection) =>
    prepareDatabase(connection, config, currencyOf(config), { warn: console.error }),
  );
  for (const name of migrations) console.log(`applied ${name}`);
  console.log(
    migrations.length === 0 ? 'The database is up to date.' : `${migrations.length} migrations applied.`,
  );
});
