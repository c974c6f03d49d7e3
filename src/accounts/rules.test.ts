import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlainDate } from '../core/dates.ts';
import { AppError } from '../core/errors.ts';
import type { LedgerLine } from '../core/ledger.ts';
import { LARGEST_EXACT_MINOR } from '../core/money.ts';
import type { AccountStatus } from '../core/tables.ts';
import {
  type AccountBooks,
  type Booking,
  balanceOf,
  bookCancellation,
  bookCreditOut,
  bookMoneyIn,
  bookMoneyOut,
  bookWriteOff,
  checkMove,
  isToComplete,
  type PaidMonth,
  paidMonthAfter,
} from './rules.ts';
import { ACCOUNT_STATUSES } from './schema.ts';

/** The moves that staff may make, written out once more: the rules are held against this. */
const LEGAL: Record<AccountStatus, AccountStatus[]> = {
  pending: ['active', 'suspended', 'cancelled'],
  active: ['suspended', 'defaulted', 'cancelled'],
  suspended: ['active', 'defaulted', 'repossessed', 'written_off', 'cancelled'],
  defaulted: ['active', 'repossessed', 'written_off'],
  repossessed: ['active', 'written_off'],
  completed: [],
  written_off: [],
  cancelled: [],
};
const NEED_REASON: AccountStatus[] = ['defaulted', 'repossessed', 'written_off', 'cancelled'];
const pairs = ACCOUNT_STATUSES.flatMap((from) => ACCOUNT_STATUSES.map((to) => ({ from, to })));

