import type { Insertable } from 'kysely';
import { formatAccountNumber } from '../../src/accounts/account-number-rules.ts';
import { closeBooks } from '../../src/accounts/ledger/close-books-rules.ts';
import { type AccountRow, openBooks, postEvent } from '../../src/accounts/ledger/rules.ts';
import { runColumns } from '../../src/accounts/schedule/rules.ts';
import { type Actor, SYSTEM } from '../../src/core/context.ts';
import type { ItemResult } from '../../src/core/database/batching.ts';
import type {
  AccountStatus,
  NotificationOutcome,
  Notifications,
  PaymentSource,
  StatusCause,
  UserRole,
} from '../../src/core/database/tables.ts';
import { AppError } from '../../src/core/http/errors.ts';
import { NotTheSame } from '../../src/core/http/external-ids.ts';
import { type IdempotencyKey, usedWithAnotherBody } from '../../src/core/http/idempotency.ts';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { type Minor, minorFromNumber } from '../../src/core/values/money.ts';
import { phoneSha256 } from '../../src/core/values/phone.ts';
import { nationalIdKey } from '../../src/customers/rules.ts';
import {
  type Candidate,
  decideMatch,
  type Interpretations,
  NO_MATCH,
  type RelatedAssignment,
  suggestedAccountIds,
} from '../../src/payments/matching/rules.ts';
import {
  decideNotification,
  notificationColumns,
  notificationOf,
  notificationToPost,
} from '../../src/payments/notifications/rules.ts';
import { decideManual, manualPaymentToPost } from '../../src/payments/posting/manual-payment-rules.ts';
import type {
  Decision,
  ManualPayment,
  Notification,
  Outcome,
  StoredOutcome,
} from '../../src/payments/posting/rules.ts';
import {
  changeablePayments,
  type KnownNotification,
  type KnownPayment,
  type PostedSoFar,
  type PostingReads,
  UNKNOWN_TRANSACTION,
} from '../../src/payments/posting/rules.ts';
import type { NotificationRow } from '../../src/payments/rules.ts';
import { STATUS_MODEL } from './status-model.ts';

/**
 * Runs the decisions about payments for tests. The tests describe what is known and what happens in plain words. Only this file
 * knows the types of the decisions. Amounts are in shillings.
 */

/** A and A2 are accounts of one customer, B is an account of another customer. */
export type AccountName = 'A' | 'A2' | 'B';

const HOLDERS = {
  amina: { id: 71, nationalId: 'ID-7100', phone: '+254712345671' },
  baraka: { id: 72, nationalId: 'ID-7200', phone: '+254722345672' },
};
const ACCOUNTS = {
  A: { id: 1, holder: HOLDERS.amina },
  A2: { id: 25, holder: HOLDERS.amina },
  B: { id: 138, holder: HOLDERS.baraka },
};

export const TRANSACTION = 'SKB2XQ19ZT';
const SIMILAR_REFERENCE = 'SKB2XQI9ZT';
const PROVIDER = 'mobilemoney';
const OTHER_PROVIDER = 'tigopesa';
const METHOD_IDS = { 'mobile money': 1, cash: 2, 'an inactive method': 3, 'an unknown method': 99 };
export type Method = keyof typeof METHOD_IDS;

/** Noon of Monday 2 November 2026 in Nairobi. */
const NOW = new Date('2026-11-02T09:00:00Z');
const TODAY = '2026-11-02' as PlainDate;
const REGION = 'KE';
const LATER = '2026-11-02T10:00:00.000Z';
const TIME = '2026-11-02T07:15:30Z';
const SETTINGS = {
  currency: { code: 'KES', decimals: 2 },
  timeZone: 'Africa/Nairobi',
  region: REGION,
  agentBackdatingDays: 7,
  cashCeilingMinor: undefined,
  now: NOW,
};

const NEW_PAYMENT = 900;
const NEW_NOTIFICATION = 60;
const NEW_IDS = { payment: NEW_PAYMENT, notification: NEW_NOTIFICATION };
const STORED_NOTIFICATION = 50;

/** The plan of every account: a deposit of 100, then 100 a week from 12 October on, 1,000 in total, 7 days of grace. */
interface AccountWords {
  status?: AccountStatus;
  paid?: number;
  writtenOff?: number;
  suspendedBy?: 'the policy' | 'staff';
}

type AccountsWords = Partial<Record<AccountName, AccountWords>>;

const FORMS = { call: 'webhook', 'statement line': 'import', 'pulled payment': 'pull' } as const;
type Form = keyof typeof FORMS;

