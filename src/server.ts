import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { readConfig } from './config/config.ts';
import { ConfigError } from './core/config-error.ts';
import { EmbeddedPostgresError } from './platform/embedded-postgres/error.ts';
import { MigrationError } from './platform/migrations/runner.ts';
import { startService } from './service.ts';
import { PreparationError } from './start/database-preparation.ts';

/** How many percent the heap may grow between two garbage collections. V8 allows up to 300, without a measurable gain. */
const HEAP_GROWTH = '--heap-growing-percent=100';

/** While the service stops, these signals have no effect. The other signals of close-with-grace then end the process at once. */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const PARENT_CHECK_MS = 500;
/** `npm start` passes this argument. The service then stops when its parent process, npm, ends. */
const STOP_WITH_PARENT = '--stop-with-parent';

/** Reads the configuration, starts the service and stops it on a signal. */
async function main(): Promise<void> {
  const parent = process.ppid;
  setFlagsFromString(HEAP_GROWTH);
  const config = readConfig(process.env, true);
  const service = await startService(config);

  let reason: string | undefined;
  const { close } = closeWithGrace(
    {
      delay: config.limits.closeMs,
      logger: false,
      skip: [...STOP_SIGNALS],
      onTimeout: (ms) => service.log.error(`Stopping takes longer than ${ms} ms; the process ends now`),
    },
    async ({ err, signal }) => {
      if (err) service.log.error({ err }, 'the process ends because of an error');
      reason ??= err ? 'an error' : (signal ?? 'nothing is left to do');
      await service.stop(reason);
    },
  );
  /** Stops only once, because npm repeats a Ctrl-C that the terminal has also sent to the service. */
  function stop(why: string): void {
    if (reason !== undefined) return;
    reason = why;
    void close();
  }
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  // npm forwards SIGTERM and SIGINT, but not SIGHUP and SIGKILL.
  if (process.argv.includes(STOP_WITH_PARENT)) {
    setInterval(() => process.ppid !== parent && stop('npm has ended'), PARENT_CHECK_MS).unref();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

/** The message of an error that the operator can correct, or the stack trace of any other error. */
function explain(error: unknown): string {
  if (error instanceof ConfigError)
    return ['The configuration is wrong:', ...error.problems.map((p) => `  ${p}`)].join('\n');
  if ([PreparationError, MigrationError, EmbeddedPostgresError].some((kind) => error instanceof kind)) {
    return (error as Error).message;
  }
  const hint = listenHint(error);
  if (error instanceof Error && hint) return `${error.message}. ${hint}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What to change if the service cannot listen on its address. */
function listenHint(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return undefined;
  if (error.syscall === 'getaddrinfo' || error.code === 'EADDRNOTAVAIL')
    return 'Set HOST to an address of this machine.';
  return error.syscall === 'listen' ? 'Set PORT to a free port.' : undefined;
}
