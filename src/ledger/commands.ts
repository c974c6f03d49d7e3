import type { Tx } from '../core/database/db.ts';
import { AppError } from '../core/http/errors.ts';
import type { PlainDate } from '../core/values/dates.ts';
import {
  type AccountBooks,
  type AccountRow,
  applyMovement,
  booksOf,
  type LedgerLine,
  type NewBooks,
  type Posting,
  type PostingRows,
  paidMonthAfter,
} from './rules.ts';
import { type NewEntry, writePostings } from './store.ts';

// The way of a payment (drawn in README.md):
//   payments/routes.ts reads the request; for a provider, payments/notifications/ and its file in payments/providers/ do.
//   payments/receipts/commands.ts takes the receipts of many requests into one batch, one transaction:
//   1 claim   receipts/store.ts     references and keys, and what is known of them; with it
//   2 lock    ledger/store.ts       the accounts; what others hold leaves the batch
//   3 decide  receipts/rules.ts     what each receipt leads to
//   4 write   accounts/commands.ts  `postAll` folds the movements (ledger/rules.ts) and writes payments, entries, books,
//             notifications, audit rows and kept answers by one statement (ledger/store.ts); changes of status, links and
//             decisions about stored notifications follow. The answer of payments/view.ts is sent after the commit.

export interface Posted {
  /** For each posting why its account refuses it; undefined where it was posted. */
  refusals: (AppError | undefined)[];
  /** The accounts that postings have changed, as they are now. */
  accounts: Map<number, AccountRow>;
}

/**
 * Posts money events in their order: folds those of each account, then writes everything by one statement. A posting
 * that its account refuses leaves no trace and does not touch the others.
 *
 * @param accounts all that the postings name, locked by the transaction.
 * @param further rows that belong to none of the postings.
 */
export async function postAll(
  tx: Tx,
  accounts: ReadonlyMap<number, AccountRow>,
  postings: readonly Posting[],
  further: PostingRows = {},
): Promise<Posted> {
  const books = new Map<number, NewBooks>();
  const entries: NewEntry[] = [];
  const written: PostingRows[] = [further];
  const refusals = postings.map((posting, at) => {
    const folded = fold(accounts, books, posting, at + 1);
    if (folded instanceof AppError) return folded;
    for (const account of folded.books) books.set(account.id, account);
    entries.push(...folded.entries);
    if (posting.rows) written.push(posting.rows);
    return undefined;
  });
  const rows = {
    payments: written.flatMap(({ payments = [] }) => payments),
    notifications: written.flatMap(({ notifications = [] }) => notifications),
    audit_entries: written.flatMap(({ audit_entries = [] }) => audit_entries),
    idempotency_keys: written.flatMap(({ idempotency_keys = [] }) => idempotency_keys),
  };
  const followed = await writePostings(tx, {
    count: postings.length,
    entries,
    books: [...books.values()],
    rows,
  });
  const changed = new Map<number, AccountRow>();
  for (const account of followed) {
    const [before, after] = [accounts.get(account.id), books.get(account.id)];
    if (before && after) changed.set(account.id, { ...before, ...after, ...account });
  }
  return { refusals, accounts: changed };
}

/** Posts one money event. @throws AppError where its account refuses it. */
export async function post(
  tx: Tx,
  accounts: ReadonlyMap<number, AccountRow>,
  posting: Posting,
): Promise<Map<number, AccountRow>> {
  const { refusals, accounts: changed } = await postAll(tx, accounts, [posting]);
  if (refusals[0]) throw refusals[0];
  return changed;
}

/** What a posting makes of the accounts as earlier postings have left them; or why it is refused. */
function fold(
  accounts: ReadonlyMap<number, AccountRow>,
  books: ReadonlyMap<number, NewBooks>,
  { event, valueDate, paymentId, creditMoveId, movements, contra }: Posting,
  posting: number,
): { books: NewBooks[]; entries: NewEntry[] } | AppError {
  const after: NewBooks[] = [];
  const entries: NewEntry[] = [];
  const add = (lines: readonly LedgerLine[], accountId: number | null) => {
    for (const line of lines) {
      if (line.amountMinor === 0n) continue;
      entries.push({
        posting,
        event,
        account_id: accountId,
        payment_id: paymentId ?? null,
        credit_move_id: creditMoveId ?? null,
        value_date: valueDate,
        ledger_account: line.ledgerAccount,
        amount_minor: Number(line.amountMinor),
        payment_method_id: line.paymentMethodId ?? null,
      });
    }
  };
  add(contra, movements[0]?.accountId ?? null);
  for (const { accountId, movement } of movements) {
    const account = accounts.get(accountId);
    if (!account) throw new Error(`Account ${accountId} is not locked.`);
    const before = books.get(accountId) ?? account;
    try {
      const booking = applyMovement(booksOf({ ...account, ...before }), movement);
      add(booking.lines, accountId);
      after.push(newBooksOf(before, booking.after, valueDate));
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }
  return { books: after, entries };
}

function newBooksOf(
  before: NewBooks,
  after: Omit<AccountBooks, 'status' | 'totalMinor'>,
  valueDate: PlainDate,
): NewBooks {
  const month = paidMonthAfter(
    { month: before.paid_month, minor: BigInt(before.paid_month_minor) },
    valueDate,
    after.paidMinor - BigInt(before.paid_minor),
  );
  return {
    id: before.id,
    paid_minor: Number(after.paidMinor),
    receivable_minor: Number(after.receivableMinor),
    credit_minor: Number(after.creditMinor),
    written_off_minor: Number(after.writtenOffMinor),
    paid_month: month.month,
    paid_month_minor: Number(month.minor),
  };
}