export const RECORDERS = {
  'an agent': { role: 'agent', permissions: null },
  'a viewer': { role: 'viewer', permissions: null },
  'a user of finance': { role: 'finance', permissions: null },
  'a manager': { role: 'manager', permissions: null },
  'an admin': { role: 'admin', permissions: null },
  'an API key that may record payments': { role: null, permissions: ['payments:record'] },
  'an API key that may assign payments': { role: null, permissions: ['payments:record', 'payments:assign'] },
  'the system': { role: null, permissions: null },
} as const satisfies Record<string, { role: UserRole | null; permissions: readonly string[] | null }>;
export type Recorder = keyof typeof RECORDERS;

/** A payment of the transaction that is in the books. */
interface PaymentWords {
  id?: number;
  /** `manual`: staff recorded it. `linked`: staff recorded it, and the provider reported it later. */
  kind?: 'manual' | 'linked' | 'reported';
  /** Null: the payment is unmatched. */
  on?: AccountName | null;
  amount?: number;
  method?: Method;
  isReversed?: boolean;
  recordedBy?: Recorder;
  assignedByStaff?: boolean;
  /** Staff changed the payment after it was posted. */
  isTouched?: boolean;
  form?: Form;
  ofOtherProvider?: boolean;
  transactionId?: string;
  /** The reference of the payment is not that of the transaction, but similar to it. */
  isSimilar?: boolean;
  day?: string;
}

/** An earlier notification of the transaction. */
interface EarlierWords {
  id?: number;
  /** `pending`: its payment could not be posted yet. `rejected`: it could not be read. */
  was: NotificationOutcome | 'pending' | 'rejected';
  fields?: 'equal' | 'different';
  amount?: number;
  payment?: number;
  conflictsWith?: number;
  form?: Form;
  answersRequest?: boolean;
  ofOtherProvider?: boolean;
  typed?: Typed;
  payer?: PayerWords;
  /** The time of a call with different fields is a minute earlier, unless it is given. */
  time?: string;
  parsedWith?: ('unreadable_time' | 'future_time')[];
  toAnotherBusiness?: boolean;
  zone?: Zone;
}

/** The zone that the settings gave for the times of the provider. Without it, the zone of the provider's API counts. */
type Zone = 'UTC';

type PayerWords =
  | `the ${'phone' | 'masked phone' | 'hashed phone'} of ${AccountName}`
  | 'a stranger'
  | 'nobody';

type Typed =
  | `the ${'number' | 'national id' | 'phone' | 'id'} of ${AccountName}`
  | `the number of ${AccountName} with a typing error`
  | `the number of ${AccountName} in lower case`
  | 'words that name nobody'
  | 'nothing';

/** What a provider reports, and what is known when the service decides about it. */
export interface Report {
  amount?: number;
  typed?: Typed;
  payer?: PayerWords;
  time?: string | 'not known';
  /** The provider sends no times. */
  withoutTimes?: boolean;
  zone?: Zone;
  /** Other texts of the provider's call. */
  otherFields?: Record<string, string>;
  toAnotherBusiness?: boolean;
  parsedWith?: ('unreadable_time' | 'future_time')[];
  form?: Form;
  answersRequest?: boolean;
  /** The provider returns refused money to the payer. */
  isRefusable?: boolean;
  method?: 'no known method';
  /** Set for a notification that is stored already, and is decided again. */
  storedAs?: 'pending' | 'conflict' | 'linked';
  storedFlags?: string[];
  /** The payment that staff chose when they resolved the conflict. */
  chosenPayment?: number;
  /** Staff decided that the payments with similar references are other payments. */
  bothAreReal?: boolean;
  accounts?: AccountsWords;
  payments?: PaymentWords[];
  earlier?: EarlierWords[];
  /** Staff assigned the same reference from the same payer before. */
  learned?: { on: AccountName; insteadOf?: AccountName };
  /** Staff assigned another reference from the same payer, or the same reference from another payer. */
  assignedBefore?: { on: AccountName; what: 'another reference' | 'another payer' };
  /** The amounts of earlier payments of the same batch on the account. */
  earlierInBatch?: number[];
}

/** A payment that staff or another system record, and what is known when the service decides about it. */
export interface Recording {
  by?: Recorder;
  on?: AccountName | 'an unknown account';
  amount?: number;
  method?: Method;
  reference?: string | null;
  day?: string;
  /** Staff know that the provider's payment with a similar reference is another payment. */
  bothAreReal?: boolean;
  externalId?: string;
  metadata?: Record<string, string>;
  /** The payment that has the external id already. */
  sameExternalId?: Pick<PaymentWords, 'id' | 'on' | 'amount' | 'method' | 'isReversed'>;
  idempotencyKey?: 'new' | 'answered' | 'used with another body';
  accounts?: AccountsWords;
  payments?: PaymentWords[];
  earlier?: EarlierWords[];
  /** The id of a provider's statement with a line for the reference. */
  onStatement?: number;
  earlierInBatch?: number[];
  /** The ids of payments on the account with the same amount and day. */
  alike?: number[];
  cashInHand?: number;
  cashCeiling?: number;
  hasNoCashMethod?: boolean;
  /** The request asks for checks, and confirms nothing yet. */
  asksForChecks?: boolean;
}

