import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dumpSchema } from '../../scripts/dump-schema.ts';
import { openDatabase } from '../../src/core/database/db.ts';
import { addPartition, readPartitions, removePartitions } from '../../src/core/database/partitions.ts';
import { FIRST_TABLE_OF_PAYMENTS } from '../../src/payments/posting/rules.ts';
import { readMigrationNames } from '../../src/platform/migrations/files.ts';
import { migrate } from '../../src/platform/migrations/runner.ts';
import { expectBooksToBalance } from '../support/books.ts';
import { newAccount, notify, pay, reverse, useService } from '../support/harness.ts';
import { notification } from '../support/http.ts';
import { PARTITIONED, partitionTables } from '../support/partitioned.ts';
import { databaseOn } from '../support/statements.ts';
import { PATIENT } from '../support/waiting.ts';

const LOCKING = { lockFirst: FIRST_TABLE_OF_PAYMENTS };

const service = useService();
let client: pg.Client;
let plainSchema: string;
let accountId: number;

beforeAll(async () => {
  client = new pg.Client(service.connection);
  await client.connect();
  for (const table of PARTITIONED) await removePartitions(client, table); // A run with TEST_PARTITIONED=yes has some.
  plainSchema = await dumpSchema(client);
});

afterAll(() => client.end());

/** Posts payments until the work has ended. @returns their answers' statuses, each once. */
async function payDuring(accountId: number, work: () => Promise<unknown>): Promise<number[]> {
  const statuses = new Set<number>();
  let isOver = false;
  const clients = Array.from({ length: 2 }, async () => {
    do {
      const body = { accountId, amount: 1, paymentMethodId: 2 };
      statuses.add((await service.call('POST', '/payments', body)).status);
    } while (!isOver);
  });
  await work().finally(() => {
    isOver = true;
  });
  await Promise.all(clients);
  return [...statuses];
}

/** Continues the ids shortly before the first id of a partition. */
async function goTo(table: string, part: number): Promise<void> {
  const from = (await readPartitions(client, table))[part - 1]?.from ?? '';
  await client.query('select setval($1, $2)', [`${table}_id_seq`, BigInt(from) - 20n]);
  for (let i = 0; i < 30; i += 1) await pay(service, accountId, 1);
}

