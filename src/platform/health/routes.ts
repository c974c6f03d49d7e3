import { Type } from 'typebox';
import type { Api } from '../../core/http/api.ts';
import type { DatabaseProbe, DatabaseState } from './probe.ts';
import type { HealthCheck } from './status.ts';

const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded', 'down']),
    timestamp: Type.String({ format: 'date-time' }),
    uptime: Type.Number({ description: 'Seconds since the process started.' }),
    database: Type.Enum(['up', 'other version', 'down'], {
      description:
        'other version: the database does not have exactly the migrations of this version of the service.',
    }),
    redis: Type.Enum(['up', 'down', 'disabled']),
  },
  { title: 'Health' },
);
const HEALTHY = {
  status: 'ok',
  timestamp: '2026-11-02T08:15:30.000Z',
  uptime: 86_400.5,
  database: 'up',
  redis: 'disabled',
};

const Probe = Type.Object({ status: Type.String() }, { title: 'Probe' });

const UNREADY: Record<Exclude<DatabaseState, 'up'>, string> = {
  down: 'waiting for the database',
  'other version': 'the database has other migrations than this version',
};

interface HealthOptions {
  check: HealthCheck;
  probe: DatabaseProbe;
  /** False after the process has started to stop. */
  accepting(): boolean;
}

/** Routes for load balancers and people, outside /api and without the envelope. */
export function healthRoutes(app: Api, { check, probe, accepting }: HealthOptions): void {
  const config = { access: 'public', rate: 'none' } as const;
  const tags = ['Health'];

  app.get(
    '/health',
    {
      config,
      schema: {
        tags,
        operationId: 'getHealth',
        summary: 'Health of the service and its parts',
        description: 'The service and the parts that it depends on.',
        response: {
          200: {
            ...Health,
            description: 'The service answers; degraded: without Redis.',
            examples: [HEALTHY],
          },
          503: {
            ...Health,
            description: 'The database is down, or of another version.',
            examples: [{ ...HEALTHY, status: 'down', database: 'down' }],
          },
        },
      },
    },
    async (_request, reply) => {
      const { status, database, redis } = await check();
      return reply.status(status === 'down' ? 503 : 200).send({
        status,
        timestamp: new Date().toISOString(),
        uptime: process.uptime(),
        database,
        redis,
      });
    },
  );

  app.get(
    '/livez',
    {
      config,
      schema: {
        tags,
        operationId: 'getLiveness',
        summary: 'Whether the process is alive',
        response: { 200: { ...Probe, description: 'It is.', examples: [{ status: 'alive' }] } },
      },
    },
    async () => ({ status: 'alive' }),
  );

  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags,
        operationId: 'getReadiness',
        summary: 'Whether the instance takes requests',
        response: {
          200: { ...Probe, description: 'It does.', examples: [{ status: 'ready' }] },
          503: {
            ...Probe,
            description: 'The instance stops, or the database is down or has other migrations.',
            examples: [{ status: 'stopping' }],
          },
        },
      },
    },
    async (_request, reply) => {
      if (!accepting()) return reply.status(503).send({ status: 'stopping' });
      const database = await probe.state();
      if (database === 'up') return { status: 'ready' };
      return reply.status(503).send({ status: UNREADY[database] });
    },
  );
}