/** What happens. Whatever is absent does not happen. */
export interface Happened {
  outcome: NotificationOutcome | 'recorded' | 'replayed' | 'refused';
  /** Why the money goes back to the payer, or the code of the error. */
  refusal?: string;
  details?: object;
  says?: string;
  /** The result of the item in a bulk call, if its external id is taken. */
  inBulk?: 'existing' | 'failed';
  answer?: string;
  payment?: number | 'new';
  account?: AccountName;
  by?: string;
  matchReason?: string;
  conflictsWith?: number;
  flags?: string[];
  /** The amounts by ledger account. */
  ledger?: Record<string, number>;
  accountBecomes?: AccountStatus;
  /** The payment that gets the provider's transaction, or that loses it. */
  givesTransactionTo?: number;
  takesTransactionFrom?: number;
  stores?: 'a notification' | `the outcome of notification ${number}`;
  /** The stored notifications that get a flag. */
  flagsNotifications?: number[];
  /** The unmatched payment that is matched now. */
  rematches?: number;
  keepsAnswer?: boolean;
  warns?: string[];
  publishes?: string[];
}

/** Decides about a notification of a provider. */
export function report(known: Report): Happened {
  const { decision, applied } = decideReport(known);
  return happened(decision, applied, known);
}

/** Decides about a manual payment. */
export function record(known: Recording): Happened {
  const { decision, applied } = decideRecording(known);
  return happened(decision, applied, known);
}

/** The rows that are written, with the names of their columns. */
export function rowsOfReport(known: Report) {
  return rowsOf(decideReport(known).decision);
}

export function rowsOfRecording(known: Recording) {
  return rowsOf(decideRecording(known).decision);
}

/** The names that are locked before the decision, and the account whose number was typed. */
export function locksOfReport(known: Report) {
  return locksOf(notificationToPost(notificationFrom(known), REGION));
}

export function locksOfRecording(known: Recording) {
  return locksOf(manualPaymentToPost(manualFrom(known), keepFrom(known)));
}

/** The ids of the known payments that the decision can change. */
export function changeableByReport(known: Report): number[] {
  const { notification, reads } = readsOfReport(known);
  return changeablePayments(notificationToPost(notification, REGION), reads.known, reads.match);
}

export function changeableByRecording(known: Recording): number[] {
  const { manual, reads } = readsOfRecording(known);
  return changeablePayments(manualPaymentToPost(manual), reads.known, reads.match);
}

/** Reads a stored notification that lacks one of the columns that the parsing of a body fills. */
export function processStoredWithout(column: 'trans_id' | 'amount_minor' | 'content_hash'): void {
  notificationOf({ ...storedRow(notificationFrom({}), null), [column]: null }, methodCodeOf({}));
}

function locksOf({ locks, sharedLocks, otherKeys, namedAccountId }: ReturnType<typeof manualPaymentToPost>) {
  return {
    names: locks,
    ...(otherKeys.length > 0 && { otherIds: otherKeys }),
    ...(sharedLocks.length > 0 && { shared: sharedLocks }),
    account: accountNameOf(namedAccountId),
  };
}

function decideReport(known: Report) {
  const { notification, reads, account } = readsOfReport(known);
  return settle((earlier) => decideNotification(notification, reads, earlier, SETTINGS), account, known);
}

function readsOfReport(known: Report) {
  const { accounts = {}, payments = [], earlier = [] } = known;
  const notification = notificationFrom(known);
  const { interpretations } = notificationToPost(notification, REGION);
  const candidates = interpretations ? findCandidates(interpretations, known) : [];
  const match = interpretations ? decideMatch(candidates, interpretations.referenceIsEmpty) : NO_MATCH;
  const account = match.accountId === null ? undefined : accountRow(nameOf(match.accountId), accounts);
  const reads: PostingReads = {
    newIds: NEW_IDS,
    known: {
      ...UNKNOWN_TRANSACTION,
      ...knownPayments(payments),
      notifications: [...earlier, ...storedWords(known)].map(knownNotification),
    },
    methods: paymentMethods(),
    match,
    suggestedCustomerIds:
      match.accountId === null && !known.toAnotherBusiness
        ? suggestedCustomers(notification, candidates, known)
        : [],
    alike: [],
  };
  return { notification, reads, account };
}

/** The notification itself, if it is stored already. */
function storedWords({
  storedAs,
  form = 'call',
  answersRequest = false,
  amount = 400,
}: Report): EarlierWords[] {
  if (!storedAs) return [];
  const words = {
    id: STORED_NOTIFICATION,
    was: storedAs,
    fields: 'equal',
    form,
    answersRequest,
    amount,
  } as const;
  if (storedAs === 'linked') return [{ ...words, payment: 7 }];
  return [storedAs === 'conflict' ? { ...words, conflictsWith: 7 } : words];
}

