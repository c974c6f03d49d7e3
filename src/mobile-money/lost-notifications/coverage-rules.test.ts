import { describe, expect, it } from 'vitest';
import { coveredUntil, knownOfProvider, type ProviderCoverage } from './coverage-rules.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const at = (time: string) => new Date(`2026-11-${time}:00Z`);
const pull = (completeUntil: Date | null, ...incompleteSince: Date[]) => ({
  ...{ shortCode: '600638', completeUntil, incompleteSince },
});

function coverage(fields: Partial<ProviderCoverage>, pendingSince: readonly Date[] = []) {
  const provider = { provider: 'mobilemoney', pulls: [], silentSince: null, missedSince: [], ...fields };
  const pending = pendingSince.map((until) => ({ source: 'pending notifications', until }));
  return coveredUntil([...pending, ...knownOfProvider(provider, NOW)], NOW);
}

describe('payments are known', () => {
  it.each<[string, Partial<ProviderCoverage>, Date[], Date]>([
    ['now if nothing is missing', {}, [], NOW],
    ['the oldest pending payment', {}, [at('19T08:00')], at('19T08:00')],
    ['the end of the pulled period', { pulls: [pull(NOW), pull(at('18T07:00'))] }, [], at('18T07:00')],
    [
      'the start of a period that no pull has read',
      { pulls: [pull(NOW, at('17T00:00'))] },
      [],
      at('17T00:00'),
    ],
    ['the start of a silence', { silentSince: at('20T02:00') }, [], at('20T02:00')],
    ['the start of the oldest outage', { missedSince: [at('19T20:00'), at('18T20:00')] }, [], at('18T20:00')],
    [
      'now if pulls have read the payments of a silence',
      { silentSince: at('18T20:00'), pulls: [pull(NOW)] },
      [],
      NOW,
    ],
    [
      'the start of a silence if a short code was never pulled',
      { silentSince: at('18T20:00'), pulls: [pull(NOW), pull(null)] },
      [],
      at('18T20:00'),
    ],
    [
      'the start of an outage if the pulls of a short code have failed for a week',
      { missedSince: [at('18T20:00')], pulls: [pull(at('01T00:00'))] },
      [],
      at('18T20:00'),
    ],
    [
      'the start of an outage if the lists of pulls have been incomplete for more than a week',
      { missedSince: [at('18T20:00')], pulls: [pull(NOW, at('01T00:00'))] },
      [],
      at('18T20:00'),
    ],
  ])('until %s', (_, fields, pendingSince, expected) => {
    expect(coverage(fields, pendingSince).until).toEqual(expected);
  });

  it.each<[string, Partial<ProviderCoverage>, Date[]]>([
    ['pending notifications', {}, [at('13T12:00'), at('20T08:00')]],
    ['pulls of mobilemoney 600638', { pulls: [pull(at('13T12:00')), pull(at('20T08:00'))] }, []],
    ['incomplete lists of mobilemoney 600638', { pulls: [pull(at('20T08:00'), at('13T12:00'))] }, []],
    ['notifications of mobilemoney', { silentSince: at('13T12:00'), missedSince: [at('20T08:00')] }, []],
  ])('regardless of %s that are unknown for a week', (source, fields, pendingSince) => {
    expect(coverage(fields, pendingSince)).toEqual({
      until: at('20T08:00'),
      ignored: [{ source, until: at('13T12:00') }],
    });
  });
});
