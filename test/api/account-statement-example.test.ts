import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectBooksToBalance } from '../support/books.ts';
import { useService } from '../support/harness.ts';
import { run } from '../support/processes.ts';

/** Runs the commands of docs/account-statements.md with bash and curl, and compares each printed answer and figure. */

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'account-statements.md'), 'utf8');
const ADDRESS_OF_THE_PAGE = 'http://localhost:8080';
const NEXT_BLOCK = '--- next block ---';

const service = useService({ TEST_CLOCK: 'on' });

interface Block {
  language: string;
  text: string;
}

const blocks: Block[] = [...PAGE.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', text = '']) => ({ language, text }),
);
const commands = blocks.filter(({ language }) => language === 'sh');
/** The output that the page prints after each block of commands; undefined if it prints none. */
const printed = blocks.flatMap(({ language }, index) => {
  if (language !== 'sh') return [];
  const next = blocks[index + 1];
  return [next === undefined || next.language === 'sh' ? undefined : next.text.trim()];
});

let outputs: string[];

beforeAll(async () => {
  const script = commands
    .map(({ text }) => text)
    .join(`\necho '${NEXT_BLOCK}'\n`)
    .replaceAll(ADDRESS_OF_THE_PAGE, service.origin);
  const { stdout, stderr } = await run('bash', ['--norc', '-e', '-o', 'pipefail', '-c', script], {
    env: { PATH: process.env.PATH, TOKEN: service.adminToken },
  });
  expect(stderr).toBe('');
  outputs = stdout.split(NEXT_BLOCK).map((output) => output.trim());
});

describe('the example of docs/account-statements.md', () => {
  it('runs the commands of the page with the printed answers', () => {
    expect(printed.filter((text) => text !== undefined)).toHaveLength(5);
    expect(outputs).toEqual(printed.map((text) => text ?? ''));
  });

  it('has the figures and sources of the page’s table', async () => {
    const { body } = await service.call('GET', '/accounts/1/statement');
    const rows = body.data.rows.map((row: Record<string, number | string | null>) => [
      row.date,
      row.type === 'instalment' ? `instalment ${row.item}` : row.type,
      ...['due', 'charged', 'paid', 'dueSoFar', 'owedInTotal'].map((name) => figure(Number(row[name]))),
      [
        row.paymentId && `payment ${row.paymentId}`,
        row.transactionRef && `\`${row.transactionRef}\``,
        row.ledgerEventId ? `event ${row.ledgerEventId}` : 'the terms',
      ]
        .filter(Boolean)
        .join(', '),
    ]);
    expect(tableOf(PAGE)).toEqual(rows);
    expect(rows).toHaveLength(12);
  });

  it('leaves books that pass every check', () => expectBooksToBalance(service.context));
});

function figure(amount: number): string {
  return amount === 0 ? '0' : amount.toLocaleString('en').replace('-', '−');
}

/** The cells of the table that begins with a date. */
function tableOf(page: string): string[][] {
  const [, table = ''] = /^\| date .*\n\| -.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