function decideRecording(known: Recording) {
  const { manual, reads, account } = readsOfRecording(known);
  const settings = { ...SETTINGS, cashCeilingMinor: optionalMinor(known.cashCeiling) };
  return settle((earlier) => decideManual(manual, keepFrom(known), reads, earlier, settings), account, known);
}

function readsOfRecording(known: Recording) {
  const { accounts = {}, payments = [], earlier = [], on = 'A', onStatement, sameExternalId } = known;
  const manual = manualFrom(known);
  const account = on === 'an unknown account' ? undefined : accountRow(on, accounts);
  const reads: PostingReads = {
    newIds: NEW_IDS,
    known: {
      ...knownPayments(payments),
      notifications: earlier.map(knownNotification),
      statementId: onStatement ?? null,
    },
    methods: paymentMethods().filter(({ cash }) => !(cash && known.hasNoCashMethod)),
    match: NO_MATCH,
    suggestedCustomerIds: [],
    alike: (known.alike ?? []).map((id) => knownPayment({ id })),
    cashInHandMinor: optionalMinor(known.cashInHand),
    ...(sameExternalId && { sameExternalId: knownPayment({ kind: 'manual', ...sameExternalId }) }),
    ...(known.idempotencyKey === 'answered' && { answer: { status: 201, answer: '{"id":41}' } }),
    ...(known.idempotencyKey === 'used with another body' && { answer: usedWithAnotherBody() }),
  };
  return { manual, reads, account };
}

type NotificationToInsert = ReturnType<typeof rowsOf>['notifications'][number];

interface Applied {
  ledger: Record<string, number>;
  accountBecomes: AccountStatus | undefined;
}

/** Decides after the earlier payments of the batch, and applies the decision to the books, as the command does. */
function settle(
  decide: (earlier: PostedSoFar) => Decision,
  account: AccountRow | undefined,
  { earlierInBatch = [], accounts = {} }: Pick<Report, 'earlierInBatch' | 'accounts'>,
): { decision: Decision; applied?: Applied } {
  const earlier: PostedSoFar = {
    books: openBooks(new Map(account && [[account.id, account]])),
    payments: [],
  };
  for (const amount of earlierInBatch) postEarlier(amount, account, earlier);
  const decision = decide(earlier);
  if (!decision.event) return { decision };
  const refusal = postEvent(earlier.books, decision.event);
  if (refusal) return { decision: { result: { error: refusal } } };
  const own = earlier.books.entries.filter(({ position }) => position === earlier.books.count);
  const { suspendedBy } = (account && accounts[nameOf(account.id)]) ?? {};
  const cause: StatusCause | null = suspendedBy === 'the policy' ? 'non_payment' : null;
  const histories = new Map(account && [[account.id, { cause, completedFrom: undefined }]]);
  const [written] = closeBooks(earlier.books, histories, TODAY).accounts;
  const movesAccount = decision.event.movements.some(({ accountId }) => accountId === account?.id);
  const becomes = movesAccount && written?.status !== account?.status ? written?.status : undefined;
  return {
    decision,
    applied: {
      ledger: Object.fromEntries(own.map((one) => [one.ledger_account, one.amount_minor / 100])),
      accountBecomes: becomes,
    },
  };
}

function postEarlier(amount: number, account: AccountRow | undefined, earlier: PostedSoFar): void {
  const reads: PostingReads = {
    newIds: { payment: NEW_PAYMENT - 1, notification: NEW_NOTIFICATION - 1 },
    known: UNKNOWN_TRANSACTION,
    methods: paymentMethods(),
    match: NO_MATCH,
    suggestedCustomerIds: [],
    alike: [],
  };
  const manual = manualFrom({
    amount,
    reference: null,
    on: account ? nameOf(account.id) : 'an unknown account',
  });
  const { event } = decideManual(manual, undefined, reads, earlier, SETTINGS);
  if (!event || postEvent(earlier.books, event))
    throw new Error('The earlier payment of the batch is refused.');
}

