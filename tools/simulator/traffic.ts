import { createHash } from 'node:crypto';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { eastAfricaDigits, formatAmount, maskedNumber } from './formats.ts';

/** An account that receives payments, and the known data of its customer. */
export interface PayingAccount {
  id: number;
  accountNumber: string;
  /** The minor units that are missing until the account is paid in full. */
  roomMinor: bigint;
  /**
   * The phone and national id of the customer. Null if the customer has, or may have, another account, because these values can
   * then lead to several accounts.
   */
  soleHolder: { phone: string; nationalId: string } | null;
  /** The phone of a customer with several open accounts. As a reference, it leads to several accounts. */
  sharedPhone: string | null;
}

/** The body of a notification. A field may be a number even if the provider documents a text. */
export type Body = Record<string, string | number>;

export interface Transaction {
  transId: string;
  amountMinor: bigint;
  /** The account that the payment must match. Null if the payment must stay unmatched. */
  accountId: number | null;
  kind: string;
  body: Body;
}

/** One POST of the notification of a transaction. */
export interface Delivery {
  atMs: number;
  transaction: Transaction;
  body: Body;
  /** A repeat is equal to the first delivery. An altered delivery has the same transaction with other fields. */
  type: 'first' | 'repeat' | 'altered';
  /** The provider closes the connection before it reads the answer, and sends the notification again. */
  hangsUp: boolean;
}

interface TrafficOptions {
  /** Notifications per second. */
  rate: number;
  seconds: number;
  accounts: readonly PayingAccount[];
  /** The prefix of all transaction ids of this run. */
  prefix: string;
  shortCode: string;
  decimals: number;
  now: Date;
}

type Random = (below: number) => number;

/** Creates a generator of whole numbers from 0 to one less than a bound. The same seed gives the same numbers. */
export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return (below) => uniformInt(generator, 0, below - 1);
}

const BURST_SHARE = 6; // In one of six seconds, all notifications are sent at the start of the second.
const REPEAT_SHARE = 8; // One of 8 notifications is repeated.
const ALTERED_SHARE = 25; // One of 25 is sent again with other values.
const HANG_UP_SHARE = 40; // At one of 40, the provider hangs up.
const MAX_REPEAT_DELAY_MS = 3_000;
const OLDEST_DAYS = 3;

/** Plans all deliveries of a run, in order of time. The same seed gives the same plan. */
export function planTraffic(random: Random, options: TrafficOptions): Delivery[] {
  const { rate, seconds } = options;
  const room = new Map(options.accounts.map((account) => [account.id, account.roomMinor]));
  const deliveries: Delivery[] = [];
  let number = 0;
  for (let second = 0; second < seconds; second += 1) {
    const isBurst = random(BURST_SHARE) === 0;
    // The rate includes repeats, which are posted a little later.
    for (let i = 0; deliveries.length < rate * (second + 1); i += 1) {
      const atMs = second * 1_000 + (isBurst ? 0 : Math.floor((i * 1_000) / rate));
      number += 1;
      const transaction = makeTransaction(random, options, room, number);
      const hangsUp = random(HANG_UP_SHARE) === 0;
      deliveries.push({ atMs, transaction, body: transaction.body, type: 'first', hangsUp });
      const again = (type: Delivery['type'], body: Body) => {
        const later = Math.min(seconds * 1_000, atMs + random(MAX_REPEAT_DELAY_MS));
        deliveries.push({ atMs: later, transaction, body, type, hangsUp: false });
      };
      if (random(REPEAT_SHARE) === 0) again('repeat', transaction.body);
      if (random(ALTERED_SHARE) === 0) again('altered', alter(random, transaction, options.decimals));
    }
  }
  return deliveries.sort((a, b) => a.atMs - b.atMs);
}

function makeTransaction(
  random: Random,
  options: TrafficOptions,
  room: Map<number, bigint>,
  number: number,
): Transaction {
  const { decimals, now } = options;
  const account = pick(random, options.accounts);
  const unit = 10n ** BigInt(decimals);
  const typed = typeReference(random, account);
  const amountMinor = makeAmount(random, unit, decimals);
  const left = (room.get(account.id) ?? 0n) - amountMinor;
  // Never pays an account in full, because matching by phone does not find fully paid accounts.
  const isKnown = typed.isRight && left > 0n;
  const reference = typed.isRight && !isKnown ? 'PAID ALREADY' : typed.reference;
  if (isKnown) room.set(account.id, left);
  const transId = `${options.prefix}${number.toString(36).toUpperCase().padStart(5, '0')}`;
  const time = new Date(now.getTime() - random(OLDEST_DAYS * 86_400_000));
  const amount = formatAmount(amountMinor, decimals);
  const body: Body = {
    TransactionType: pick(random, ['Pay Bill', 'Pay Bill', 'CustomerPayBillOnline', '']),
    TransID: transId,
    TransTime: eastAfricaDigits(time),
    TransAmount: random(6) === 0 ? Number(amount) : amount,
    BusinessShortCode:
      random(8) === 0 && /^[1-9]\d*$/.test(options.shortCode) ? Number(options.shortCode) : options.shortCode,
    BillRefNumber: reference,
    MSISDN: isKnown || !typed.isRight ? typed.payer : strangersNumber(random),
  };
  if (random(3) > 0) {
    Object.assign(body, {
      InvoiceNumber: '',
      OrgAccountBalance: String(1_000 + random(9_000_000)),
      ThirdPartyTransID: '',
      FirstName: pick(random, ['WANJIRU', 'OTIENO', 'ACHIENG', 'MWANGI', "N'GANG'A", 'ZOË']),
    });
  }
  return {
    transId,
    amountMinor,
    accountId: isKnown ? account.id : null,
    kind: typed.isRight && !isKnown ? 'a word' : typed.kind,
    body,
  };
}

