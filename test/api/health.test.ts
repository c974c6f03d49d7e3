import { describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { createCaller, startInstance, startTestService, useService } from '../harness.ts';

const service = useService();
const NOT_THERE = 'redis://127.0.0.1:1';

describe('GET /health', () => {
  it('tells of the service and its parts, at the root and outside the envelope', async () => {
    const before = Date.now();
    const answer = await createCaller(service.origin)('GET', '/health');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      status: 'ok',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      uptime: expect.any(Number),
      database: 'up',
      redis: 'disabled',
    });
    expect(Date.parse(answer.body.timestamp)).toBeGreaterThanOrEqual(before);
    expect(answer.body.uptime).toBeGreaterThan(0);
  });

  it('is not below /api', async () => {
    expect((await service.call('GET', '/health', undefined, { token: null })).status).toBe(404);
  });

  it('is degraded, and still 200, while Redis cannot be reached', async () => {
    const { origin, call, close } = await startInstance(service, {
      REDIS_URL: NOT_THERE,
      RATE_LIMIT_GENERAL: '100',
    });
    try {
      const answer = await createCaller(origin)('GET', '/health');
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ status: 'degraded', database: 'up', redis: 'down' });
      const started = performance.now();
      expect((await call('GET', '/customers', undefined, { token: service.adminToken })).status).toBe(200);
      expect(performance.now() - started).toBeLessThan(2_000); // nobody waits for Redis
    } finally {
      await close();
    }
  });

  it('is down with 503, and so is readiness, while the database cannot be reached; the process lives', async () => {
    const { service: lost, close } = await startTestService();
    const ask = createCaller(lost.origin);
    try {
      await lost.context.db.destroy();
      const health = await ask('GET', '/health');
      expect(health.status).toBe(503);
      expect(health.body).toMatchObject({ status: 'down', database: 'down' });
      expect((await ask('GET', '/readyz')).status).toBe(503);
      expect((await ask('GET', '/livez')).status).toBe(200);
      const answer = await lost.call('GET', '/products');
      expect(answer.status).toBe(503);
      expect(answer.body.error).toMatchObject({ code: 'INTERNAL_ERROR', details: {} });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await close().catch(() => {}); // its pool is closed already
    }
  });
});

describe('GET /readyz', () => {
  it('says no once the process has begun to stop', async () => {
    expect((await createCaller(service.origin)('GET', '/readyz')).body).toEqual({ status: 'ready' });
    const stopping = buildApp({ ...service.parts, accepting: () => false });
    try {
      const answer = await stopping.inject('/readyz');
      expect(answer.statusCode).toBe(503);
      expect((await stopping.inject('/livez')).statusCode).toBe(200);
    } finally {
      await stopping.close();
    }
  });
});