function happened(
  decision: Decision,
  applied: Applied | undefined,
  known: Pick<Report, 'payments'>,
): Happened {
  const { payments, notifications, stored, changes, answers } = rowsOf(decision);
  const { repeatedAfterReversal } = decision;
  if (payments.length > 1 || notifications.length + (stored ? 1 : 0) > 1)
    throw new Error('A decision writes at most one payment and one notification.');
  const [payment] = payments;
  const warnings = warningsOf(decision.result);
  const [outcome = stored?.outcome] = notifications.map(outcomeOf);
  const result = resultOf(decision.result, outcome);
  return {
    ...result,
    ...(payment && {
      ...(payment.account_id !== null && { account: accountNameOf(Number(payment.account_id)) }),
      ...(payment.match_method !== null && { by: payment.match_method }),
      ...(payment.match_reason !== null && { matchReason: payment.match_reason }),
    }),
    ...(outcome && outcome.conflictPaymentId !== null && { conflictsWith: outcome.conflictPaymentId }),
    ...(outcome && outcome.flags.length > 0 && { flags: outcome.flags }),
    ...(applied && { ledger: applied.ledger }),
    ...(applied?.accountBecomes && { accountBecomes: applied.accountBecomes }),
    ...changeOf(decision, known),
    ...(notifications.length > 0 && { stores: 'a notification' }),
    ...(stored && { stores: `the outcome of notification ${stored.id}` as const }),
    ...(repeatedAfterReversal && { flagsNotifications: repeatedAfterReversal }),
    ...(answers.length > 0 && { keepsAnswer: true }),
    ...(warnings.length > 0 && { warns: warnings }),
    ...(changes.length > 0 && { publishes: changes.map(({ type }) => type) }),
  };
}

/** What happens to the payment that was in the books. */
function changeOf({ payments: [changed] = [] }: Decision, { payments = [] }: Pick<Report, 'payments'>) {
  const before = payments.map(knownPayment).find(({ id }) => id === changed?.id);
  if (!changed || !before) return {};
  if (changed.provider === null) return { takesTransactionFrom: changed.id };
  if (before.provider === null) return { givesTransactionTo: changed.id };
  return {
    rematches: changed.id,
    ...(changed.match_method && { by: changed.match_method }),
    account: accountNameOf(changed.account_id),
  };
}

function outcomeOf(row: NotificationToInsert): StoredOutcome {
  const { outcome, payment_id: paymentId = null, conflict_payment_id: conflictId = null, flags = [] } = row;
  if (!outcome) throw new Error('A decided notification has an outcome.');
  return {
    outcome,
    paymentId: paymentId === null ? null : Number(paymentId),
    conflictPaymentId: conflictId === null ? null : Number(conflictId),
    flags: [...flags],
  };
}

/** The answer to the caller. It must be the same as the outcome that is stored. */
function resultOf(result: ItemResult<Outcome>, stored: StoredOutcome | undefined): Happened {
  if ('error' in result) return refused(result.error);
  const recorded = result.outcome;
  if ('refusal' in recorded) return { outcome: 'refused', refusal: recorded.refusal };
  if ('replay' in recorded) return { outcome: 'replayed', answer: recorded.replay.answer };
  if ('payment' in recorded) return { outcome: 'recorded', ...paymentOf(recorded.payment.id) };
  if (stored && (stored.outcome !== recorded.outcome || stored.paymentId !== recorded.paymentId))
    throw new Error(`The answer is ${recorded.outcome}, but ${stored.outcome} is stored.`);
  return { outcome: recorded.outcome, ...paymentOf(recorded.paymentId) };
}

function refused(error: unknown): Happened {
  if (!(error instanceof AppError)) throw error;
  const { code, details, message } = error;
  const isTaken = code === 'DUPLICATE_ENTRY' && details.field === 'externalId';
  return {
    outcome: 'refused',
    refusal: code,
    details,
    says: message,
    ...(isTaken && { inBulk: error instanceof NotTheSame ? 'failed' : 'existing' }),
  };
}

function warningsOf(result: ItemResult<Outcome>): string[] {
  if ('error' in result || !('payment' in result.outcome)) return [];
  return result.outcome.warnings.map(({ code }) => code);
}

function paymentOf(id: number | null): Pick<Happened, 'payment'> {
  if (id === null) return {};
  return { payment: id === NEW_PAYMENT ? 'new' : id };
}

function rowsOf({ rows, event, payments = [], notifications: [outcome] = [] }: Decision) {
  const all = [rows ?? {}, event?.rows ?? {}];
  const [link] = payments.filter(({ provider }) => provider !== null);
  return {
    payments: all.flatMap((one) => one.payments ?? []),
    notifications: all.flatMap((one) => one.notifications ?? []).map(withoutId),
    stored: outcome && storedOutcome(outcome),
    link: link && {
      id: link.id,
      provider: link.provider,
      transId: link.provider_trans_id,
      reference: link.reference_key,
      matchMethod: link.match_method,
    },
    changes: all.flatMap(({ changes = [] }) => changes),
    answers: all.flatMap(({ idempotency_keys: keys = [] }) => keys),
    money: event && {
      event: event.event,
      actor: event.actor.name,
      valueDate: event.valueDate,
      contra: event.contra,
    },
  };
}

function withoutId({ id, ...row }: Insertable<Notifications>) {
  if (id !== NEW_NOTIFICATION) throw new Error('A new notification has the id that was taken for it.');
  return row;
}

function storedOutcome({ id, ...outcome }: StoredOutcome & { id: number }) {
  return { id, outcome };
}

