import { balanceOf } from '../../accounts/ledger/money-on-account-rules.ts';
import {
  type BooksRow,
  type MoneyEvent,
  type NewEntry,
  openBooks,
  postEvent,
} from '../../accounts/ledger/rules.ts';
import { type Position, position, type Terms, totalOf } from '../../accounts/schedule/rules.ts';
import {
  dueRuleOf,
  isStatusIn,
  isToComplete,
  moneyEventOfMove,
  statusOn,
} from '../../accounts/status/rules.ts';
import { SYSTEM } from '../../core/context.ts';
import type { AccountStatus, StatusCause } from '../../core/database/tables.ts';
import { compareDates, later, type PlainDate } from '../../core/values/dates.ts';
import { type Minor, minorToText } from '../../core/values/money.ts';
import {
  assignedEvent,
  receivedEvent,
  reversedEvent,
  unassignedEvent,
} from '../../payments/money-event-rules.ts';
import type { FileName } from '../format-rules.ts';

// Computes the books of an imported account from its history. The same rules apply to all other accounts.

/** The figures of an account in the source system. */
export interface SourceFigures {
  asOf: PlainDate;
  paymentCount: number | null;
  paidMinor: Minor | null;
  balanceMinor: Minor | null;
  arrearsMinor: Minor | null;
  paidUntil: PlainDate | null;
}

export interface ImportedAccount {
  /** The id of the account, or its position in the file if it has no id yet. */
  id: number;
  line: number;
  externalId: string;
  terms: Terms;
  openedOn: PlainDate;
  /** Whether its terms were changed since its sale. Its earlier prices are unknown, so it can have had more credit than by its present price. */
  hasChangedTerms: boolean;
  /** The status in accounts.csv. */
  status: AccountStatus | null;
  statusSince: PlainDate | null;
  source: SourceFigures;
}

export interface HistoryItem {
  kind: 'open' | 'receive' | 'assign' | 'unassign' | 'reverse' | 'change' | 'transfer' | 'refund';
  /** Whether the account receives the credit of a transfer. False for all other kinds. */
  isReceiver: boolean;
  file: FileName;
  /** Null for an item that the import derives from a column of accounts.csv. */
  line: number | null;
  /** The business day of the item. */
  day: PlainDate;
  amountMinor: Minor;
  eventId: number;
  paymentId: number | null;
  creditMoveId: number | null;
  paymentMethodId: number;
  /** Only for a change of status. */
  status: AccountStatus | null;
  reason: string | null;
  cause: StatusCause | null;
  /** When the item happened, ISO 8601. */
  moment: string;
}

export interface ComputedChange {
  from: AccountStatus | null;
  to: AccountStatus;
  reason: string | null;
  cause: StatusCause | null;
  day: PlainDate;
  moment: string;
}

export interface BooksProblem {
  file: FileName;
  line: number | null;
  column: string | null;
  value: string | null;
  problem: string;
  allowed: string;
}

export interface ComputedAccount {
  terms: Terms;
  books: BooksRow;
  changes: ComputedChange[];
  statusReason: string | null;
  writtenOffOn: PlainDate | null;
  entries: (Omit<NewEntry, 'position'> & Pick<HistoryItem, 'eventId' | 'moment'>)[];
  problems: BooksProblem[];
  differences: { figure: string; source: string; computed: string }[];
}

