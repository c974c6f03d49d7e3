import { describe, expect, it } from 'vitest';
import { type Coverage, coveredUntil } from './coverage-rules.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const at = (day: string) => new Date(`2026-11-${day}:00Z`);
const provider = (fields: Partial<Coverage['providers'][number]> = {}) => ({
  ...{ pulledUntil: [], incompleteSince: [], silentSince: null, missed: null, ...fields },
});
const until = (providers: Coverage['providers'], pendingSince: Date | null = null) =>
  coveredUntil({ pendingSince, providers }, NOW).toISOString().slice(8, 16);

describe('payments are known', () => {
  it('until now if nothing is missing', () => {
    expect(until([])).toBe('20T12:00');
    expect(until([provider(), provider()])).toBe('20T12:00');
  });

  it.each([
    ['the oldest notification that is not posted', provider(), at('19T08:00'), '19T08:00'],
    [
      'the end of the pulled period',
      provider({ pulledUntil: [at('20T11:00'), at('18T07:00')] }),
      null,
      '18T07:00',
    ],
    [
      'the start of a period that no pull has read',
      provider({ pulledUntil: [NOW], incompleteSince: [at('17T00:00')] }),
      null,
      '17T00:00',
    ],
    ['the start of a silence', provider({ silentSince: at('20T02:00') }), null, '20T02:00'],
    [
      'the start of an outage whose backlog may still arrive',
      provider({ missed: { from: at('18T20:00'), to: at('19T13:00') } }),
      null,
      '18T20:00',
    ],
    ['a week ago during a longer outage', provider({ silentSince: at('02T00:00') }), null, '13T12:00'],
    [
      'a week ago during a longer outage of the pulls',
      provider({ pulledUntil: [at('01T00:00')] }),
      null,
      '13T12:00',
    ],
  ])('until %s', (_, one, pendingSince, expected) => {
    expect(until([provider(), one], pendingSince)).toBe(expected);
  });

  it('until now if an outage ended a day ago, or if pulls have read the payments of a silent provider', () => {
    expect(until([provider({ missed: { from: at('18T20:00'), to: at('19T12:00') } })])).toBe('20T12:00');
    expect(until([provider({ silentSince: at('18T20:00'), pulledUntil: [NOW] })])).toBe('20T12:00');
  });
});