function notificationFrom(known: Report): Notification {
  const { form = 'call', time = TIME, answersRequest = false, storedAs } = known;
  const readIn = (timeZone: string | null) => ({
    timeZone,
    transTime: timeZone === null ? new Date(time === 'not known' ? NOW : time) : NOW,
    contentHash: hashOf('equal', timeZone),
    flags: [...(known.parsedWith ?? []), ...(known.toAnotherBusiness ? ['other_short_code'] : [])],
  });
  const notification: Notification = {
    provider: PROVIDER,
    methodCode: methodCodeOf(known),
    isRefusable: known.isRefusable ?? false,
    source: FORMS[form],
    providerStatementId: form === 'statement line' ? 31 : null,
    paymentRequestId: answersRequest ? 21 : null,
    rawBody: JSON.stringify({ TransID: TRANSACTION, ...known.otherFields }),
    transId: TRANSACTION,
    amountMinor: minor(known.amount ?? 400),
    ...readIn(known.zone ?? null),
    providerSendsTime: known.withoutTimes !== true,
    ...(known.withoutTimes !== true && { readIn }),
    businessShortCode: known.toAnotherBusiness ? '999999' : '600638',
    billRef: textTyped(known.typed ?? 'the number of A'),
    payer: numberOfPayer(known.payer ?? 'a stranger'),
    payerName: 'JANE DOE',
    stored: null,
    bothAreReal: false,
    acceptedPaymentId: null,
  };
  if (!storedAs) return notification;
  const row = storedRow(notification, storedAs === 'pending' ? null : storedAs);
  const flags = [...row.flags, ...(known.storedFlags ?? [])];
  const read = notificationOf(
    { ...row, flags, ...(time === 'not known' && { trans_time: null }) },
    notification.methodCode,
  );
  return {
    ...read,
    ...(known.chosenPayment !== undefined && { acceptedPaymentId: known.chosenPayment }),
    ...(known.bothAreReal && { bothAreReal: true }),
  };
}

/** The hash contains the time, which depends on the zone in which it was read. */
function hashOf(fields: 'equal' | 'different', timeZone: string | null): Buffer {
  return Buffer.from(`${fields}${timeZone ?? ''}`);
}

function methodCodeOf({ method }: Report): string {
  return method === undefined ? 'mobile_money' : 'unknown';
}

function storedRow(notification: Notification, outcome: NotificationOutcome | null): NotificationRow {
  return {
    ...notificationColumns(notification),
    id: STORED_NOTIFICATION,
    amount_minor: Number(notification.amountMinor),
    trans_time: notification.transTime.toISOString(),
    received_at: '2026-10-31T22:30:00Z', // half past one of 1 November in Nairobi
    status: outcome === null ? 'pending' : 'processed',
    outcome,
    payment_id: null,
    conflict_payment_id: null,
    failure: null,
    attempts: 1,
    processed_at: null,
  };
}

function textTyped(typed: Typed): string | null {
  if (typed === 'nothing') return null;
  if (typed === 'words that name nobody') return 'MY PUMP';
  const [, what = '', account = ''] = /^the (number|national id|phone|id) of (A2?|B)/.exec(typed) ?? [];
  const { id, holder } = ACCOUNTS[account as AccountName];
  const number = formatAccountNumber(id);
  if (typed.endsWith('lower case')) return ` ${number.toLowerCase()}`;
  if (typed.endsWith('typing error')) return `${number.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`;
  return { number, id: String(id), 'national id': holder.nationalId, phone: holder.phone }[what] ?? null;
}

function numberOfPayer(payer: PayerWords): string | null {
  if (payer === 'nobody') return null;
  if (payer === 'a stranger') return '254799999999';
  const [, account = ''] = /of (A2?|B)$/.exec(payer) ?? [];
  const digits = ACCOUNTS[account as AccountName].holder.phone.slice(1);
  if (payer.startsWith('the hashed')) return phoneSha256(`+${digits}`).toString('hex');
  return payer.startsWith('the masked') ? `${digits.slice(0, 4)}****${digits.slice(-3)}` : digits;
}

/** The accounts A and B exist in every case, A2 only if the case names it. */
function existingAccounts({ accounts = {} }: Pick<Report, 'accounts'>) {
  const names = (['A', 'A2', 'B'] as const).filter((name) => name !== 'A2' || accounts.A2);
  return names.map((name) => {
    const { id, holder } = ACCOUNTS[name];
    return { id, holder, isOpen: STATUS_MODEL[accounts[name]?.status ?? 'active'].isOpen };
  });
}