interface Typed {
  kind: string;
  reference: string;
  payer: string | number;
  /** Whether the reference leads to the account. If the reference is empty: whether the payer's number leads to it. */
  isRight: boolean;
}

/** Chooses the reference that a payer types, and the form of the payer's number. */
function typeReference(random: Random, account: PayingAccount): Typed {
  const number = account.accountNumber;
  const digits = number.replace(/\D/g, '');
  const stranger = strangersNumber(random);
  const typed =
    (isRight: boolean) =>
    (kind: string, reference: string, payer: string | number = stranger): Typed => ({
      kind,
      reference,
      payer,
      isRight,
    });
  const [right, wrong] = [typed(true), typed(false)];
  const holder = account.soleHolder;
  const choices: (() => Typed)[] = [
    () => right('account number', number),
    () => right('account number', number, Number(stranger)),
    () => right('account number', number, maskedNumber(stranger)),
    () => right('in lower case', number.toLowerCase()),
    () => right('with spaces', ` ${number.slice(0, 3)} ${digits.slice(0, 4)} ${digits.slice(4)} `),
    () => right('with dashes', `${digits.slice(0, 4)}-${digits.slice(4)}`),
    () => right('without prefix', digits),
    () => right('a letter too many', `${number}X`),
    () => right('in a sentence', `solar ${number} asante`),
    () => wrong('one digit wrong', number.slice(0, 3) + substitute(random, digits)),
    () => wrong('two digits swapped', number.slice(0, 3) + transpose(random, digits)),
    () => wrong('one digit missing', number.slice(0, 3) + digits.slice(1)),
    () => wrong('a word', pick(random, ['SOLAR', 'pump', 'N/A', '0', 'deposit ya mama', '☀'])),
    () => wrong('empty, number masked', '', maskedNumber(stranger)),
    () => wrong('empty, a stranger', '', hashOf(stranger)),
  ];
  if (holder) {
    const plain = holder.phone.slice(1);
    choices.push(
      () => right('phone', plain),
      () => right('phone, local', `0${plain.slice(3)}`),
      () => right('national id', holder.nationalId),
      () => right('empty, payer known', '', plain),
      () => right('empty, payer hashed', '', hashOf(plain)),
      () => wrong('empty, number masked', '', maskedNumber(plain)),
    );
  }
  const shared = account.sharedPhone;
  if (shared) choices.push(() => wrong('phone of two accounts', shared.slice(1)));
  return pick(random, choices)();
}

/** Returns the notification of the same transaction with other fields. */
function alter(random: Random, { body, amountMinor }: Transaction, decimals: number): Body {
  return random(2) === 0
    ? { ...body, TransAmount: formatAmount(amountMinor + 10n ** BigInt(decimals), decimals) }
    : { ...body, BillRefNumber: `${body.BillRefNumber} OTHER` };
}

function makeAmount(random: Random, unit: bigint, decimals: number): bigint {
  const whole = BigInt(5 + random(60) * 5) * unit;
  return decimals > 0 && random(5) === 0 ? whole + BigInt(random(Number(unit))) : whole;
}

/** Changes one digit. The check digit detects every such error, and every swap of two neighbours. */
function substitute(random: Random, digits: string): string {
  const at = 1 + random(digits.length - 1);
  const digit = (Number(digits[at]) + 1 + random(9)) % 10;
  return digits.slice(0, at) + digit + digits.slice(at + 1);
}

function transpose(random: Random, digits: string): string {
  const places = [...digits].flatMap((digit, i) =>
    i > 0 && digits[i + 1] !== undefined && digit !== digits[i + 1] ? [i] : [],
  );
  const at = places[random(Math.max(1, places.length))];
  if (at === undefined) return substitute(random, digits);
  return digits.slice(0, at) + digits[at + 1] + digits[at] + digits.slice(at + 2);
}

/** A phone number in a network that no customer of the simulator uses. */
function strangersNumber(random: Random): string {
  return `25411${String(random(10_000_000)).padStart(7, '0')}`;
}

function hashOf(digits: string): string {
  return createHash('sha256').update(digits).digest('hex');
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[random(choices.length)];
  if (choice === undefined) throw new RangeError('The list of choices is empty.');
  return choice;
}
