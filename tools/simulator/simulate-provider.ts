import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@account-management/client';
import { type Comparison, compare, type Sent } from './comparison.ts';
import { parseOptions, readSecrets, text, webAddress, wholeNumber } from './options.ts';
import { failWith, printComparison } from './output.ts';
import { type Book, openBook } from './provider-api/book.ts';
import { postUntilAccepted } from './provider-api/callbacks.ts';
import { describePhones, planOfPhone } from './provider-api/phones.ts';
import { pullOperations } from './provider-api/pull.ts';
import { type ProviderApi, startProviderApi } from './provider-api/server.ts';
import { type StatusOperations, statusOperations } from './provider-api/status.ts';
import { createStkPush } from './provider-api/stk-push.ts';
import { growthOf, openAccounts, readPaid, readPayments, ServiceError, signIn } from './service.ts';
import { createRandom, type PayingAccount } from './traffic.ts';

/**
 * Simulates the API and the customers of a mobile-money provider until it is stopped. Then compares the payments of the provider
 * with those that the service shows.
 */

const USAGE = `Usage: npm run simulate:provider -- [options]   (shown with the default values)
  --port 9900                       where the API of the provider listens
  --url http://127.0.0.1:8080       the service
  --folder simulated-provider       where to write the settings of the service and the key of the provider
  --accounts 5                      number of accounts to open, for new customers who pay
  --every 20                        seconds between two payments
  --lost 30                         percentage of payment notifications that get lost
  --down-after 60                   seconds until the provider goes down
  --down-for 0                      seconds of the downtime: the API does not answer, and all notifications are lost
  --seed <random number>            seed of the random choices; the same seed repeats a run
  --email simulator@example.com     user to sign in, or to register if registration is open
  --short-code 600638               the paybill number
SIMULATOR_PASSWORD is the user's password. WEBHOOK_SECRET is the secret that the service requires from a provider.`;

const AMOUNT_MINOR = 50_000n;
const OPENING_BALANCE_MINOR = 500_000n;
const CUSTOMER_MS = 3_000;
const STATUS_MS = 1_000;
const LATE_MS = 20_000;
/** Small pages, so that a few payments need more than one. */
const PAGE_SIZE = 5;
/** An answer to a pull leaves out up to this many of the newest payments. */
const MOST_HIDDEN_ROWS = 2;
const POLL_INTERVAL_MS = 1_000;
/**
 * The service pulls every ten minutes, and the provider may list a payment late. So a lost payment can take up to 25 minutes to
 * appear.
 */
const LONGEST_WAIT_MS = 25 * 60_000;

type Options = ReturnType<typeof readOptions>;

const stopped = new AbortController();
const gaveUp = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => (stopped.signal.aborted ? gaveUp : stopped).abort());

try {
  process.exitCode = (await simulate(readOptions())) ? 0 : 1;
} catch (error) {
  failWith(error);
}

/** @returns whether the service shows exactly the payments of the provider. */
async function simulate(options: Options): Promise<boolean> {
  const { shortCode, url } = options;
  const { webhookSecret: secret } = readSecrets();
  const notificationUrl = `${url}/api/webhooks/payments/mobilemoney${secret && `?token=${encodeURIComponent(secret)}`}`;
  const prefix = `SIM${Date.now().toString(36).toUpperCase()}`;
  const book = openBook(shortCode, OPENING_BALANCE_MINOR);
  const stk = createStkPush({
    ...{ book, prefix: `${prefix}R`, answerMs: CUSTOMER_MS, lateMs: LATE_MS },
    planOf: (_n, { fields }) => planOfPhone(String(fields.PhoneNumber)),
    notificationUrl: () => notificationUrl,
  });
  const status = statusOperations({ books: [book], answerMs: STATUS_MS });
  const pull = pullOperations([book], () => new Date(Math.max(Date.now(), pull.queriedUntil.getTime())));
  Object.assign(pull.behaviour, { pageSize: PAGE_SIZE, mostHiddenRows: MOST_HIDDEN_ROWS });
  const api = await startProviderApi({
    operations: { ...pull.operations, ...stk.operations, ...status.operations },
    port: options.port,
  });
  try {
    const file = writeSettings(options, api, status);
    console.log(`The provider listens on ${api.url}. Start the service with the settings in ${file}.`);
    const client = await untilReady(options);
    if (!client) return false;
    const { accounts, decimals } = await openAccounts(client, options.accounts);
    console.log(`${accounts.length} accounts opened. Ctrl+C ends the simulation and compares the payments.`);
    console.log(`Payment requests, by the last digit of the phone:\n  ${describePhones().join('\n  ')}`);
    await payUntilStopped({ ...options, prefix, accounts, book, api, notificationUrl });
    await Promise.all([stk.settled(), status.settled()]);
    return await compareUntilEqual({ client, book, accounts, prefix, decimals });
  } finally {
    await api.close();
  }
}

