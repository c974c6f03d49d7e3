import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ClientError } from '@account-management/client';
import { type Comparison, compare, type Sent } from './comparison.ts';
import { GATEWAYS, type Gateway } from './gateways.ts';
import {
  findAccounts,
  growthOf,
  openAccounts,
  type Posted,
  postNotification,
  readPaid,
  readPayments,
  ServiceError,
  signIn,
} from './service.ts';
import { createRandom, type Delivery, planTraffic, type Transaction } from './traffic.ts';

/** Simulates the gateway of a payment provider. It uses only HTTP, and checks the payments that the service then shows. */

const USAGE = `Usage: npm run simulate -- [options]
  --url http://127.0.0.1:8080   the service
  --provider mobilemoney        the gateway to simulate: mobilemoney (JSON) or tigopesa (XML)
  --rate 20                     notifications per second
  --seconds 30                  duration of the run
  --connections 8               concurrent requests
  --accounts 20                 number of accounts to open, for new customers
  --existing                    use existing active accounts instead
  --seed 1                      repeats the choices of an earlier run; default: random
  --email simulator@example.com user to sign in, or to register if registration is open
  --short-code 600638           the paybill number
SIMULATOR_PASSWORD is the user's password. WEBHOOK_SECRET is the secret that the service requires from a provider.`;

const DEVELOPMENT_PASSWORD = 'the simulated provider';
const SETTLE_TIMEOUT_MS = 90_000; // the service retries failed notifications every minute
const MAX_DIFFERENCES_SHOWN = 50;

class UsageError extends Error {}

interface Options {
  url: string;
  gateway: Gateway;
  rate: number;
  seconds: number;
  connections: number;
  accounts: number;
  existing: boolean;
  seed: number;
  email: string;
  shortCode: string;
}

try {
  process.exitCode = (await simulate(readOptions())) ? 0 : 1;
} catch (error) {
  process.exitCode = 1;
  const isExpected = [UsageError, ServiceError, ClientError].some((kind) => error instanceof kind);
  console.error(isExpected ? (error as Error).message : error);
}

/** @returns whether the service shows exactly the transactions that were sent. */
async function simulate(options: Options): Promise<boolean> {
  const { url, seed } = options;
  const password = process.env.SIMULATOR_PASSWORD ?? DEVELOPMENT_PASSWORD;
  const client = await signIn(url, { email: options.email, password });
  // Unique values are derived from the time, and choices from the seed.
  const now = new Date();
  const uniqueDigits = Math.floor(now.getTime() / 100) % 100_000_000;
  const prefix = `SIM${now.getTime().toString(36).toUpperCase()}`;
  console.log(
    `seed ${seed}, transactions ${prefix}…, ${options.rate} a second for ${options.seconds} s to ${url}`,
  );
  const { accounts, decimals } = options.existing
    ? await findAccounts(client, options.accounts)
    : await openAccounts(client, options.accounts, uniqueDigits);
  console.log(`${accounts.length} accounts ${options.existing ? 'found' : 'opened'}`);

  const before = await readPaid(client, accounts, decimals);
  const plan = planTraffic(createRandom(seed), { ...options, accounts, prefix, decimals, now });
  const { sent, refusals } = await deliver(plan, options);

  const differences = async (): Promise<Comparison> => {
    const payments = await readPayments(client, prefix);
    const after = await readPaid(client, accounts, decimals);
    return compare(sent, payments, growthOf(accounts, before, after), decimals);
  };
  let comparison = await differences();
  const deadline = Date.now() + SETTLE_TIMEOUT_MS;
  while (
    sent.some(({ isPending }) => isPending) &&
    comparison.differences.length > 0 &&
    Date.now() < deadline
  ) {
    await sleep(5_000);
    comparison = await differences();
  }
  print(sent, { ...comparison, differences: [...refusals, ...comparison.differences] });
  return refusals.length + comparison.differences.length === 0;
}

interface Progress extends Sent {
  /** The service has stored the notification and will process it later. */
  isPending: boolean;
}

/** Posts each delivery at its time, unless all connections are busy. Prints the progress every second. */
async function deliver(plan: readonly Delivery[], { url, gateway, connections, seconds }: Options) {
  const secret = process.env.WEBHOOK_SECRET ?? '';
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
      acknowledged: false,
      givenBack: false,
      isPending: false,
    };
    progress.set(transaction, state);
    if (type === 'altered') {
      // Send an altered report only after the service has the first report, because the first report becomes the payment.
      await firsts.get(transaction);
      if (!state.acknowledged) return;
    }
    const to = { url, secret };
    const { outcome, retries, refusal }: Posted = await postNotification(gateway, to, body, hangsUp);
    posted += 1;
    if (retries > 0) count('retries', retries);
    if (refusal !== undefined && gateway.givesBack) {
      state.givenBack = true;
      count('given back');
    } else if (refusal !== undefined) {
      refusals.push(`${transaction.transId}: refused, ${refusal}`);
    }
    if (outcome === undefined) return;
    count(outcome);
    if (type === 'altered') return;
    state.acknowledged = true;
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

function print(sent: readonly Sent[], { lines, differences }: Comparison): void {
  const kinds = new Map<string, number>();
  for (const { transaction } of sent) kinds.set(transaction.kind, (kinds.get(transaction.kind) ?? 0) + 1);
  console.log('\nreferences');
  for (const [kind, times] of [...kinds].sort(([, a], [, b]) => b - a)) row(kind, String(times));
  console.log('');
  row('', 'sent', 'shown');
  for (const { label, sent: was, shown } of lines) row(label, was, shown);
  const unknown = sent.filter(({ acknowledged }) => !acknowledged).length;
  if (unknown > 0)
    console.log(`${unknown} were never acknowledged. They count as sent if the service shows them.`);
  console.log('');
  for (const difference of differences.slice(0, MAX_DIFFERENCES_SHOWN))
    console.log(`DIFFERENCE ${difference}`);
  if (differences.length > MAX_DIFFERENCES_SHOWN)
    console.log(`… and ${differences.length - MAX_DIFFERENCES_SHOWN} more`);
  console.log(
    differences.length === 0
      ? 'The service shows exactly what was sent.'
      : `${differences.length} differences between what was sent and what the service shows.`,
  );
}

function row(label: string, ...cells: string[]): void {
  console.log(`  ${label.padEnd(26)}${cells.map((cell) => cell.padStart(16)).join('')}`.trimEnd());
}

function readOptions(): Options {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const values = parse({
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
  });
  if (!/^https?:\/\//.test(values.url) || !URL.canParse(values.url)) throw new UsageError(USAGE);
  const gateway = GATEWAYS[values.provider];
  if (!gateway) throw new UsageError(USAGE);
  return {
    gateway,
    url: values.url.replace(/\/+$/, ''),
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

function parse<T extends NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>>(options: T) {
  try {
    return parseArgs({ options }).values;
  } catch (cause) {
    throw new UsageError(USAGE, { cause });
  }
}

function whole(text: string, max: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > max) throw new UsageError(USAGE);
  return number;
}
