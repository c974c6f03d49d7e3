import { expect, it } from 'vitest';
import { TIME_LIMITS } from '../../core/time-limits.ts';
import { DELIVERY_INTERVALS } from './start-delivery-loop.ts';

it('an instance looks for events and saves attempts ten times a second', () => {
  expect(DELIVERY_INTERVALS).toMatchObject({ pollMs: 100, saveMs: 100 });
});

it('an instance renews its leases three times before they end', () => {
  expect(DELIVERY_INTERVALS.leaseMs).toBe(1_500);
  expect(3 * DELIVERY_INTERVALS.leaseMs).toBeLessThan(TIME_LIMITS.leaseMs);
});