/** @param history - the items in the order of their moments. The first item is the opening. */
export function computeAccountBooks(
  account: ImportedAccount,
  history: readonly HistoryItem[],
  decimals: number,
): ComputedAccount {
  const { id, terms, openedOn, hasChangedTerms } = account;
  const total = totalOf(terms);
  const problems: BooksProblem[] = [];
  const entries: ComputedAccount['entries'] = [];
  const initial = statusOn('pending', terms.activationDate, openedOn);
  const openedAt = history[0]?.moment ?? '';
  const changes: ComputedChange[] = [
    { from: null, to: initial, reason: null, cause: null, day: openedOn, moment: openedAt },
  ];
  let writtenOffOn: PlainDate | null = null;
  let books: BooksRow = {
    id,
    status: initial,
    total_minor: Number(total),
    paid_minor: 0,
    receivable_minor: 0,
    credit_minor: 0,
    written_off_minor: 0,
    paid_month: null,
    paid_month_minor: 0,
  };
  let paid: Minor = 0n;
  let events: MoneyEvent[] = [];
  let items: HistoryItem[] = [];

  function post(): void {
    if (events.length === 0) return;
    const running = openBooks(new Map([[id, books]]));
    const refusals = events.map((one) => postEvent(running, one));
    for (const { position: at, ...entry } of running.entries) {
      const { eventId = 0, moment = '' } = items[at - 1] ?? {};
      entries.push({ ...entry, eventId, moment });
    }
    for (const [at, refusal] of refusals.entries()) {
      const item = items[at];
      if (refusal && item)
        problems.push({ ...refusedItem(item, refusal.message, decimals), ...accountPlace(item, account) });
    }
    books = { ...books, ...running.changed.get(id) };
    events = [];
    items = [];
  }

  function change(to: AccountStatus, item: Omit<ComputedChange, 'from' | 'to'>): void {
    changes.push({ from: books.status, to, ...item });
    books = { ...books, status: to };
  }

  for (const item of history) {
    const creditOut = hasChangedTerms && item.amountMinor <= paid ? 'money_out' : 'credit_out';
    const event = moneyEventFor(item, id, { status: books.status, creditOut });
    paid += paidDelta(item);
    if (event) {
      events.push(event);
      items.push(item);
    }
    const { kind, status: to, reason, cause, day, moment } = item;
    if (kind !== 'change' || to === null) continue;
    post();
    if (to === books.status) {
      problems.push({
        ...placeOf(item, 'status', to),
        ...accountPlace(item, account),
        problem: 'is already the status of the account at this moment',
        allowed: 'another status',
      });
      continue;
    }
    if (event?.event === 'account_written_off') writtenOffOn = day;
    change(to, { reason, cause, day, moment });
  }
  post();
  const given = books.status;
  if (isToComplete(given, BigInt(books.paid_minor), total)) {
    const last = history.at(-1);
    change('completed', {
      reason: 'paid in full',
      cause: null,
      day: later(fullyPaidOn(history, total), changes.at(-1)?.day ?? openedOn),
      moment: last?.moment ?? openedAt,
    });
  }
  const hasChanges = history.some(({ kind, line }) => kind === 'change' && line !== null);
  const problem = statusProblem(account, { given, final: books, hasChanges, decimals });
  if (problem) problems.push(problem);
  return {
    terms,
    books,
    changes,
    statusReason: changes.at(-1)?.reason ?? null,
    writtenOffOn,
    entries,
    problems,
    differences: compare(account, history, books, decimals),
  };
}

/**
 * The money event of an item. Undefined for a change of status that posts nothing. For example, a change from completed back to
 * written_off posts nothing, because the loss was posted before.
 */
function moneyEventFor(
  item: HistoryItem,
  accountId: number,
  { status, creditOut }: { status: AccountStatus; creditOut: 'money_out' | 'credit_out' },
): MoneyEvent | undefined {
  const { kind, day: valueDate, amountMinor, eventId, paymentMethodId, isReceiver } = item;
  const payment = {
    id: item.paymentId ?? eventId,
    account_id: accountId,
    amount_minor: Number(amountMinor),
    payment_date: valueDate,
    payment_method_id: paymentMethodId,
  };
  const base = { actor: SYSTEM, valueDate, contra: [] };
  const move = { ...base, ...(item.creditMoveId !== null && { creditMoveId: item.creditMoveId }) };
  switch (kind) {
    case 'open':
      return { ...base, event: 'account_opened', movements: [{ accountId, movement: { kind: 'open' } }] };
    case 'receive':
      return receivedEvent(payment, SYSTEM);
    case 'assign':
      return assignedEvent(payment, SYSTEM);
    case 'unassign':
      return unassignedEvent(payment, SYSTEM);
    case 'reverse':
      return reversedEvent(payment, SYSTEM);
    case 'transfer': {
      const movement = { kind: isReceiver ? ('money_in' as const) : creditOut, amountMinor };
      return { ...move, event: 'credit_transferred', movements: [{ accountId, movement }] };
    }
    case 'refund':
      return {
        ...move,
        event: 'credit_refunded',
        movements: [{ accountId, movement: { kind: creditOut, amountMinor } }],
        contra: [{ ledgerAccount: 'clearing', amountMinor: -amountMinor, paymentMethodId }],
      };
    case 'change': {
      const event = item.status === null ? undefined : moneyEventOfMove(status, item.status);
      if (!event || item.status === status) return undefined;
      const movement = { kind: event === 'account_cancelled' ? ('cancel' as const) : ('write_off' as const) };
      return { ...base, event, movements: [{ accountId, movement }] };
    }
  }
}

/** The amount by which an item changes the sum paid. */
function paidDelta({ kind, amountMinor, isReceiver }: HistoryItem): Minor {
  switch (kind) {
    case 'receive':
    case 'assign':
      return amountMinor;
    case 'unassign':
    case 'reverse':
    case 'refund':
      return -amountMinor;
    case 'transfer':
      return isReceiver ? amountMinor : -amountMinor;
    default:
      return 0n;
  }
}

