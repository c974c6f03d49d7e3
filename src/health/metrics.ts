import type { Pool } from 'pg';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Type } from 'typebox';
import { AppError } from '../core/errors.ts';
import type { HttpServer } from '../core/http.ts';
import { sameSecret } from '../core/secret.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** GET /metrics in Prometheus' text format, for whoever shows the token as `Authorization: Bearer …`. */
export function metricsRoutes(app: HttpServer, token: string, pool: Pool): void {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers: [register],
  });
  new Gauge({
    name: 'database_connections',
    help: 'Connections of the pool by state; waiting counts the requests that have none yet.',
    labelNames: ['state'],
    registers: [register],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });

  app.addHook('onResponse', async (request, reply) => {
    // The pattern, not the address: ids would make a series each.
    const route = request.routeOptions.url ?? 'unknown';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });

  app.get(
    '/metrics',
    {
      config: { access: 'public', rate: 'none' },
      schema: { hide: true, response: { 200: Type.String() } },
    },
    async (request, reply) => {
      const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
      if (!sameSecret(given, token))
        throw new AppError('UNAUTHORIZED', 'Send METRICS_TOKEN as a bearer token.');
      return reply.type(register.contentType).send(await register.metrics());
    },
  );
}