/** @returns the name of the file. */
function writeSettings({ folder, shortCode, url }: Options, api: ProviderApi, status: StatusOperations) {
  mkdirSync(folder, { recursive: true });
  const keyFile = resolve(folder, 'key.pem');
  writeFileSync(keyFile, status.publicKey);
  const settings = {
    PAYBILL_NUMBERS: shortCode,
    PUBLIC_URL: url,
    MOBILEMONEY_API_URL: api.url,
    MOBILEMONEY_CONSUMER_KEY: api.credentials.consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: api.credentials.consumerSecret,
    MOBILEMONEY_SHORT_CODE: shortCode,
    MOBILEMONEY_PULL_NUMBER: '254700000001',
    MOBILEMONEY_PASSKEY: 'passkey',
    MOBILEMONEY_INITIATOR: status.operator.initiator,
    MOBILEMONEY_INITIATOR_PASSWORD: status.operator.password,
    MOBILEMONEY_CERTIFICATE: keyFile,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`);
  const file = join(folder, 'settings.env');
  writeFileSync(file, lines.join(''));
  return file;
}

/** Waits until the service is ready, and signs in. @returns undefined if the simulation is stopped earlier. */
async function untilReady({ url, email }: Options): Promise<Client | undefined> {
  const { password } = readSecrets();
  while (!stopped.signal.aborted) {
    if (await isReady(url)) return signIn(url, { email, password });
    await pause(POLL_INTERVAL_MS, stopped.signal);
  }
  return undefined;
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false; // The service does not listen yet.
  }
}

interface Traffic extends Omit<Options, 'accounts'> {
  prefix: string;
  accounts: readonly PayingAccount[];
  book: Book;
  api: ProviderApi;
  notificationUrl: string;
}

/** Pays the accounts one after another. Each payment also makes the access tokens of the service invalid. */
async function payUntilStopped(traffic: Traffic): Promise<void> {
  const { prefix, accounts, book, api, notificationUrl, everyMs, lostPercent } = traffic;
  const random = createRandom(traffic.seed);
  const beganAt = Date.now();
  for (let n = 0; ; n += 1) {
    await pause(everyMs, stopped.signal);
    if (stopped.signal.aborted) break;
    const sinceDownMs = Date.now() - beganAt - traffic.downAfterMs;
    const isDown = sinceDownMs >= 0 && sinceDownMs < traffic.downForMs;
    if (isDown !== api.failures.isDown)
      console.log(isDown ? 'The provider is down.' : 'The provider is up again.');
    api.failures.isDown = isDown;
    const account = accounts[n % accounts.length];
    if (!account) throw new ServiceError('There is no account to pay.');
    const transId = `${prefix}C${String(n).padStart(5, '0')}`;
    const payer = account.soleHolder?.phone ?? account.sharedPhone ?? '';
    const body = book.pay({
      ...{ transId, amountMinor: AMOUNT_MINOR, time: new Date() },
      ...{ reference: account.accountNumber, payer: payer.slice(1) },
    });
    const isLost = isDown || random(100) < lostPercent;
    console.log(
      `${transId}: ${body.TransAmount} for ${account.accountNumber}${isLost ? ', notification lost' : ''}`,
    );
    if (!isLost) await postUntilAccepted(() => notificationUrl, body);
    api.tokens.expireAll();
  }
  api.failures.isDown = false;
}

interface Books {
  client: Client;
  book: Book;
  accounts: readonly PayingAccount[];
  prefix: string;
  decimals: number;
}

/** Waits until the service has found the payments whose notification was lost, and prints the comparison. */
async function compareUntilEqual(books: Books): Promise<boolean> {
  const deadline = AbortSignal.any([gaveUp.signal, AbortSignal.timeout(LONGEST_WAIT_MS)]);
  let comparison = await compareBooks(books);
  if (comparison.differences.length > 0)
    console.log(
      'Waiting until the service has pulled the lost payments, at most 25 minutes. Ctrl+C compares at once.',
    );
  while (comparison.differences.length > 0 && !deadline.aborted) {
    await pause(POLL_INTERVAL_MS, deadline);
    comparison = await compareBooks(books);
  }
  printComparison(comparison);
  return comparison.differences.length === 0;
}

async function compareBooks({ client, book, accounts, prefix, decimals }: Books): Promise<Comparison> {
  const idOf = new Map(accounts.map(({ id, accountNumber }) => [accountNumber, id]));
  for (const { reference } of book.payments) {
    if (idOf.has(reference)) continue;
    const { data } = await client.accounts.list({ accountNumber: reference });
    if (data[0]) idOf.set(reference, data[0].id);
  }
  const sent = book.payments.map(({ transId, amountMinor, reference }): Sent => {
    const accountId = idOf.get(reference) ?? null;
    const transaction = { transId, amountMinor, accountId, kind: 'account number', body: {} };
    return { transaction, isAcknowledged: true, isReturned: false };
  });
  const before = new Map<number, bigint>(); // The accounts are new.
  const after = await readPaid(client, accounts, decimals);
  return compare(sent, await readPayments(client, prefix), growthOf(accounts, before, after), decimals);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
}

function readOptions() {
  const values = parseOptions(
    {
      port: text('9900'),
      url: text('http://127.0.0.1:8080'),
      folder: text('simulated-provider'),
      accounts: text('5'),
      every: text('20'),
      lost: text('30'),
      'down-after': text('60'),
      'down-for': text('0'),
      seed: text(String(Date.now() % 1_000_000)),
      email: text('simulator@example.com'),
      'short-code': text('600638'),
    },
    USAGE,
  );
  const whole = (given: string, max: number, min = 1) => wholeNumber(given, { min, max }, USAGE);
  return {
    port: whole(values.port, 65_535),
    url: webAddress(values.url, USAGE),
    folder: values.folder,
    accounts: whole(values.accounts, 100),
    everyMs: whole(values.every, 86_400) * 1_000,
    lostPercent: whole(values.lost, 100, 0),
    downAfterMs: whole(values['down-after'], 86_400, 0) * 1_000,
    downForMs: whole(values['down-for'], 86_400, 0) * 1_000,
    seed: whole(values.seed, 2 ** 31 - 1),
    email: values.email,
    shortCode: values['short-code'],
  };
}
