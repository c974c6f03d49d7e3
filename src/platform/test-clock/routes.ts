import { Type } from 'typebox';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ok } from '../../core/http/envelope.ts';
import { Nullable } from '../../core/http/fields.ts';
import type { SettableClock } from './settable-clock.ts';

const Moment = Type.Object(
  { now: Nullable(Type.String({ format: 'date-time' })) },
  { examples: [{ now: '2026-11-02T09:00:00Z' }] },
);

/** Registered only with TEST_CLOCK=on. Affects only this instance. Sign-in uses real time. */
export function testClockRoutes(api: Api, clock: SettableClock): void {
  api.put(
    '/test/clock',
    {
      config: { access: 'public', rate: 'none' },
      schema: {
        tags: ['Test'],
        operationId: 'setTestClock',
        summary: 'Set the clock of a test instance',
        description:
          'Sets the business clock. With null, it shows the real time again. The service then runs the minute jobs before it answers. It answers 503 if one of these jobs failed.',
        body: Moment,
        response: {
          200: Envelope(
            Type.Object({ now: Type.String() }, { examples: [{ now: '2026-11-02T09:00:00.000Z' }] }),
            'Clock set.',
          ),
        },
      },
    },
    async (request) => {
      clock.set(request.body.now === null ? null : new Date(request.body.now));
      await clock.catchUp();
      return ok({ now: clock.now().toISOString() }, 'Clock set.');
    },
  );
}