/** The day of the item that last made the account paid in full. */
function fullyPaidOn(history: readonly HistoryItem[], total: Minor): PlainDate {
  let paid: Minor = 0n;
  let day = history[0]?.day;
  for (const item of history) {
    const wasFull = paid >= total;
    paid += paidDelta(item);
    if (!wasFull && paid >= total) day = item.day;
  }
  if (day === undefined) throw new Error('The history of the account is empty; its opening is missing.');
  return day;
}

function placeOf({ file, line }: HistoryItem, column: string, value: string | null) {
  return { file, line, column, value };
}

/** The place in accounts.csv from which the import derives an item. Empty for an item that has its own line. */
function accountPlace({ kind, line: own }: HistoryItem, { line }: ImportedAccount): Partial<BooksProblem> {
  if (own !== null) return {};
  return { file: 'accounts', line, column: kind === 'receive' ? 'opening_paid' : 'status' };
}

function refusedItem(item: HistoryItem, message: string, decimals: number): BooksProblem {
  if (item.kind === 'change') {
    return {
      ...placeOf(item, 'status', item.status),
      problem: 'is not possible: the account owes nothing at this moment',
      allowed: 'written_off only if the account has a debt',
    };
  }
  const isCredit = item.kind === 'refund' || (item.kind === 'transfer' && !item.isReceiver);
  return {
    ...placeOf(item, 'amount', minorToText(item.amountMinor, decimals)),
    problem: isCredit ? 'is more than the credit that the account has at this moment' : message,
    allowed: isCredit ? 'at most the credit of the account' : 'a smaller amount',
  };
}

interface StatusFacts {
  /** The last status of the history, before the import completes an account that is paid in full. */
  given: AccountStatus;
  final: BooksRow;
  /** Whether account_changes.csv has rows of the account. */
  hasChanges: boolean;
  decimals: number;
}

function statusProblem(
  { line, status, statusSince, externalId }: ImportedAccount,
  { given, final, hasChanges, decimals }: StatusFacts,
): BooksProblem | undefined {
  const place = { file: 'accounts' as const, line, column: 'status', value: status };
  const paid = minorToText(BigInt(final.paid_minor), decimals);
  const total = minorToText(BigInt(final.total_minor), decimals);
  const notPaid = (account: string) => ({
    ...place,
    value: 'completed',
    problem: `is not possible${account}: ${paid} of ${total} is paid`,
    allowed: 'completed only for an account that is paid in full',
  });
  if (isStatusIn(final.status, 'paidInFull') && final.paid_minor < Number(final.total_minor))
    return notPaid(` for account ${externalId}`);
  if (status === null || status === final.status || status === given) return undefined;
  if (isStatusIn(status, 'paidInFull')) return notPaid('');
  if (hasChanges) {
    return {
      ...place,
      problem: `differs from the last status in account_changes.csv (${given})`,
      allowed: `${given}, or an empty cell`,
    };
  }
  return statusSince === null
    ? { ...place, problem: 'needs the day of the change', allowed: 'a date in status_since' }
    : undefined;
}

function compare(
  account: ImportedAccount,
  history: readonly HistoryItem[],
  { status, total_minor: total }: BooksRow,
  decimals: number,
): ComputedAccount['differences'] {
  const { source, terms } = account;
  let paidMinor: Minor = 0n;
  let paymentCount = 0;
  for (const item of history) {
    if (compareDates(item.day, source.asOf) > 0) continue;
    paidMinor += paidDelta(item);
    if (item.kind === 'receive' || item.kind === 'assign') paymentCount += 1;
    if (item.kind === 'unassign' || item.kind === 'reverse') paymentCount -= 1;
  }
  const at: Position = position(terms, {
    paidMinor,
    today: source.asOf,
    ...dueRuleOf(status),
  });
  const textOf = (value: Minor | number | string) =>
    typeof value === 'bigint' ? minorToText(value, decimals) : String(value);
  const figures = [
    ['payment_count', source.paymentCount, paymentCount],
    ['paid', source.paidMinor, paidMinor],
    ['balance', source.balanceMinor, balanceOf({ status, totalMinor: BigInt(total), paidMinor })],
    ['arrears', source.arrearsMinor, at.arrearsMinor],
    ['paid_until', source.paidUntil, at.paidUntil ?? 'none'],
    ['status', account.status, status],
  ] as const;
  return figures.flatMap(([figure, given, computed]) =>
    given === null || given === computed
      ? []
      : [{ figure, source: textOf(given), computed: textOf(computed) }],
  );
}