/** Finds in the accounts of the case what the store finds in the database. */
function findCandidates(read: Interpretations, { learned, ...known }: Report): Candidate[] {
  const all = existingAccounts(known);
  const open = all.filter(({ isOpen }) => isOpen);
  const payers = open.filter(({ holder }) => read.payerSha256?.equals(phoneSha256(holder.phone)));
  const found = (
    method: 'national_id' | 'phone' | 'account_id' | 'payer_phone',
    of: typeof open,
  ): Candidate[] => of.map(({ id }) => ({ method, accountId: id, isOpen: true }));
  return [
    ...all
      .filter(({ id }) => id === read.accountId)
      .map(({ id, isOpen }): Candidate => ({ method: 'account_number', accountId: id, isOpen })),
    ...found(
      'national_id',
      open.filter(({ holder }) => nationalIdKey(holder.nationalId) === read.nationalIdKey),
    ),
    ...found(
      'phone',
      open.filter(({ holder }) => holder.phone === read.phone),
    ),
    ...found(
      'account_id',
      payers.filter(({ id }) => id === read.bareAccountId),
    ),
    ...found('payer_phone', payers),
    ...(learned && read.payerSha256 && read.typedKey
      ? [
          {
            method: 'learned' as const,
            accountId: ACCOUNTS[learned.on].id,
            isOpen: true as const,
            overruledAccountId: learned.insteadOf ? ACCOUNTS[learned.insteadOf].id : null,
            assignedOn: '2026-10-12' as PlainDate,
          },
        ]
      : []),
  ];
}

/** The customers whose accounts the worklist would suggest. */
function suggestedCustomers({ billRef }: Notification, candidates: Candidate[], known: Report): number[] {
  const { assignedBefore: before } = known;
  const related: RelatedAssignment[] = before
    ? [
        {
          accountId: ACCOUNTS[before.on].id,
          kind: before.what === 'another reference' ? 'learned_payer' : 'learned_reference',
          assignedOn: '2026-10-12' as PlainDate,
        },
      ]
    : [];
  const ids = suggestedAccountIds(candidates, related, billRef);
  return existingAccounts(known).flatMap(({ id, isOpen, holder }) =>
    isOpen && ids.includes(id) ? [holder.id] : [],
  );
}

function manualFrom({ by = 'an agent', on = 'A', method = 'cash', ...known }: Recording): ManualPayment {
  return {
    actor: actorFrom(by),
    accountId: on === 'an unknown account' ? 404 : ACCOUNTS[on].id,
    amountMinor: minor(known.amount ?? 400),
    paymentMethodId: METHOD_IDS[method],
    transactionRef: known.reference === undefined ? TRANSACTION : known.reference,
    paymentDate: (known.day ?? '2026-11-01') as PlainDate,
    bothAreReal: known.bothAreReal ?? false,
    externalId: known.externalId ?? null,
    metadata: known.metadata ?? {},
    ...(known.asksForChecks && { confirmation: null }),
  };
}

function actorFrom(by: Recorder): Actor {
  const { role, permissions } = RECORDERS[by];
  if (permissions) {
    const apiKey = { id: 11, permissions };
    return { userId: null, name: by, role: 'api_key', employeeId: null, requestId: 'request-1', apiKey };
  }
  return role ? { userId: 5, name: by, role, employeeId: null, requestId: 'request-1' } : SYSTEM;
}

function keepFrom({ idempotencyKey }: Recording) {
  if (!idempotencyKey) return undefined;
  const key: IdempotencyKey = {
    caller: 'user 5',
    path: '/api/payments',
    key: 'receipt 1',
    bodyHash: Buffer.from('body'),
  };
  return { key, status: 201, answerOf: ({ id }: { id: number }) => ({ id }) };
}

function knownPayments(words: PaymentWords[]): Pick<PostingReads['known'], 'payments' | 'similar'> {
  return {
    payments: words.filter(({ isSimilar }) => !isSimilar).map(knownPayment),
    similar: words.filter(({ isSimilar }) => isSimilar).map(knownPayment),
  };
}

function knownPayment(words: PaymentWords): KnownPayment {
  const { kind = 'manual', on = 'A', amount = 400, method = 'mobile money', recordedBy = 'an agent' } = words;
  const { role, permissions } = RECORDERS[recordedBy];
  const hasTransaction = kind !== 'manual';
  const provider = words.ofOtherProvider ? OTHER_PROVIDER : PROVIDER;
  return {
    id: words.id ?? 7,
    account_id: on === null ? null : ACCOUNTS[on].id,
    customer_id: on === null ? null : ACCOUNTS[on].holder.id,
    amount_minor: Number(minor(amount)),
    payment_method_id: METHOD_IDS[method],
    transaction_ref: words.isSimilar ? SIMILAR_REFERENCE : TRANSACTION,
    reference_key: words.isSimilar ? SIMILAR_REFERENCE : TRANSACTION,
    payment_date: words.day ? (words.day as PlainDate) : TODAY,
    status: words.isReversed ? 'reversed' : on === null ? 'unmatched' : 'matched',
    source: kind === 'reported' ? FORMS[words.form ?? 'call'] : 'manual',
    match_method: words.assignedByStaff ? 'assigned' : null,
    match_reason: null,
    provider: hasTransaction ? provider : null,
    provider_trans_id: hasTransaction ? (words.transactionId ?? TRANSACTION) : null,
    external_id: null,
    metadata: {},
    reversed_at: words.isReversed ? NOW.toISOString() : null,
    reversal_reason: words.isReversed ? 'for the test' : null,
    reconciliation_id: null,
    reconciliation_date: null,
    import_id: null,
    corrects_payment_id: null,
    created_by: null,
    api_key_id: null,
    created_at: NOW.toISOString(),
    updated_at: words.isTouched ? LATER : NOW.toISOString(),
    recorder_role: role,
    key_permissions: permissions && [...permissions],
    awaits_approval: false,
  };
}

