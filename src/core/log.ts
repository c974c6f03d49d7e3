import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from './context.ts';

export type Log = FastifyBaseLogger;

/** In production, writes JSON lines for programs. Elsewhere, writes lines of text for people. */
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

/** Removes `detail` and `where`: PostgreSQL copies rows and values into these fields, and they can contain personal data. */
function withoutRows(error: Error): unknown {
  if (!(error instanceof Error)) return error;
  const { detail: _row, where: _values, ...shown } = pino.stdSerializers.err(error);
  return shown;
}
