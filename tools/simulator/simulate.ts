import { setTimeout as sleep } from 'node:timers/promises';
import { type Comparison, compare, type Sent } from './comparison.ts';
import { GATEWAYS } from './gateways.ts';
import { parseOptions, readSecrets, text, UsageError, webAddress, wholeNumber } from './options.ts';
import { failWith, printComparison, row } from './output.ts';
import {
  findAccounts,
  growthOf,
  openAccounts,
  type Posted,
  postNotification,
  readPaid,
  readPayments,
  signIn,
} from './service.ts';
import { createRandom, type Delivery, planTraffic, type Transaction } from './traffic.ts';

/** Simulates the gateway of a payment provider. Then compares what it sent with the payments that the service shows. */

const USAGE = `Usage: npm run simulate -- [options]   (shown with the default values)
  --url http://127.0.0.1:8080   the service
  --provider mobilemoney        the gateway to simulate: mobilemoney (JSON) or tigopesa (XML)
  --rate 20                     notifications per second
  --seconds 30                  duration of the run
  --connections 8               concurrent requests
  --accounts 20                 number of accounts to open, for new customers
  --existing                    use existing active accounts instead
  --seed <random number>        seed of the random choices; the same seed repeats a run
  --email simulator@example.com user to sign in, or to register if registration is open
  --short-code 600638           the paybill number
SIMULATOR_PASSWORD is the user's password. WEBHOOK_SECRET is the secret that the service requires from a provider.`;

const SETTLE_TIMEOUT_MS = 90_000; // the service retries failed notifications every minute

type Options = ReturnType<typeof readOptions>;

try {
  process.exitCode = (await simulate(readOptions())) ? 0 : 1;
} catch (error) {
  failWith(error);
}

/** @returns whether the service shows exactly the transactions that were sent. */
async function simulate(options: Options): Promise<boolean> {
  const { url, seed } = options;
  const { password } = readSecrets();
  const client = await signIn(url, { email: options.email, password });
  // Values that must be unique are derived from the time, and choices from the seed.
  const now = new Date();
  const prefix = `SIM${now.getTime().toString(36).toUpperCase()}`;
  console.log(
    `seed ${seed}, transactions ${prefix}…, ${options.rate} a second for ${options.seconds} s to ${url}`,
  );
  const { accounts, decimals } = options.existing
    ? await findAccounts(client, options.accounts)
    : await openAccounts(client, options.accounts);
  console.log(`${accounts.length} accounts ${options.existing ? 'found' : 'opened'}`);

  const before = await readPaid(client, accounts, decimals);
  const plan = planTraffic(createRandom(seed), { ...options, accounts, prefix, decimals, now });
  const { sent, refusals } = await deliver(plan, options);

  const compareNow = async (): Promise<Comparison> => {
    const payments = await readPayments(client, prefix);
    const after = await readPaid(client, accounts, decimals);
    return compare(sent, payments, growthOf(accounts, before, after), decimals);
  };
  let comparison = await compareNow();
  const deadline = Date.now() + SETTLE_TIMEOUT_MS;
  while (
    sent.some(({ isPending }) => isPending) &&
    comparison.differences.length > 0 &&
    Date.now() < deadline
  ) {
    await sleep(5_000);
    comparison = await compareNow();
  }
  print(sent, { ...comparison, differences: [...refusals, ...comparison.differences] });
  return refusals.length + comparison.differences.length === 0;
}

interface Progress extends Sent {
  /** The service has stored the notification and will process it later. */
  isPending: boolean;
}

