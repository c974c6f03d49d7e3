import type { Tx } from '../core/database/db.ts';
import type { Frequency } from '../core/database/tables.ts';

/**
 * Adds a small catalogue to a new database, so that accounts can be opened immediately. Prices are in whole units.
 * @param decimals - the number of decimals of the currency.
 */
export async function addDemoCatalogue(tx: Tx, decimals: number): Promise<void> {
  const units = (amount: number) => BigInt(amount) * 10n ** BigInt(decimals);

  const products = await tx
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
    .returning(['id', 'sku'])
    .execute();

  await tx
    .insertInto('product_configurations')
    .values(
      products.flatMap(({ id, sku }) =>
        (CONFIGURATIONS[sku] ?? []).map(({ name, attributes, price }, index) => ({
          product_id: id,
          name,
          attributes: JSON.stringify(attributes),
          price_minor: price === undefined ? null : units(price),
          is_default: index === 0,
        })),
      ),
    )
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

export const DEMO_SKUS: readonly string[] = ['SHS-40', 'SHS-120', 'PUMP-1', 'PUMP-3', 'LAMP-2'];

interface DemoConfiguration {
  name: string;
  attributes: Record<string, string | number | boolean>;
  /** In whole units of the currency. Default: the price of the product. */
  price?: number;
}

/** The configurations by the product's sku. The first configuration is the default. The lamps have no configuration. */
const CONFIGURATIONS: Record<string, DemoConfiguration[]> = {
  'SHS-40': [
    { name: 'Three lamps', attributes: { panelWatts: 40, batteryWattHours: 150, lamps: 3, usbPorts: 2 } },
    {
      name: 'Five lamps',
      attributes: { panelWatts: 40, batteryWattHours: 150, lamps: 5, usbPorts: 2 },
      price: 20_500,
    },
  ],
  'SHS-120': [
    {
      name: '24″ television',
      attributes: { panelWatts: 120, batteryWattHours: 600, lamps: 6, televisionInches: 24 },
    },
    {
      name: '32″ television and aerial',
      attributes: { panelWatts: 120, batteryWattHours: 600, lamps: 6, televisionInches: 32, aerial: true },
      price: 61_000,
    },
  ],
  'PUMP-1': [
    { name: '20 m of hose', attributes: { flowCubicMetresPerHour: 1, hoseMetres: 20, sprinklers: 0 } },
    {
      name: '50 m of hose and four sprinklers',
      attributes: { flowCubicMetresPerHour: 1, hoseMetres: 50, sprinklers: 4 },
      price: 49_500,
    },
  ],
  'PUMP-3': [
    { name: 'Well up to 40 m', attributes: { flowCubicMetresPerHour: 3, cableMetres: 45, tankLitres: 0 } },
    {
      name: 'Well up to 40 m, with a tank of 5,000 litres',
      attributes: { flowCubicMetresPerHour: 3, cableMetres: 45, tankLitres: 5_000 },
      price: 126_000,
    },
  ],
};

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
