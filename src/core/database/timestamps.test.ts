import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { isoTimestamp } from './timestamps.ts';

describe('isoTimestamp', () => {
  it.each([
    ['2026-11-02 08:15:30+00', '2026-11-02T08:15:30.000Z'],
    ['2026-11-02 08:15:30.1+00', '2026-11-02T08:15:30.100Z'],
    ['2026-11-02 08:15:30.129+00', '2026-11-02T08:15:30.129Z'],
    ['2026-11-02 08:15:30.123999+00', '2026-11-02T08:15:30.123Z'],
    ['2026-11-02 01:15:30.5+03', '2026-11-01T22:15:30.500Z'],
    ['2026-11-01 20:15:30-05:30', '2026-11-02T01:45:30.000Z'],
    ['0044-03-15 12:00:00+00 BC', '-000043-03-15T12:00:00.000Z'],
    ['12026-11-02 08:15:30+00', '+012026-11-02T08:15:30.000Z'],
    ['2026-11-02T08:15:30+00:00', '2026-11-02T08:15:30.000Z'],
    ['2026-11-02T08:15:30.123999+00:00', '2026-11-02T08:15:30.123Z'],
    ['2026-11-02T01:15:30.5+03:00', '2026-11-01T22:15:30.500Z'],
    ['2026-11-01T20:15:30-05:30', '2026-11-02T01:45:30.000Z'],
    ['0044-03-15T12:00:00+00:00 BC', '-000043-03-15T12:00:00.000Z'],
  ])('reads %s', (text, moment) => {
    expect(isoTimestamp(text)).toBe(moment);
  });

  it('returns the text of Date.toISOString for every moment', () => {
    const moments = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, (moment) => {
        const iso = moment.toISOString();
        // PostgreSQL leaves out the zeros at the end of a fraction.
        const [day, time] = [iso.slice(0, 10), iso.slice(11, -1).replace(/\.?0+$/, '')];
        expect(isoTimestamp(`${day} ${time}+00`)).toBe(iso);
        expect(isoTimestamp(`${day}T${time}+00:00`)).toBe(iso);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});