function refusal(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

describe('checkMove', () => {
  it.each(pairs.filter(({ from, to }) => LEGAL[from].includes(to)))(
    'lets an account go from $from to $to',
    (move) => {
      expect(() => checkMove(move.from, move.to, 'a reason')).not.toThrow();
    },
  );

  it.each(pairs.filter(({ from, to }) => !LEGAL[from].includes(to)))(
    'refuses to let an account go from $from to $to, and says where it may go',
    ({ from, to }) => {
      const error = refusal(() => checkMove(from, to, 'a reason'));
      expect(error).toMatchObject({ code: 'VALIDATION_ERROR', details: { from, to, allowed: LEGAL[from] } });
    },
  );

  it.each(pairs.filter(({ from, to }) => LEGAL[from].includes(to)))(
    'asks for a reason from $from to $to only where the move is a loss',
    ({ from, to }) => {
      const move = () => checkMove(from, to, undefined);
      if (!NEED_REASON.includes(to)) return expect(move).not.toThrow();
      expect(refusal(move).details).toEqual({
        fields: [{ path: 'reason', message: `is required for ${to}` }],
      });
    },
  );
});

describe('isToComplete', () => {
  it.each(ACCOUNT_STATUSES)('says whether a fully paid account that is %s completes', (status) => {
    const completes = ['active', 'suspended', 'defaulted', 'written_off'].includes(status);
    expect(isToComplete(status, 100n, 100n)).toBe(completes);
    expect(isToComplete(status, 101n, 100n)).toBe(completes);
    expect(isToComplete(status, 99n, 100n)).toBe(false);
  });
});

const opened: AccountBooks = {
  status: 'active',
  totalMinor: 1000n,
  paidMinor: 0n,
  receivableMinor: 1000n,
  creditMinor: 0n,
  writtenOffMinor: 0n,
};

/** The lines that say something, as an object. */
function amounts(lines: LedgerLine[]): Record<string, bigint> {
  return Object.fromEntries(
    lines
      .filter(({ amountMinor }) => amountMinor !== 0n)
      .map(({ ledgerAccount, amountMinor }) => [ledgerAccount, amountMinor]),
  );
}

describe('the latest month that money counts for', () => {
  const october: PaidMonth = { month: '2026-10-01' as PlainDate, minor: 500n };

  it.each<[string, PaidMonth, string, bigint, PaidMonth]>([
    ['begins with the first money', { month: null, minor: 0n }, '2026-10-31', 7n, { ...october, minor: 7n }],
    ['adds up what counts for it', october, '2026-10-01', 20n, { ...october, minor: 520n }],
    ['loses what is taken back', october, '2026-10-15', -520n, { ...october, minor: -20n }],
    [
      'is left by money of a later one',
      october,
      '2026-11-01',
      9n,
      { month: '2026-11-01' as PlainDate, minor: 9n },
    ],
    ['stays when earlier money is recorded or taken back', october, '2026-09-30', -9n, october],
  ])('%s', (_, before, day, amountMinor, after) => {
    expect(paidMonthAfter(before, day as PlainDate, amountMinor)).toEqual(after);
  });
});

describe('the books of an account', () => {
  it('take money as a payment of what is owed, and what is beyond as credit', () => {
    const booking = bookMoneyIn(opened, 1200n);
    expect(amounts(booking.lines)).toEqual({ receivable: -1000n, customer_credit: -200n });
    expect(booking.after).toMatchObject({ paidMinor: 1200n, receivableMinor: 0n, creditMinor: 200n });
  });

  it('undo credit before they owe again', () => {
    const paid = { ...opened, ...bookMoneyIn(opened, 1200n).after };
    expect(amounts(bookMoneyOut(paid, 150n).lines)).toEqual({ customer_credit: 150n });
    expect(amounts(bookMoneyOut(paid, 300n).lines)).toEqual({ customer_credit: 200n, receivable: 100n });
  });

  it('turn all that was paid into credit when the sale is undone, and later money too', () => {
    const paid = { ...opened, ...bookMoneyIn(opened, 300n).after };
    const cancellation = bookCancellation(paid);
    expect(amounts(cancellation.lines)).toEqual({ sales: 1000n, receivable: -700n, customer_credit: -300n });
    const cancelled: AccountBooks = { ...paid, ...cancellation.after, status: 'cancelled' };
    expect(balanceOf(cancelled)).toBe(0n);
    expect(amounts(bookMoneyIn(cancelled, 50n).lines)).toEqual({ customer_credit: -50n });
  });

  it('recover what was written off, then credit; and undo the recovery before the loss grows', () => {
    const paid = { ...opened, ...bookMoneyIn(opened, 300n).after };
    const writeOff = bookWriteOff(paid);
    expect(amounts(writeOff.lines)).toEqual({ bad_debt: 700n, receivable: -700n });
    const lost: AccountBooks = { ...paid, ...writeOff.after, status: 'written_off' };
    expect(balanceOf(lost)).toBe(700n);
    const recovery = bookMoneyIn(lost, 900n);
    expect(amounts(recovery.lines)).toEqual({ recovery: -700n, customer_credit: -200n });
    const recovered: AccountBooks = { ...lost, ...recovery.after, status: 'completed' };
    expect(amounts(bookMoneyOut(recovered, 1100n).lines)).toEqual({
      customer_credit: 200n,
      recovery: 700n,
      bad_debt: 200n,
    });
  });

  it('write off nothing where nothing is owed', () => {
    const paid: AccountBooks = { ...opened, ...bookMoneyIn(opened, 1000n).after, status: 'repossessed' };
    expect(refusal(() => bookWriteOff(paid)).details).toMatchObject({ fields: [{ path: 'status' }] });
  });
});

describe('credit that leaves an account', () => {
  const paid: AccountBooks = { ...opened, ...bookMoneyIn(opened, 1200n).after, status: 'completed' };

  it('is at most what there is', () => {
    expect(amounts(bookCreditOut(paid, 200n).lines)).toEqual({ customer_credit: 200n });
    expect(refusal(() => bookCreditOut(paid, 201n)).details).toMatchObject({ fields: [{ path: 'amount' }] });
  });

  it('is owed once more when the payment that it came from is reversed', () => {
    const left = { ...paid, ...bookCreditOut(paid, 200n).after };
    const owing: AccountBooks = { ...left, ...bookMoneyOut(left, 1200n).after, status: 'active' };
    expect(owing).toMatchObject({ paidMinor: -200n, receivableMinor: 1200n, creditMinor: 0n });
    expect(balanceOf(owing)).toBe(1200n);
    const cancellation = bookCancellation(owing);
    expect(amounts(cancellation.lines)).toEqual({ sales: 1000n, receivable: -1000n });
    const cancelled: AccountBooks = { ...owing, ...cancellation.after, status: 'cancelled' };
    expect(balanceOf(cancelled)).toBe(200n);
    expect(amounts(bookMoneyIn(cancelled, 250n).lines)).toEqual({ receivable: -200n, customer_credit: -50n });
  });

  it('cannot leave a debt that no amount can express', () => {
    const deep = { ...opened, paidMinor: -LARGEST_EXACT_MINOR + 5n };
    expect(bookMoneyOut(deep, 5n).after.paidMinor).toBe(-LARGEST_EXACT_MINOR);
    expect(refusal(() => bookMoneyOut(deep, 6n)).code).toBe('VALIDATION_ERROR');
  });
});

/**
 * What may happen to an account: money comes (a payment, or credit of another account), one of its payments
 * is taken back, credit leaves it, or it is moved.
 */
type Happening =
  | { kind: 'credit-in'; amountMinor: bigint }
  | { kind: 'credit-out'; permille: bigint }
  | { kind: 'in'; amountMinor: bigint }
  | { kind: 'out'; which: number }
  | { kind: 'move'; to: AccountStatus };

const happeningArb: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ kind: fc.constant('in' as const), amountMinor: fc.bigInt({ min: 1n, max: 1500n }) }),
  fc.record({ kind: fc.constant('out' as const), which: fc.nat() }),
  fc.record({ kind: fc.constant('credit-in' as const), amountMinor: fc.bigInt({ min: 1n, max: 500n }) }),
  fc.record({ kind: fc.constant('credit-out' as const), permille: fc.bigInt({ min: 1n, max: 1000n }) }),
  fc.record({ kind: fc.constant('move' as const), to: fc.constantFrom(...ACCOUNT_STATUSES) }),
);

