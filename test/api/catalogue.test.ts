import { describe, expect, it } from 'vitest';
import { useService } from '../support/harness.ts';

/** The demo catalogue of a new database. catalogue-writes.test.ts tests changes. */
const service = useService();
const rows = async (path: string) => (await service.call('GET', path)).body.data;

describe('a new database', () => {
  it('has products from id 1 with prices in the currency of the books', async () => {
    const products = await rows('/products?sort=id:asc');
    expect(products.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3, 4, 5]);
    expect(products[0]).toEqual({
      id: 1,
      sku: 'SHS-40',
      name: 'Home system 40 W',
      category: 'home_system',
      description: 'Panel, battery, three lamps, phone charging',
      price: 18_000,
      currency: 'KES',
      active: true,
      externalId: null,
      metadata: {},
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await service.call('GET', '/products/1')).body.data).toEqual(products[0]);
  });

  it('has configurations of every product except the lamps, with one default for each product', async () => {
    for (const { id, sku, price } of await rows('/products')) {
      const configurations = await rows(`/products/${id}/configurations?sort=id:asc`);
      expect(configurations.length, sku).toBe(sku === 'LAMP-2' ? 0 : 2);
      const defaults = configurations.filter(({ isDefault }: { isDefault: boolean }) => isDefault);
      expect(defaults, sku).toEqual(configurations.slice(0, 1));
      for (const configuration of configurations.slice(1)) {
        expect(configuration.price, `${sku} ${configuration.name}`).toBeGreaterThan(price);
      }
    }
    expect(await rows('/products/1/configurations?sort=id:asc')).toMatchObject([
      { productId: 1, name: 'Three lamps', attributes: { panelWatts: 40, lamps: 3 }, price: null },
      { productId: 1, name: 'Five lamps', attributes: { panelWatts: 40, lamps: 5 }, price: 20_500 },
    ]);
  });

  it('has a daily, a weekly and a monthly pay plan that fit every product', async () => {
    const plans = await rows('/payplans?sort=id:asc');
    expect(plans.map(({ frequency }: { frequency: string }) => frequency)).toEqual([
      'daily',
      'weekly',
      'monthly',
    ]);
    expect(plans[1]).toMatchObject({
      id: 2,
      productId: null,
      deposit: 2000,
      instalmentAmount: 400,
      instalmentCount: 52,
      graceDays: 7,
      autoSuspend: false,
      active: true,
    });
  });

  it('has payment methods', async () => {
    const methods = await rows('/payment-methods?sort=id:asc');
    expect(methods.map(({ code }: { code: string }) => code)).toEqual([
      'mobile_money',
      'cash',
      'bank_transfer',
      'card',
    ]);
  });
});

describe('GET /products', () => {
  it('filters by category and by active', async () => {
    const skus = async (query: string) =>
      (await rows(`/products?sort=id:asc&${query}`)).map(({ sku }: { sku: string }) => sku);
    expect(await skus('category=pump')).toEqual(['PUMP-1', 'PUMP-3']);
    expect(await skus('category=Pump')).toEqual([]);
    expect(await skus('category=nothing%20like%20it')).toEqual([]);
    expect(await skus('category=pump&active=true')).toEqual(['PUMP-1', 'PUMP-3']);
    expect(await skus('active=false')).toEqual([]);
    expect(await skus('filter[price][gte]=52000')).toEqual(['SHS-120', 'PUMP-3']);
  });
});
