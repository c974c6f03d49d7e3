import { describe, expect, it } from 'vitest';
import { createCaller, useService } from '../harness.ts';

describe('GET /metrics', () => {
  const token = 'a token of the monitoring';
  const service = useService({ METRICS_TOKEN: token });

  it('shows counters by route, never by address, to whoever has the token', async () => {
    await service.call('GET', '/accounts/424242');
    const answer = await createCaller(service.origin)('GET', '/metrics', undefined, { token });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(answer.text).toMatch(
      /http_request_duration_seconds_count\{method="GET",route="\/api\/accounts\/:id",status="404"\} 1/,
    );
    expect(answer.text).toContain('database_connections{state="waiting"} 0');
    expect(answer.text).toContain('nodejs_eventloop_lag_seconds');
    expect(answer.text).not.toContain('424242');
  });

  it.each([[null], ['wrong'], ['']])('refuses %j', async (wrong) => {
    const answer = await createCaller(service.origin)('GET', '/metrics', undefined, { token: wrong });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('nodejs_');
  });
});

describe('without METRICS_TOKEN', () => {
  const service = useService();

  it('there is no /metrics', async () => {
    expect((await createCaller(service.origin)('GET', '/metrics')).status).toBe(404);
  });
});