const startArb = fc.record({
  status: fc.constantFrom<AccountStatus>('pending', 'active'),
  totalMinor: fc.bigInt({ min: 1n, max: 3000n }),
  givenAwayMinor: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2000n })),
});

/** What leaves an account owing more than its total: by chance alone too few runs would look at one. */
function giveAway(totalMinor: bigint, givenAwayMinor: bigint): Happening[] {
  if (givenAwayMinor === 0n) return [];
  return [
    { kind: 'in', amountMinor: totalMinor + givenAwayMinor },
    { kind: 'move', to: 'active' },
    { kind: 'credit-out', permille: 1000n },
    { kind: 'out', which: 0 },
  ];
}

/** The account's ledger beside its books, kept from nothing but the lines of each booking. */
class Model {
  books: AccountBooks;
  payments: bigint[] = [];
  /** Below 0: off the account. */
  moves: bigint[] = [];
  sums: Record<string, bigint>;
  private beforeCompletion: AccountStatus = 'active';

  constructor({ status, totalMinor }: { status: AccountStatus; totalMinor: bigint }) {
    this.books = { ...opened, status, totalMinor, receivableMinor: totalMinor };
    this.sums = { receivable: totalMinor, sales: -totalMinor };
  }

  apply(happening: Happening): void {
    if (happening.kind === 'in') {
      this.payments.push(happening.amountMinor);
      this.book(bookMoneyIn(this.books, happening.amountMinor), happening.amountMinor);
    } else if (happening.kind === 'out') {
      const [amountMinor] = this.payments.splice(happening.which % Math.max(1, this.payments.length), 1);
      if (amountMinor !== undefined) this.book(bookMoneyOut(this.books, amountMinor), -amountMinor);
    } else if (happening.kind === 'credit-in') {
      this.moves.push(happening.amountMinor);
      this.book(bookMoneyIn(this.books, happening.amountMinor), happening.amountMinor);
    } else if (happening.kind === 'credit-out') {
      const amountMinor = (this.books.creditMinor * happening.permille + 999n) / 1000n;
      if (amountMinor > 0n) {
        this.moves.push(-amountMinor);
        this.book(bookCreditOut(this.books, amountMinor), -amountMinor);
      }
    } else {
      this.move(happening.to);
    }
    this.completeOrReopen();
  }

