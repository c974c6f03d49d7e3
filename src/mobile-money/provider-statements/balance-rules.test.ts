import { describe, expect, it } from 'vitest';
import { findContradictions, followBalances } from './balance-rules.ts';

type Row = [amount: number, balance: number | null] | null;

/** Checks the rows with the oldest first, and with the newest first. */
function contradicted(...rows: Row[]): number[] {
  const lines = rows.map(
    (row) => row && { amountMinor: BigInt(row[0]), balanceMinor: row[1] === null ? null : BigInt(row[1]) },
  );
  const found = [...findContradictions(lines)];
  const reversed = [...findContradictions(lines.toReversed())].map((index) => lines.length - 1 - index);
  expect(reversed.sort()).toEqual(found.sort());
  return found;
}

describe('a line of a file with a running balance', () => {
  it.each<[string, number[], Row[]]>([
    [
      'none',
      [],
      [
        [100, 100],
        [50, 150],
        [-30, 120],
        [5, 125],
      ],
    ],
    [
      'its balance is another figure',
      [1],
      [
        [100, 100],
        [50, 999],
        [70, 220],
      ],
    ],
    [
      'its balance is another figure, and it is the last',
      [2],
      [
        [100, 100],
        [50, 150],
        [70, 999],
      ],
    ],
    [
      'its amount is too low',
      [1],
      [
        [100, 100],
        [5, 150],
        [70, 220],
      ],
    ],
    [
      'its amount is too high',
      [1],
      [
        [100, 100],
        [500, 150],
        [70, 220],
      ],
    ],
    [
      'its amount and its balance are wrong',
      [2],
      [
        [100, 100],
        [50, 150],
        [1, 0],
        [9, 1159],
        [1, 1160],
      ],
    ],
    [
      'it is below 0 before the payment',
      [0],
      [
        [9, 4],
        [50, 150],
        [70, 220],
      ],
    ],
    [
      'two lines are wrong',
      [2, 3],
      [
        [100, 100],
        [50, 150],
        [1, 7],
        [2, 9999],
        [30, 260],
        [4, 264],
      ],
    ],
    [
      'it has no balance, and its amount does not explain the difference',
      [1],
      [
        [100, 100],
        [1, null],
        [70, 1170],
        [5, 1175],
      ],
    ],
    [
      'its amount is too low, and the lines before it fit',
      [2],
      [
        [100, 100],
        [50, 150],
        [5, 220],
        [30, 250],
      ],
    ],
    [
      'it takes less than the balance shows',
      [2],
      [
        [100, 100],
        [50, 150],
        [-5, 120],
        [30, 150],
        [9, 159],
      ],
    ],
    [
      'its balance is another figure, after an unreadable line',
      [3],
      [[100, 100], [50, 150], null, [70, 999], [30, 250], [5, 255]],
    ],
    [
      'only half of the lines fit',
      [2],
      [
        [100, 100],
        [50, 150],
        [70, 999],
        [30, 5000],
      ],
    ],
    [
      'half of the readable lines fit, but most lines are unreadable',
      [2],
      [[100, 100], [50, 150], [70, 999], null, null],
    ],
    [
      'the line after it is confirmed by later lines, and not by this one',
      [1],
      [
        [1, 1],
        [100, 120],
        [5, 220],
        [30, 250],
        [4, 254],
      ],
    ],
  ])('is contradicted if %s', (_why, expected, rows) => {
    expect(contradicted(...rows)).toEqual(expected);
  });

  it.each<[string, Row[]]>([
    [
      'beside a contradicted last line but one',
      [
        [100, 100],
        [50, 150],
        [70, 999],
        [30, 250],
      ],
    ],
  ])('is not contradicted %s', (_why, rows) => {
    expect(contradicted(...rows)).toEqual([2]);
  });

  it.each<[string, Row[]]>([
    [
      'after a withdrawal that the file leaves out',
      [
        [100, 1100],
        [50, 1150],
        [70, 270],
        [30, 300],
      ],
    ],
    [
      'in the wrong order within a second',
      [
        [100, 100],
        [70, 220],
        [50, 150],
        [30, 250],
      ],
    ],
    [
      'without a balance that explains the difference',
      [
        [60, 60],
        [40, 100],
        [50, null],
        [-20, null],
        [70, 200],
        [5, 205],
      ],
    ],
    ['beside an unreadable line', [[100, 100], [50, 150], null, [70, 999], [1, 1000]]],
    [
      'of an account that is always below 0',
      [
        [-5, -5],
        [-7, -12],
        [12, 0],
      ],
    ],
    [
      'of an account that was below 0 before its oldest line',
      [
        [9, 4],
        [50, 54],
        [70, 124],
      ],
    ],
    [
      'after a withdrawal of the whole balance that the file leaves out',
      [
        [100, 100],
        [50, 150],
        [70, 70],
        [30, 100],
      ],
    ],
    [
      'after a withdrawal of its own amount that the file leaves out',
      [
        [100, 100],
        [50, 150],
        [70, 150],
        [30, 180],
      ],
    ],
    [
      'that is the oldest, because the file may leave out the lines after it',
      [
        [100, 999],
        [50, 150],
        [70, 220],
        [30, 250],
      ],
    ],
    ['after an unreadable line, if no later line fits', [[100, 100], [50, 150], null, [70, 999], [30, 5000]]],
    [
      'without a balance at the end of the file',
      [
        [100, 100],
        [50, 150],
        [5, null],
      ],
    ],
    [
      'without a balance beside an unreadable line',
      [[100, 100], [50, 150], [5, null], null, [30, 250], [1, 251]],
    ],
  ])('is not contradicted %s', (_why, rows) => {
    expect(contradicted(...rows)).toEqual([]);
  });

  it('is never contradicted in a file without a running balance', () => {
    expect(contradicted([100, 12345], [60, 12345], [-60, 12345])).toEqual([]);
    expect(contradicted([100, 500], [60, 900], [70, 20], [40, 3000])).toEqual([]);
    expect(contradicted([100, null], [60, null])).toEqual([]);
    expect(contradicted([100, 5], [60, 7])).toEqual([]);
    // Fewer than half of the lines fit.
    expect(contradicted([100, 100], [50, 150], [70, 999], [30, 5000], [10, 7777])).toEqual([]);
  });
});

describe('the balances at the ends of a file', () => {
  function ends(...rows: [amount: number, balance: number | null][]) {
    const balances = followBalances();
    for (const [amount, balance] of rows)
      balances.add({ amountMinor: BigInt(amount), balanceMinor: balance === null ? null : BigInt(balance) });
    return balances.ends();
  }

  it('are the same with the oldest line first and with the newest line first', () => {
    const found = { openingMinor: 40n, closingMinor: 60n };
    expect(ends([10, 50], [20, 70], [-10, 60])).toEqual(found);
    expect(ends([-10, 60], [20, 70], [10, 50])).toEqual(found);
    expect(ends([20, 60])).toEqual(found);
  });

  it('are known if half of the lines fit, and belong to the oldest line first if both orders fit', () => {
    expect(ends([10, 50], [20, 70], [5, 500])).toEqual({ openingMinor: 40n, closingMinor: 500n });
    expect(ends([10, 10], [-10, 0])).toEqual({ openingMinor: 0n, closingMinor: 0n });
  });

  it('are unknown without balances, or without a running balance', () => {
    expect(ends([10, null])).toBeNull();
    expect(ends([10, 50], [20, 50], [5, 50])).toBeNull();
  });
});
