import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { formatAccountNumber } from '../../src/accounts/account-number-rules.ts';
import { dueBy, nextItem, type Terms } from '../../src/accounts/schedule/rules.ts';
import { totalMinor } from '../../src/catalogue/pay-plans/rules.ts';
import { FREQUENCIES } from '../../src/catalogue/pay-plans/schema.ts';
import { csvText } from '../../src/core/values/csv.ts';
import { addDays, type PlainDate } from '../../src/core/values/dates.ts';
import { minMinor } from '../../src/core/values/money.ts';
import { guarded as guardedInSql } from '../../src/portfolio/export/store.ts';
import { guarded } from '../../src/portfolio/spreadsheet-guard-rules.ts';
import { useService } from '../support/harness.ts';

/** Compares the functions of migrations/0005_reports.sql with the TypeScript functions that they repeat. */
const service = useService();

const CASES = { numRuns: 4_000 };
const MONTH_ENDS = [
  '2024-01-31',
  '2023-01-31',
  '2024-02-29',
  '2023-11-30',
  '2024-12-31',
  '2025-08-29',
] as PlainDate[];

const activation = fc.oneof(
  fc.integer({ min: 0, max: 20_000 }).map((n) => addDays('1990-01-01' as PlainDate, n)),
  fc.constantFrom(...MONTH_ENDS),
);
const aCase = fc
  .record({
    frequency: fc.constantFrom(...FREQUENCIES),
    activationDate: activation,
    depositMinor: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 500_000n })),
    instalmentMinor: fc.bigInt({ min: 1n, max: 100_000n }),
    instalmentCount: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 10_000 })),
    offsetDays: fc.oneof(fc.integer({ min: -40, max: 120 }), fc.integer({ min: -400, max: 20_000 })),
    paidPermille: fc.integer({ min: -100, max: 1_100 }),
    paidExactly: fc.option(fc.integer({ min: 0, max: 60 })),
  })
  .map(({ offsetDays, paidPermille, paidExactly, ...rest }) => {
    const terms: Terms = { ...rest, graceDays: 0 };
    const part = (totalMinor(terms) * BigInt(paidPermille)) / 1_000n;
    const paidMinor =
      paidExactly === null ? part : terms.depositMinor + BigInt(paidExactly) * terms.instalmentMinor;
    return { terms, day: addDays(terms.activationDate, offsetDays), paidMinor };
  });

describe('the schedule in SQL', () => {
  it('equals schedule/rules.ts for any terms, day and sum paid', async () => {
    const cases = fc.sample(aCase, CASES);
    const input = cases.map(({ terms, day, paidMinor }, i) => ({
      i,
      frequency: terms.frequency,
      activation_date: terms.activationDate,
      deposit_minor: Number(terms.depositMinor),
      instalment_minor: Number(terms.instalmentMinor),
      instalment_count: terms.instalmentCount,
      total_minor: Number(totalMinor(terms)),
      paid_minor: Number(paidMinor),
      day,
    }));
    const { rows } = await sql<{ due: number; next: PlainDate | null; paid: number }>`
      select instalments_due_by(frequency, activation_date, instalment_count, day) as due,
        next_due_date(frequency, activation_date, deposit_minor, instalment_minor, total_minor, paid_minor) as next,
        paid_to_instalments(paid_minor, deposit_minor, total_minor) as paid
      from jsonb_to_recordset(${JSON.stringify(input)}::jsonb) as c(
        i integer, frequency frequency, activation_date date, deposit_minor bigint, instalment_minor bigint,
        instalment_count integer, total_minor bigint, paid_minor bigint, day date)
      order by i`.execute(service.context.db);
    const expected = cases.map(({ terms, day, paidMinor }) => {
      const deposit = day < terms.activationDate ? 0n : terms.depositMinor;
      const counted = minMinor(paidMinor, totalMinor(terms));
      return {
        due: Number((dueBy(terms, day) - deposit) / terms.instalmentMinor),
        next: nextItem(terms, paidMinor)?.date ?? null,
        paid: counted < terms.depositMinor ? 0 : Number(counted - terms.depositMinor),
      };
    });
    expect(rows).toEqual(expected);
  });
});

