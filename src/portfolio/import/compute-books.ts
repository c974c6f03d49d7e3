import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { termsOfRuns } from '../../accounts/schedule/rules.ts';
import { findRunsOfPlan, shapeOf } from '../../catalogue/pay-plans/rules.ts';
import type { CopyIn } from '../../core/database/copy-in.ts';
import type { Tx } from '../../core/database/db.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import type { FileName } from '../format-rules.ts';
import { computeAccountBooks, type HistoryItem, type ImportedAccount } from './account-books-rules.ts';
import type { Findings } from './findings-rules.ts';
import { COPY_RESULTS, resultsAsText } from './live-rows-store.ts';
import {
  type AccountTermsRow,
  fetchAccounts,
  fetchHistory,
  type HistoryRow,
  openHistory,
} from './staging-store.ts';

/** The number of history items in a batch. A larger batch would block other requests of the process for too long. */
const BATCH = 2_000;
const FLUSHED_CHARACTERS = 1024 * 1024;

interface BooksOptions {
  /** The number of history items, for the progress. */
  items: number;
  /** False for a check, which writes no rows. */
  writesRows: boolean;
  /** The ids of payment methods, by code. */
  methods: ReadonlyMap<string, number>;
  findings: Findings;
  today: PlainDate;
  decimals: number;
  report(share: number): Promise<void>;
}

/** Computes the books of all accounts in batches. If `writesRows` is true, copies the books into temporary tables. */
export async function computeBooks(tx: Tx, copyIn: CopyIn, options: BooksOptions): Promise<void> {
  const { writesRows, items, report } = options;
  const results = { books: '', statuses: '', entries: '' };
  const flush = async () => {
    for (const name of ['books', 'statuses', 'entries'] as const) {
      if (results[name] !== '') await copy(copyIn(COPY_RESULTS[name]), results[name]);
      results[name] = '';
    }
  };
  await openHistory(tx);
  let left: HistoryRow[] = [];
  let done = 0;
  for (;;) {
    const fetched = await fetchHistory(tx, BATCH);
    done += fetched.length;
    const rows = [...left, ...fetched];
    const isEnd = fetched.length < BATCH;
    // The history of the last account can continue in the next batch.
    const last = rows.at(-1)?.account;
    const end = isEnd ? rows.length : rows.findIndex(({ account }) => account === last);
    left = rows.slice(end);
    for (const [position, computed] of await computeBatch(tx, rows.slice(0, end), options)) {
      if (!writesRows) continue;
      const texts = resultsAsText(position, computed);
      for (const name of ['books', 'statuses', 'entries'] as const) results[name] += texts[name];
    }
    if (results.entries.length > FLUSHED_CHARACTERS) await flush();
    await report(done / Math.max(items, 1));
    if (isEnd) break;
  }
  await flush();
}

async function copy(stream: Writable, text: string): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
  stream.end();
  await finished(stream, { readable: false });
}

async function computeBatch(tx: Tx, rows: readonly HistoryRow[], options: BooksOptions) {
  const { findings, decimals } = options;
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) return [];
  const accounts = new Map(
    (await fetchAccounts(tx, first.account, last.account)).map((row) => [row.position, row]),
  );
  return [...groupByAccount(rows)].flatMap(([position, history]) => {
    const row = accounts.get(position);
    const account = row && accountOf(row, history[0], options);
    if (!account) return []; // A cell that the books need is missing. The check has already reported it.
    const items = history.map((item) => itemOf(item, account.openedOn, options));
    const computed = computeAccountBooks(account, items, decimals);
    for (const problem of computed.problems) findings.addProblem({ severity: 'error', ...problem });
    if (findings.counts.errors === 0) {
      for (const difference of computed.differences)
        findings.addDifference({ line: account.line, account: account.externalId, ...difference });
    }
    return [[position, computed] as const];
  });
}

function groupByAccount(rows: readonly HistoryRow[]): Map<number, HistoryRow[]> {
  const groups = new Map<number, HistoryRow[]>();
  for (const row of rows) {
    const group = groups.get(row.account);
    if (group) group.push(row);
    else groups.set(row.account, [row]);
  }
  return groups;
}

function accountOf(
  row: AccountTermsRow,
  opening: HistoryRow | undefined,
  { today }: BooksOptions,
): ImportedAccount | undefined {
  const { activation_date, deposit, instalment, instalment_count, frequency, grace_days, external_id } = row;
  if (opening?.kind !== 'open' || opening.day === null || external_id === null) return undefined;
  if (activation_date === null || deposit === null || instalment === null) return undefined;
  if (instalment_count === null || frequency === null || grace_days === null) return undefined;
  const planTerms = { deposit_minor: deposit, instalment_minor: instalment, instalment_count, frequency };
  const equal = {
    depositMinor: BigInt(deposit),
    instalmentMinor: BigInt(instalment),
    instalmentCount: instalment_count,
    frequency,
    graceDays: grace_days,
    activationDate: activation_date,
  };
  const runs =
    row.schedule?.map(({ amount, ...run }) => ({ ...run, amountMinor: BigInt(amount) })) ??
    (row.shape && findRunsOfPlan(shapeOf({ ...row.shape, ...planTerms }), activation_date));
  if (row.shape && !runs) return undefined; // A check of the pay plans reports it.
  const minor = (amount: number | null) => (amount === null ? null : BigInt(amount));
  return {
    id: row.id ?? row.position,
    line: row.line,
    externalId: external_id,
    terms: runs ? termsOfRuns(equal, runs) : equal,
    openedOn: opening.day,
    hasChangedTerms: row.plan_changed_on !== null,
    status: row.status,
    statusSince: row.status_since,
    source: {
      asOf: row.source_as_of ?? today,
      paymentCount: row.source_payment_count,
      paidMinor: minor(row.source_paid),
      balanceMinor: minor(row.source_balance),
      arrearsMinor: minor(row.source_arrears),
      paidUntil: row.source_paid_until,
    },
  };
}

const FILE_OF: Readonly<Record<HistoryItem['kind'], FileName>> = {
  open: 'accounts',
  receive: 'payments',
  assign: 'payments',
  unassign: 'payments',
  reverse: 'payments',
  change: 'account_changes',
  transfer: 'credit_moves',
  refund: 'credit_moves',
};

function itemOf(row: HistoryRow, openedOn: PlainDate, { methods }: BooksOptions): HistoryItem {
  const { kind } = row;
  const isMove = kind === 'transfer' || kind === 'refund';
  return {
    kind,
    isReceiver: row.is_receiver,
    file: FILE_OF[kind],
    line: row.line,
    day: row.day ?? openedOn,
    amountMinor: BigInt(row.amount ?? 0),
    eventId: row.event_id,
    paymentId: isMove ? null : row.row_id,
    creditMoveId: isMove ? row.row_id : null,
    paymentMethodId: methods.get(row.method ?? '') ?? 0,
    status: row.status,
    reason: row.reason,
    cause: row.cause,
    moment: row.moment,
  };
}
