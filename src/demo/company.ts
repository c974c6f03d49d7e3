import type { Config, Context } from '../core/context.ts';
import type { Connection, Db } from '../core/database/db.ts';
import type { Log } from '../core/log.ts';
import { createSettableClock } from '../platform/test-clock/settable-clock.ts';
import {
  currencyOf,
  getJwtSecret,
  PreparationError,
  withPreparationLock,
} from '../start/database-preparation.ts';
import { DEMO_SKUS } from '../start/demo-catalogue.ts';
import { openPools } from '../start/pools.ts';
import { simulateDemoYear } from './year.ts';

const SETTING = 'demo_company';

/**
 * Adds a demo company and one year of its history. Does nothing if the database has customers, payments, or products other than
 * the active demo products. The same functions as for API requests create the data, with a clock that is set to each day of the
 * year. Other instances that are started at this time wait.
 *
 * @param now - the end of the simulated year. The same `now` and the same number of accounts give the same company.
 * @throws PreparationError if an earlier start was interrupted while it filled the database.
 */
export async function addDemoCompany(
  connection: Connection,
  config: Config,
  log: Log,
  { now = new Date(), accounts = 300 }: { now?: Date; accounts?: number } = {},
): Promise<void> {
  await withPreparationLock(connection, config, async (db) => {
    const state = await readState(db);
    if (state === 'complete') return;
    if (state === 'started') throw new PreparationError(interrupted(config));
    if (await hasBusiness(db)) {
      log.info('DEMO_DATA=company has no effect: the database already has customers, payments or products.');
      return;
    }
    const clock = createSettableClock(async () => {});
    const pools = await openPools(config, {
      connection,
      testClock: clock,
      onConnectionLost: (name, error) => log.warn(`The ${name} pool lost a connection: ${error.message}`),
    });
    try {
      const secret = await getJwtSecret(pools.db, config);
      const context: Context = { db: pools.db, clock, config, currency: currencyOf(config), secret };
      await db.insertInto('settings').values({ key: SETTING, value: 'started' }).execute();
      await simulateDemoYear(context, { clock, copies: pools.copies }, log, { now, accounts });
      await db.updateTable('settings').set({ value: 'complete' }).where('key', '=', SETTING).execute();
    } finally {
      await pools.cancelLongWork();
      await pools.close();
    }
  });
}

async function readState(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', SETTING).executeTakeFirst();
  return row?.value;
}

async function hasBusiness(db: Db): Promise<boolean> {
  for (const table of ['customers', 'payments'] as const) {
    if (await db.selectFrom(table).select('id').limit(1).executeTakeFirst()) return true;
  }
  const products = await db.selectFrom('products').select(['sku', 'active']).execute();
  return products.some(({ sku, active }) => !active || !DEMO_SKUS.includes(sku));
}

function interrupted({ DATABASE_URL, DATA_DIR }: Config): string {
  const remedy =
    DATABASE_URL === '' ? `delete the folder ${DATA_DIR}` : 'use a new database for DATABASE_URL';
  return `The demo company is incomplete, because an earlier start was interrupted. To create it again, ${remedy}. To keep the incomplete company, set DEMO_DATA=on.`;
}
