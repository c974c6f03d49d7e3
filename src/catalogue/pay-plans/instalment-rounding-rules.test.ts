import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { instalmentsFor, instalmentsShare, roundedUp } from './instalment-rounding-rules.ts';

describe('an instalment', () => {
  it('is the smallest multiple of the rounding unit with which the asked number pays the price', () => {
    const amounts = fc.record({
      rest: fc.bigInt({ min: 1n, max: 10_000n }),
      count: fc.integer({ min: 1, max: 50 }),
      unit: fc.bigInt({ min: 1n, max: 500n }),
    });
    fc.assert(
      fc.property(amounts, ({ rest, count, unit }) => {
        const instalment = roundedUp(instalmentsShare(rest, count), unit);
        expect(instalment % unit).toBe(0n);
        expect(instalment * BigInt(count) >= rest).toBe(true);
        expect((instalment - unit) * BigInt(count) < rest).toBe(true);
        expect(instalmentsFor(rest, instalment)).toBeLessThanOrEqual(count);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});