function knownNotification(words: EarlierWords): KnownNotification {
  const { was, fields = 'different', form = 'call' } = words;
  const isProcessed = was !== 'pending' && was !== 'rejected';
  return {
    id: words.id ?? 10,
    provider: words.ofOtherProvider ? OTHER_PROVIDER : PROVIDER,
    source: FORMS[form] satisfies PaymentSource,
    trans_id: TRANSACTION,
    status: isProcessed ? 'processed' : was,
    outcome: isProcessed ? was : null,
    content_hash: was === 'rejected' ? null : hashOf(fields, words.zone ?? null),
    amount_minor: Number(minor(words.amount ?? 400)),
    payment_id: words.payment ?? null,
    conflict_payment_id: words.conflictsWith ?? null,
    payment_request_id: words.answersRequest ? 21 : null,
    trans_time: words.time ?? (fields === 'equal' ? TIME : '2026-11-02T07:14:30Z'),
    business_short_code: words.toAnotherBusiness ? '999999' : '600638',
    bill_ref: textTyped(words.typed ?? 'the number of A'),
    payer: numberOfPayer(words.payer ?? 'a stranger'),
    flags: words.parsedWith ?? [],
    time_zone: words.zone ?? null,
  };
}

function paymentMethods(): PostingReads['methods'] {
  const columns = { import_id: null, created_at: NOW.toISOString(), updated_at: NOW.toISOString() };
  return [
    { ...columns, id: 1, code: 'mobile_money', name: 'Mobile money', active: true, cash: false },
    { ...columns, id: 2, code: 'cash', name: 'Cash', active: true, cash: true },
    { ...columns, id: 3, code: 'cowries', name: 'Cowries', active: false, cash: false },
  ];
}

function accountRow(name: AccountName, accounts: AccountsWords): AccountRow {
  const { status = 'active', paid = 0, writtenOff = 0 } = accounts[name] ?? {};
  const { id, holder } = ACCOUNTS[name];
  const [total, paidMinor] = [minor(1_000), minor(paid)];
  const { ends } = STATUS_MODEL[status];
  const owed = ends === 'undone' ? 0n : total;
  return {
    id,
    customer_id: holder.id,
    product_id: 1,
    payplan_id: 1,
    employee_id: null,
    activation_date: '2026-10-05' as PlainDate,
    status,
    status_reason: null,
    deposit_minor: 10_000,
    instalment_minor: 10_000,
    instalment_count: 9,
    frequency: 'weekly',
    grace_days: 7,
    ...runColumns({}),
    run_from: null,
    run_before_minor: null,
    total_minor: Number(total),
    paid_minor: Number(paidMinor),
    receivable_minor: ends === null && owed > paidMinor ? Number(owed - paidMinor) : 0,
    credit_minor: paidMinor > owed ? Number(paidMinor - owed) : 0,
    written_off_minor: Number(minor(writtenOff)),
    paid_month: null,
    paid_month_minor: 0,
    written_off_on: null,
    reprieved_on: null,
    next_due_date: null,
    external_id: null,
    metadata: {},
    plan_version: 0,
    original_due_date: null,
    restructured_kind: null,
    restructured_on: null,
    event_count: 1,
    import_id: null,
    created_at: NOW.toISOString(),
    updated_at: NOW.toISOString(),
  };
}

function accountNameOf(id: number | null): AccountName | undefined {
  return id === null ? undefined : nameOf(id);
}

function nameOf(id: number): AccountName {
  for (const name of ['A', 'A2', 'B'] as const) if (ACCOUNTS[name].id === id) return name;
  throw new Error(`There is no account ${id} in the tests of decisions.`);
}

function optionalMinor(shillings: number | undefined): Minor | undefined {
  return shillings === undefined ? undefined : minor(shillings);
}

function minor(shillings: number): Minor {
  const amount = minorFromNumber(shillings, SETTINGS.currency.decimals);
  if (amount === undefined) throw new Error(`${shillings} is not an amount.`);
  return amount;
}
