import type { FastifyBaseLogger } from 'fastify';
import { type DestinationStream, pino } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from '../config.ts';

export type Log = FastifyBaseLogger;

/** In production lines are written together, when there are so many bytes of them or after so long. */
const BYTES_AT_ONCE = 8 * 1024;
const WRITTEN_EVERY_MS = 100;

/** JSON lines in production, where programs read them; plain lines elsewhere, where people do. */
export function createLog({ LOG_LEVEL, production }: Pick<Config, 'LOG_LEVEL' | 'production'>): Log {
  const options = {
    level: LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: withoutRows },
  };
  if (production) return pino(options, standardOutput());
  return pino(options, pretty({ translateTime: 'SYS:HH:MM:ss', ignore: 'reqId', singleLine: true }));
}

/** One write for each line would be a twentieth of the work of a request. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, minLength: BYTES_AT_ONCE });
  setInterval(() => output.flush(), WRITTEN_EVERY_MS).unref();
  process.on('exit', () => output.flushSync());
  return output;
}

/** PostgreSQL quotes whole rows in `detail`, and values in `where`: people's data, which no log needs. */
function withoutRows(error: Error): unknown {
  if (!(error instanceof Error)) return error;
  const { detail: _row, where: _values, ...told } = pino.stdSerializers.err(error);
  return told;
}