  /** @param contraMinor what stands on the other side: clearing, or another account's credit. */
  private book({ after, lines }: Booking, contraMinor: bigint): void {
    expect(lines.reduce((sum, { amountMinor }) => sum + amountMinor, contraMinor)).toBe(0n);
    for (const { ledgerAccount, amountMinor } of lines) {
      this.sums[ledgerAccount] = (this.sums[ledgerAccount] ?? 0n) + amountMinor;
    }
    this.books = { ...this.books, ...after };
  }

  private move(to: AccountStatus): void {
    if (!LEGAL[this.books.status].includes(to)) return;
    if (to === 'written_off' && this.books.receivableMinor === 0n) return;
    if (to === 'cancelled') this.book(bookCancellation(this.books), 0n);
    if (to === 'written_off') this.book(bookWriteOff(this.books), 0n);
    this.books = { ...this.books, status: to };
  }

  private completeOrReopen(): void {
    const { status, paidMinor, totalMinor } = this.books;
    if (status === 'completed' && paidMinor < totalMinor) {
      this.books = { ...this.books, status: this.beforeCompletion };
    } else if (isToComplete(status, paidMinor, totalMinor)) {
      this.beforeCompletion = status;
      this.books = { ...this.books, status: 'completed' };
    }
  }
}

function expectIdentities({ books, payments, moves, sums }: Model): void {
  const of = (ledgerAccount: string) => sums[ledgerAccount] ?? 0n;
  const paidMinor = [...payments, ...moves].reduce((sum, amountMinor) => sum + amountMinor, 0n);
  const most = (a: bigint, b: bigint) => (a > b ? a : b);
  // The columns equal the entries, and what is paid equals the payments that stand and the moves.
  expect(books).toMatchObject({
    paidMinor,
    receivableMinor: of('receivable'),
    creditMinor: -of('customer_credit'),
    writtenOffMinor: of('bad_debt'),
  });
  // A loss is what was written off less what was recovered of it.
  const lossMinor = of('bad_debt') + of('recovery');
  if (books.status === 'cancelled') {
    expect({ sales: of('sales'), owed: books.receivableMinor, credit: books.creditMinor, lossMinor }).toEqual(
      {
        sales: 0n,
        owed: most(0n, -paidMinor),
        credit: most(0n, paidMinor),
        lossMinor: 0n,
      },
    );
    expect(balanceOf(books)).toBe(books.receivableMinor);
  } else {
    expect(of('sales')).toBe(-books.totalMinor);
    expect(books.receivableMinor + lossMinor).toBe(most(0n, books.totalMinor - paidMinor));
    expect(books.creditMinor).toBe(most(0n, paidMinor - books.totalMinor));
    expect(balanceOf(books)).toBe(books.receivableMinor + lossMinor);
  }
  if (books.status === 'written_off') expect(books.receivableMinor).toBe(0n);
  else if (books.status !== 'completed') expect(lossMinor).toBe(0n);
  // No balance is ever below nothing, and no more is recovered than was lost.
  for (const minor of [books.receivableMinor, books.creditMinor, books.writtenOffMinor, lossMinor]) {
    expect(minor >= 0n).toBe(true);
  }
  expect(of('recovery') <= 0n).toBe(true);
}

describe('whatever happens to an account', () => {
  it('its ledger, its balances, its payments and its moves of credit agree after every step', () => {
    const reached = new Set<AccountStatus>();
    const owingMoreThanAll = new Set<AccountStatus>();
    fc.assert(
      fc.property(startArb, fc.array(happeningArb, { maxLength: 40 }), (start, happenings) => {
        const model = new Model(start);
        for (const happening of [...giveAway(start.totalMinor, start.givenAwayMinor), ...happenings]) {
          model.apply(happening);
          reached.add(model.books.status);
          expectIdentities(model);
          if (model.books.paidMinor < 0n) owingMoreThanAll.add(model.books.status);
        }
      }),
      { numRuns: 2000 },
    );
    // Else the test looks at too little.
    expect([...reached].sort()).toEqual([...ACCOUNT_STATUSES].sort());
    expect([...owingMoreThanAll]).toEqual(expect.arrayContaining(['active', 'cancelled', 'written_off']));
  });
});
