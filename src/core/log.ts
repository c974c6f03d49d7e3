import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from '../config.ts';

export type Log = FastifyBaseLogger;

/** JSON lines in production, where programs read them; plain lines elsewhere, where people do. */
export function createLog({ LOG_LEVEL, production }: Pick<Config, 'LOG_LEVEL' | 'production'>): Log {
  const options = {
    level: LOG_LEVEL,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: withoutRows },
  };
  if (production) return pino(options);
  return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss', ignore: 'reqId', singleLine: true }));
}

/** PostgreSQL quotes whole rows in `detail`, and values in `where`: people's data, which no log needs. */
function withoutRows(error: Error): unknown {
  if (!(error instanceof Error)) return error;
  const { detail: _row, where: _values, ...shown } = pino.stdSerializers.err(error);
  return shown;
}
