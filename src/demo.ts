import type { Tx } from './core/db.ts';
import type { Frequency } from './core/tables.ts';

/**
 * A small catalogue for a new database, so that the first account can be opened at once.
 * @param decimals of the books' currency; prices below are in whole units.
 */
export async function addDemoCatalogue(tx: Tx, decimals: number): Promise<void> {
  const units = (amount: number) => BigInt(amount) * 10n ** BigInt(decimals);

  await tx
    .insertInto('products')
    .values([
      product(
        'SHS-40',
        'Home system 40 W',
        'home_system',
        'Panel, battery, three lamps, phone charging',
        units(18_000),
      ),
      product(
        'SHS-120',
        'Home system 120 W with television',
        'home_system',
        'Panel, battery, six lamps, 24″ television',
        units(52_000),
      ),
      product(
        'PUMP-1',
        'Surface pump 1 m³/h',
        'pump',
        'Solar surface pump for up to half an acre',
        units(45_000),
      ),
      product(
        'PUMP-3',
        'Submersible pump 3 m³/h',
        'pump',
        'Solar submersible pump for wells up to 40 m',
        units(98_000),
      ),
      product('LAMP-2', 'Pair of study lamps', 'lamp', 'Two lamps with a panel each', units(2_400)),
    ])
    .execute();

  await tx
    .insertInto('pay_plans')
    .values([
      payPlan('Daily, one year', units(1_500), units(60), 365, 'daily', 3),
      payPlan('Weekly, one year', units(2_000), units(400), 52, 'weekly', 7),
      payPlan('Monthly, two years', units(5_000), units(2_500), 24, 'monthly', 14),
    ])
    .execute();

  await tx
    .insertInto('employees')
    .values([{ name: 'Field agent North' }, { name: 'Field agent South' }, { name: 'Shop counter' }])
    .execute();

  await tx
    .insertInto('commission_rules')
    .values([
      { category: '', version: 1, rate_basis_points: 200 },
      { category: 'pump', version: 1, rate_basis_points: 350 },
    ])
    .execute();
}

function product(sku: string, name: string, category: string, description: string, price: bigint) {
  return { sku, name, category, description, price_minor: price };
}

function payPlan(
  name: string,
  deposit: bigint,
  instalment: bigint,
  count: number,
  frequency: Frequency,
  graceDays: number,
) {
  return {
    name,
    deposit_minor: deposit,
    instalment_minor: instalment,
    instalment_count: count,
    frequency,
    grace_days: graceDays,
  };
}
