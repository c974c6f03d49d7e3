import { sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import { newAccount, pay, useService } from '../harness.ts';

const service = useService();

afterEach(async () => {
  await sql`alter table accounts drop column if exists added`.execute(service.context.db);
  await sql`alter table payments drop column if exists added`.execute(service.context.db);
});

it('goes on while a newer version changes the tables under its named statements', async () => {
  const account = await newAccount(service);
  const look = async () => {
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => service.call('GET', `/accounts/${account.id}`)),
      ...Array.from({ length: 10 }, () => service.call('GET', `/accounts?customerId=${account.customerId}`)),
      ...Array.from({ length: 10 }, () => service.call('GET', `/accounts/${account.id}/payments`)),
    ]);
    return answers.map(({ status }) => status).filter((status) => status !== 200);
  };
  // Each connection of the pool has named its statements.
  await Promise.all(Array.from({ length: 20 }, () => pay(service, account.id, 1)));
  expect(await look()).toEqual([]);
  await sql`alter table accounts add column added text`.execute(service.context.db);
  await sql`alter table payments add column added text`.execute(service.context.db);
  expect(await look()).toEqual([]);
  for (let i = 0; i < 20; i++) await pay(service, account.id, 1);
  const { body } = await service.call('GET', `/accounts/${account.id}`);
  expect(body.data.paid).toBe(40);
});