async function rowsIn(table: string): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as count from ${table}`);
  return rows[0].count;
}

describe('ledger and audit in partitions', () => {
  async function divide(): Promise<void> {
    accountId = (await newAccount(service)).id;
    for (const part of [2, 3]) {
      const statuses = await payDuring(accountId, async () => {
        for (const table of PARTITIONED) expect(await addPartition(client, table, LOCKING)).toBe(true);
      });
      expect(statuses).toEqual([201]);
      for (const table of PARTITIONED) await goTo(table, part);
    }
    for (const table of PARTITIONED) {
      const partitions = await readPartitions(client, table);
      expect(partitions.map(({ name }) => name)).toEqual([`${table}_1`, `${table}_2`, `${table}_3`]);
      expect(partitions.map(({ from }) => from)).toEqual([null, partitions[0]?.until, partitions[1]?.until]);
      expect(partitions[2]?.until).toBeNull();
    }
  }

  async function storeRows(): Promise<void> {
    const payment = await pay(service, accountId, 100);
    await reverse(service, payment.id);
    const { accountNumber } = await newAccount(service);
    expect((await notify(service, notification({ BillRefNumber: accountNumber }))).status).toBe(200);
    for (const table of PARTITIONED) {
      for (const part of [1, 2, 3]) expect(await rowsIn(`${table}_${part}`)).toBeGreaterThan(0);
    }
    const audit = await service.call(
      'GET',
      `/audit?filter[resource]=payment&filter[resourceId]=${payment.id}`,
    );
    expect(audit.body.data).toHaveLength(2);
    await expectBooksToBalance(service.context);
  }

  /** Through the tables and through their partitions. */
  async function refuseChanges(): Promise<void> {
    const refusal = 'are added, never edited';
    for (const [table, change] of [
      ['ledger_entries', 'amount_minor = amount_minor + 1'],
      ['audit_entries', `actor = 'nobody'`],
    ] as const)
      for (const name of [table, `${table}_1`, `${table}_3`]) {
        await expect(client.query(`update ${name} set ${change}`), name).rejects.toThrow(refusal);
        await expect(client.query(`delete from ${name}`), name).rejects.toThrow(refusal);
        await expect(client.query(`truncate ${name}`), name).rejects.toThrow(refusal);
      }
  }

  async function refuseUnbalancedEvents(): Promise<void> {
    for (const table of ['ledger_entries', 'ledger_entries_3']) {
      const insert = `insert into ${table} (id, event_id, event, ledger_account, account_id, amount_minor, value_date)
      overriding system value
      values (90000000, 90000000, 'account_opened', 'receivable', ${accountId}, 1, current_date)`;
      await expect(client.query(insert), table).rejects.toThrow('must sum to zero');
    }
  }

  async function holdEachIdOnce(): Promise<void> {
    for (const table of PARTITIONED) {
      const { rows } = await client.query(`select min(id) as id from ${table}_2`);
      const columns = (await client.query(`select * from ${table} limit 0`)).fields.map(({ name }) => name);
      const copy = `insert into ${table} (${columns}) overriding system value select ${columns} from ${table} where id = $1`;
      await expect(client.query(copy, [rows[0].id])).rejects.toThrow(`${table}_2`);
      await expect(client.query(copy, [rows[0].id])).rejects.toMatchObject({ code: '23505' });
    }
  }

  async function getNoPartitionTooEarly(): Promise<void> {
    expect(await addPartition(client, 'ledger_entries')).toBe(true);
    expect(await addPartition(client, 'ledger_entries')).toBe(false);
    expect(await readPartitions(client, 'ledger_entries')).toHaveLength(4);
  }

  async function acceptRowsAfterAnInterruptedRun(): Promise<void> {
    await client.query(
      'alter table ledger_entries_4 add constraint ledger_entries_4_bound check (id < 0) not valid',
    );
    await addPartition(client, 'ledger_entries');
    const { rows } = await client.query(`select from pg_constraint where conname = 'ledger_entries_4_bound'`);
    expect(rows).toEqual([]);
  }

  async function becomePlainTables(): Promise<void> {
    const before = await Promise.all(PARTITIONED.map(rowsIn));
    const statuses = await payDuring(accountId, async () => {
      for (const table of PARTITIONED)
        expect(await removePartitions(client, table, LOCKING)).toBeGreaterThan(0);
    });
    expect(statuses).toEqual([201]);
    expect(await dumpSchema(client)).toBe(plainSchema);
    const after = await Promise.all(PARTITIONED.map(rowsIn));
    for (const [i, count] of before.entries()) expect(after[i]).toBeGreaterThan(count);
    await pay(service, accountId, 1);
    await expectBooksToBalance(service.context);
  }

  it('take and refuse rows like plain tables, and become plain tables again, without a failed payment', async () => {
    await divide();
    await storeRows();
    await refuseChanges();
    await refuseUnbalancedEvents();
    await holdEachIdOnce();
    await getNoPartitionTooEarly();
    await acceptRowsAfterAnInterruptedRun();
    await becomePlainTables();
  });
});

describe('a migration newer than the partitions', () => {
  it('runs on them, and gives the same schema', async () => {
    const database = `ams_test_${randomUUID().replaceAll('-', '')}`;
    const connection = databaseOn(inject('server'), database);
    await client.query(`create database ${database}`);
    const { db, close } = openDatabase({
      limits: PATIENT,
      connection,
      poolSize: 2,
      prepare: false,
      onConnectionLost: () => {},
    });
    const migrated = new pg.Client(connection);
    try {
      await migrated.connect();
      const names = await readMigrationNames();
      await migrate(db, { last: names.findLast((name) => name < '0036') });
      await partitionTables(migrated);
      await migrate(db);
      for (const table of PARTITIONED) await removePartitions(migrated, table);
      expect(await dumpSchema(migrated)).toBe(plainSchema);
    } finally {
      await migrated.end();
      await close();
      await client.query(`drop database ${database} with (force)`);
    }
  });
});
