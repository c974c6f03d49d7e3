import { hasProducts } from '../catalogue/products/store.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { addDemoCatalogue } from '../start/demo-catalogue.ts';
import { runCommand, UsageError, withDatabase } from './connect.ts';

await runCommand(async (config) => {
  if (config.production) throw new UsageError('The demo catalogue does not belong in production.');
  await withDatabase(config, async ({ db, currency }) => {
    if (await hasProducts(db)) {
      console.log('The database already has products. Nothing was added.');
      return;
    }
    await inTransaction(db, (tx) => addDemoCatalogue(tx, currency.decimals));
    console.log('The demo catalogue is in the database.');
  });
});
