import { formatAccountNumber } from '../accounts/account-number-rules.ts';
import { describeLateness } from '../accounts/status/lateness-wording-rules.ts';
import { suspendLateAccounts } from '../accounts/status/suspend-late-accounts.ts';
import { type AccountToSuspend, findAccountsToSuspend } from '../accounts/status/suspension-store.ts';
import { findAutoSuspendPlanIds } from '../catalogue/pay-plans/store.ts';
import { type Context, today } from '../core/context.ts';
import { businessDay } from '../core/values/dates.ts';
import { readCoverage } from '../mobile-money/lost-notifications/read-coverage.ts';
import { readArguments, runCommand, withDatabase } from './connect.ts';

const USAGE =
  'Usage: npm run apply-policy [-- --dry-run]\n' +
  'Suspends accounts that are late by more than their days of grace, if their pay plan has autoSuspend.\nThe service does the same every minute. ' +
  'With --dry-run, the command lists these accounts and changes nothing.';
const PAGE_SIZE = 1_000;

await runCommand(async (config) => {
  const { values } = readArguments(USAGE, { options: { 'dry-run': { type: 'boolean' } } });
  await withDatabase(config, async (context) => {
    const { until, ignored } = await readCoverage(context);
    console.log(`Payments are known until ${until.toISOString()}.`);
    for (const { source, until } of ignored)
      console.log(`Ignored after a week: ${source}, known until ${until.toISOString()}.`);
    await (values['dry-run'] ? list(context, until) : apply(context, until));
  });
});

async function list(context: Context, coveredUntil: Date): Promise<void> {
  const day = today(context);
  const coveredDay = businessDay(coveredUntil, context.config.BUSINESS_TIMEZONE);
  let count = 0;
  for (const payplanId of await findAutoSuspendPlanIds(context.db)) {
    let after: AccountToSuspend | undefined;
    do {
      const page = await findAccountsToSuspend(context.db, coveredDay, {
        payplanId,
        after,
        limit: PAGE_SIZE,
      });
      for (const account of page) {
        const why = describeLateness(account, day);
        console.log(`${formatAccountNumber(account.id)}  active → suspended  ${why}`);
      }
      count += page.length;
      after = page.at(-1);
    } while (after);
  }
  console.log(`${count} accounts would be suspended on ${day}. Nothing was changed.`);
}

/** Ctrl-C stops the command after the current batch. The accounts of completed batches stay suspended. */
async function apply(context: Context, coveredUntil: Date): Promise<void> {
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort()); // `on`, not `once`: npm sends the signal a second time.
  const count = await suspendLateAccounts(context, coveredUntil, stop.signal, (suspended) =>
    console.log(`${suspended} accounts suspended …`),
  );
  console.log(`${stop.signal.aborted ? 'Stopped: ' : ''}${count} accounts were suspended for non-payment.`);
}
