import { expect, it } from 'vitest';
import { statusesIn } from '../../accounts/status/rules.ts';
import { LATENESS, SHOWN } from './rules.ts';

it('the call list has the accounts of which payments are expected and due', () => {
  const waiting = statusesIn('awaitingActivation');
  expect(statusesIn('called')).toEqual(statusesIn('open').filter((status) => !waiting.includes(status)));
});

it('the call list shows the accounts to call, unless a request asks for more', () => {
  expect([SHOWN[0], LATENESS[0]]).toEqual(['to_call', 'late']);
  expect([SHOWN.length, LATENESS.length]).toEqual([3, 2]);
});
