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
        '`other version`: the database lacks migrations of this version of the service, or has later ones with which this version cannot work.',
    }),
    writes: Type.Enum(['accepted', 'refused'], {
      description:
        '`refused`: in the last two minutes, PostgreSQL has refused a write of this instance, because its disk is full or it is read-only.',
    }),
    redis: Type.Enum(['up', 'refuses commands', 'down', 'disabled'], {
      description:
        'If Redis is not up, each instance counts rate limits alone. `refuses commands`: Redis refuses commands of the rate limits. The log has its reason.',
    }),
    replica: Type.Enum(['up', 'behind', 'not a standby', 'down', 'disabled'], {
      description:
        'If the replica is not up, reports read the primary. `behind`: the replica is too far behind, or a failover has replaced the primary in the last minute.',
    }),
    silentProviders: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Payment providers that are silent for longer than usual. Missing while the database is slow or down.',
      }),
    ),
  },
  { title: 'Health' },
);
const HEALTHY = {
  status: 'ok',
  timestamp: '2026-11-02T08:15:30.000Z',
  uptime: 86_400.5,
  database: 'up',
  writes: 'accepted',
  redis: 'disabled',
  replica: 'disabled',
  silentProviders: [],
};

const Probe = Type.Object({ status: Type.String() }, { title: 'Probe' });

const UNREADY: Record<Exclude<DatabaseState, 'up'>, string> = {
  down: 'waiting for the database',
  'other version': 'this version cannot work with the migrations of the database',
};

interface HealthOptions {
  check: HealthCheck;
  probe: DatabaseProbe;
  /** False while the process is stopping. */
  isAccepting(): boolean;
}

/** Routes for load balancers and people, outside /api and without the envelope. */
export function healthRoutes(app: Api, { check, probe, isAccepting }: HealthOptions): void {
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
            description:
              'The service works. With the status `degraded`, the database refuses writes, the service works without Redis or the replica, or a payment provider is silent.',
            examples: [HEALTHY],
          },
          503: {
            ...Health,
            description:
              'The database is down, or this version of the service cannot work with the migrations of the database.',
            examples: [{ ...HEALTHY, status: 'down', database: 'down' }],
          },
        },
      },
    },
    async (_request, reply) => {
      const { status, database, writes, redis, replica, silentProviders } = await check();
      return reply.status(status === 'down' ? 503 : 200).send({
        status,
        timestamp: new Date().toISOString(),
        uptime: process.uptime(),
        database,
        writes,
        redis,
        replica,
        ...(silentProviders && { silentProviders }),
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
        response: {
          200: { ...Probe, description: 'The process is alive.', examples: [{ status: 'alive' }] },
        },
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
          200: { ...Probe, description: 'The instance takes requests.', examples: [{ status: 'ready' }] },
          503: {
            ...Probe,
            description:
              'The instance is stopping, or the database is down, or this version of the service cannot work with the migrations of the database.',
            examples: [{ status: 'stopping' }],
          },
        },
      },
    },
    async (_request, reply) => {
      if (!isAccepting()) return reply.status(503).send({ status: 'stopping' });
      const database = await probe.state();
      if (database === 'up') return { status: 'ready' };
      return reply.status(503).send({ status: UNREADY[database] });
    },
  );
}