describe('account_number', () => {
  it('equals formatAccountNumber for any id', async () => {
    const largest = Number.MAX_SAFE_INTEGER - 1_000_000;
    const ids = [
      ...Array.from({ length: 20_000 }, (_, i) => i + 1),
      ...fc.sample(fc.integer({ min: 1, max: largest }), { ...CASES, numRuns: 2_000 }),
      8_999_999,
      9_000_000,
      largest,
    ];
    const { rows } = await sql<{ number: string }>`
      select account_number(id) as number from unnest(${ids}::bigint[]) with ordinality as t(id, i)
      order by i`.execute(service.context.db);
    expect(rows.map(({ number }) => number)).toEqual(ids.map(formatAccountNumber));
  });

  it('is null for a payment without an account', async () => {
    const { rows } = await sql`select account_number(null) as number`.execute(service.context.db);
    expect(rows).toEqual([{ number: null }]);
  });
});

describe('csv_text', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+254712345678', "'+254712345678"],
    ['-2', "'-2"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t'=1"],
    ['\tplain', "'\tplain"],
    ['\rplain', "' plain"],
    ['\n=1', "' =1"],
    ['   =1', "'   =1"],
    ['\u00a0=1', "'\u00a0=1"],
    ['\u3000@x', "'\u3000@x"],
    ['＝1+1', "'＝1+1"],
    ['\ufeff=1', "'\ufeff=1"],
    ['0712345678', "'0712345678"],
    ['12345678901234567', "'12345678901234567"],
    ['0', '0'],
    ['254712345678', '254712345678'],
    ['a=1', 'a=1'],
    ["'=1", "'=1"],
    ['  plain', '  plain'],
    ['two\r\nlines', 'two  lines'],
    ['a;=cmd()', "a;'=cmd()"],
    ['a; "-2;+3', "a;' \"-2;'+3"],
    ['a,=1|@x\t\u00a0=2', "a,'=1|'@x\t'\u00a0=2"],
    ['=a;＝1', "'=a;'＝1"],
    ["a;'=1", "a;'=1"],
    ['a;\r\n=1', "a;'  =1"],
    ['Smith; 12, O-K', 'Smith; 12, O-K'],
    ['', ''],
    [null, null],
  ])('writes %j as %j', async (text, cell) => {
    const { rows } = await sql<{ cell: string }>`select csv_text(${text}) as cell`.execute(
      service.context.db,
    );
    expect(rows[0]?.cell).toBe(cell);
  });
});

/** Texts of the characters to which spreadsheets, and the rules about them, react. */
const cellText = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        ...`=+-@'",;|\t\n\r 0019aé:/.()\u00a0\u1680\u2003\u200b\u2028\u3000\ufeff\uff0b\uff0d\uff1d\uff20`,
      ),
      {
        maxLength: 12,
      },
    )
    .map((characters) => characters.join('')),
  fc
    .array(fc.constantFrom('0712', '1234567890123456', 'MAR', 'true', '12E4', '10:30 am', ' ', "'", 'x'), {
      maxLength: 3,
    })
    .map((words) => words.join('')),
);

describe('the spreadsheet guards', () => {
  it.each<[string, string, (text: string) => string]>([
    ['csv_text', 'csv_text(text)', csvText],
    ['the cells of an export', guardedInSql('text'), (text) => guarded(text, 2)],
  ])('%s equal the rule for any text', async (_, written, rule) => {
    const texts = fc.sample(cellText, { ...CASES, numRuns: 20_000 });
    const { rows } = await sql<{ cell: string }>`
      select ${sql.raw(written)} as cell from unnest(${texts}::text[]) with ordinality as t(text, i) order by i`.execute(
      service.context.db,
    );
    const different = texts.flatMap((text, i) =>
      rows[i]?.cell === rule(text) ? [] : [[text, rows[i]?.cell, rule(text)]],
    );
    expect(different.slice(0, 5)).toEqual([]);
  });
});
