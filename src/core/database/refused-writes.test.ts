import pg from 'pg';
import { afterEach, expect, it, vi } from 'vitest';
import { createRefusedWrites } from './refused-writes.ts';

afterEach(() => {
  vi.useRealTimers();
});

function refusal(code: string): Error {
  return Object.assign(new pg.DatabaseError('could not extend file: No space left on device', 0, 'error'), {
    code,
  });
}

it.each(['53100', '25006'])(
  'a write that is refused with %s is reported for two minutes, and logged once',
  (code) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const log = { error: vi.fn() };
    const refused = createRefusedWrites(log);
    expect(refused.isRecent()).toBe(false);
    refused.note(refusal(code));
    refused.note(refusal(code));
    expect(refused.isRecent()).toBe(true);
    expect(log.error.mock.calls).toEqual([
      [
        { reason: expect.stringContaining('No space left') },
        expect.stringContaining('PostgreSQL refuses writes'),
      ],
    ]);
    vi.advanceTimersByTime(2 * 60_000);
    expect(refused.isRecent()).toBe(false);
    refused.note(refusal(code));
    expect(log.error).toHaveBeenCalledTimes(2);
  },
);

it('other errors say nothing about writes', () => {
  const refused = createRefusedWrites({ error: vi.fn() });
  refused.note(refusal('23505'));
  refused.note(new Error('timeout'));
  expect(refused.isRecent()).toBe(false);
});