/** Posts each delivery at its time, or later if all connections are busy. Prints the progress every second. */
async function deliver(plan: readonly Delivery[], { url, gateway, connections, seconds }: Options) {
  const { webhookSecret: secret } = readSecrets();
  const progress = new Map<Transaction, Progress>();
  const firsts = new Map<Transaction, Promise<unknown>>();
  const refusals: string[] = [];
  const outcomes = new Map<string, number>();
  const count = (what: string, by = 1) => outcomes.set(what, (outcomes.get(what) ?? 0) + by);
  let posted = 0;
  let next = 0;
  const began = Date.now();

  const post = async ({ transaction, body, type, hangsUp }: Delivery): Promise<void> => {
    const state = progress.get(transaction) ?? {
      transaction,
      isAcknowledged: false,
      isReturned: false,
      isPending: false,
    };
    progress.set(transaction, state);
    if (type === 'altered') {
      // Send an altered notification only after the service has the first one, because the first one becomes the payment.
      await firsts.get(transaction);
      if (!state.isAcknowledged) return;
    }
    const to = { url, secret };
    const { outcome, retries, refusal }: Posted = await postNotification(gateway, to, body, hangsUp);
    posted += 1;
    if (retries > 0) count('retries', retries);
    if (refusal !== undefined && gateway.returnsMoney) {
      state.isReturned = true;
      count('returned to the payer');
    } else if (refusal !== undefined) {
      refusals.push(`${transaction.transId}: refused, ${refusal}`);
    }
    if (outcome === undefined) return;
    count(outcome);
    if (type === 'altered') return;
    state.isAcknowledged = true;
    state.isPending ||= outcome === 'pending';
  };
  const worker = async (): Promise<void> => {
    for (;;) {
      const delivery = plan[next++];
      if (!delivery) return;
      const due = sleep(Math.max(0, began + delivery.atMs - Date.now()));
      const work = due.then(() => post(delivery));
      if (delivery.type === 'first') firsts.set(delivery.transaction, work);
      await work;
    }
  };
  const printProgress = () => {
    const parts = [...outcomes].sort().map(([what, times]) => `${times} ${what}`);
    console.log(
      `${String(Math.round((Date.now() - began) / 1_000)).padStart(4)} s of ${seconds}: ${posted} posted; ${parts.join(', ')}`,
    );
  };
  const timer = setInterval(printProgress, 1_000);
  try {
    await Promise.all(Array.from({ length: connections }, worker));
  } finally {
    clearInterval(timer);
  }
  printProgress();
  return { sent: [...progress.values()], refusals };
}

function print(sent: readonly Sent[], comparison: Comparison): void {
  const kinds = new Map<string, number>();
  for (const { transaction } of sent) kinds.set(transaction.kind, (kinds.get(transaction.kind) ?? 0) + 1);
  console.log('\nreferences');
  for (const [kind, times] of [...kinds].sort(([, a], [, b]) => b - a)) row(kind, String(times));
  console.log('');
  const unknown = sent.filter(({ isAcknowledged }) => !isAcknowledged).length;
  if (unknown > 0)
    console.log(
      `${unknown} transactions were not acknowledged. Each counts as sent only if the service shows its payment.`,
    );
  printComparison(comparison);
}

function readOptions() {
  const values = parseOptions(
    {
      url: text('http://127.0.0.1:8080'),
      provider: text('mobilemoney'),
      rate: text('20'),
      seconds: text('30'),
      connections: text('8'),
      accounts: text('20'),
      existing: { type: 'boolean', default: false } as const,
      seed: text(String(Date.now() % 1_000_000)),
      email: text('simulator@example.com'),
      'short-code': text('600638'),
    },
    USAGE,
  );
  const gateway = GATEWAYS[values.provider];
  if (!gateway) throw new UsageError(USAGE);
  const whole = (given: string, max: number) => wholeNumber(given, { max }, USAGE);
  return {
    gateway,
    url: webAddress(values.url, USAGE),
    rate: whole(values.rate, 1_000),
    seconds: whole(values.seconds, 86_400),
    connections: whole(values.connections, 200),
    accounts: whole(values.accounts, 100),
    existing: values.existing,
    seed: whole(values.seed, 2 ** 31 - 1),
    email: values.email,
    shortCode: values['short-code'],
  };
}
