import { describe, expect, it } from 'vitest';
import { collectMs, concerns, kindOf, type LiveEvent } from '../../web/src/api/live-queries.ts';

const event = (resource: LiveEvent['resource'], accountId: number | null = null, type = 'changed') => ({
  type,
  resource,
  resourceId: 1,
  accountId,
});
const query = (path: string, id?: number) => ['get', path, { params: { path: { id } } }];

const TODAY = '/api/reports/today';
const MONEY = '/api/reports/today/money';

describe('an event', () => {
  it.each([
    ['approval', TODAY, true],
    ['approval', MONEY, false],
    ['notification', TODAY, true],
    ['notification', MONEY, false],
    ['proof', TODAY, true],
    ['proof', MONEY, false],
    ['webhook_endpoint', MONEY, false],
    ['payment', TODAY, true],
    ['payment', MONEY, true],
    ['account', MONEY, true],
    ['account', '/api/customers', false],
    ['invoice', '/api/accounts/{id}/overview', true],
    ['invoice', '/api/accounts/{id}/schedule', false],
    ['product', '/api/products/{id}', true],
  ] as const)('of the resource %s repeats the query %s: %s', (resource, path, isRepeated) => {
    expect(concerns(query(path), [event(resource)])).toBe(isRepeated);
  });

  it('repeats the queries of its own account, and not those of others', () => {
    const overview = query('/api/accounts/{id}/overview', 7);
    expect([7, 8, null].map((id) => concerns(overview, [event('payment', id)]))).toEqual([true, false, true]);
  });

  it('of a completed import repeats all queries', () => {
    expect(concerns(query('/api/customers'), [event('import', null, 'import.completed')])).toBe(true);
  });
});

describe('events are collected', () => {
  it.each([
    [MONEY, 60_000],
    ['/api/reports/accounts/summary', 15_000],
    ['/api/reports/payments', 15_000],
    [TODAY, 3_000],
    ['/api/accounts/{id}/overview', 300],
  ])('for the query %s for %i milliseconds', (path, ms) => {
    expect(collectMs(kindOf(path), '/today')).toBe(ms);
  });

  it('for 30 seconds for the counts in the navigation, on all pages but Today', () => {
    expect(collectMs(kindOf(TODAY), '/accounts/1')).toBe(30_000);
    expect(collectMs(kindOf(MONEY), '/accounts/1')).toBe(60_000);
  });
});
