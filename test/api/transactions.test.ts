import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { CommitUnknown } from '../../src/core/database/postgres-errors.ts';
import { inTransaction, sendWithCommit } from '../../src/core/database/transactions.ts';
import { useService } from '../support/harness.ts';

/** Statements that are sent together with the commit of their transaction. */
const service = useService();

const insert = (code: string) => ({
  text: `insert into payment_methods (code, name) values ($1, $1)`,
  values: [code],
});

async function codes(): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`select code from payment_methods`.execute(service.context.db);
  return rows.map(({ code }) => code);
}

it('are committed in their order', async () => {
  const { db } = service.context;
  const renamed = { text: `update payment_methods set code = $1 where code = $2`, values: ['last', 'first'] };
  expect(
    await inTransaction(db, async (tx) => {
      await sendWithCommit(tx, [insert('first'), renamed]);
      return 'done';
    }),
  ).toBe('done');
  expect(await codes()).toContain('last');
});

it('change nothing if one of them fails, and the transaction fails with its error', async () => {
  const { db } = service.context;
  const failed = inTransaction(db, async (tx) => {
    await sql`insert into payment_methods (code, name) values ('awaited', 'awaited')`.execute(tx);
    await sendWithCommit(tx, [insert('before'), insert('before'), insert('after')]);
  });
  await expect(failed).rejects.toMatchObject({ code: '23505' });
  const present = await codes();
  for (const code of ['awaited', 'before', 'after']) expect(present).not.toContain(code);
});

it('have an unknown outcome if their connection is lost', async () => {
  const { db } = service.context;
  const failed = inTransaction(db, async (tx) => {
    const end = { text: 'select pg_terminate_backend(pg_backend_pid())', values: [] };
    await sendWithCommit(tx, [insert('lost'), end]);
  });
  await expect(failed).rejects.toThrow(CommitUnknown);
  expect(await codes()).not.toContain('lost');
});
