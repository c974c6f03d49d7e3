import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { ConfigError, readConfig } from './config.ts';
import { PreparationError } from './database.ts';
import { EmbeddedPostgresError } from './embedded-postgres/error.ts';
import { startService } from './service.ts';

const LONGEST_CLOSE_MS = 10_000;
/**
 * How far the heap grows beyond what is in use before it is swept. Left alone, that is fourfold on a machine with much
 * memory, for no less work that could be measured.
 */
const HEAP_GROWTH = '--heap-growing-percent=100';

/** The process: reads the configuration, starts the service, stops it on a signal. */
async function main(): Promise<void> {
  setFlagsFromString(HEAP_GROWTH);
  const service = await startService(readConfig(process.env, true));
  closeWithGrace({ delay: LONGEST_CLOSE_MS, logger: false }, async ({ err }) => {
    if (err) service.log.error({ err }, 'the process ends because of an error');
    await service.stop();
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

/** One line for what the operator can put right; the whole trace for a defect. */
function explain(error: unknown): string {
  if (error instanceof ConfigError)
    return ['The configuration is wrong:', ...error.problems.map((p) => `  ${p}`)].join('\n');
  if (error instanceof PreparationError || error instanceof EmbeddedPostgresError) return error.message;
  const hint = listenHint(error);
  if (error instanceof Error && hint) return `${error.message}. ${hint}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What to change when the address cannot be listened on. */
function listenHint(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return undefined;
  if (error.syscall === 'getaddrinfo' || error.code === 'EADDRNOTAVAIL')
    return 'Set HOST to an address of this machine.';
  return error.syscall === 'listen' ? 'Set PORT to a free port.' : undefined;
}
