import { expect, it } from 'vitest';
import { SYSTEM } from '../../src/core/context.ts';
import { repairPhones } from '../../src/payments/phone-repair/repair-phones.ts';
import { startWork } from '../../src/portfolio/import/commands.ts';
import { workOnImport } from '../../src/portfolio/import/work-on-import.ts';
import { move, pay, reverse, setToday, useJobs, useService, whileHolding } from '../support/harness.ts';
import { expectProof, importAll, runImportJob } from '../support/imports.ts';
import { eventually } from '../support/waiting.ts';

const service = useService({ LOG_LEVEL: 'error' });
useJobs(service);

/** The price of an imported account. */
const TOTAL = 6000;
let imports = 0;

/** Imports a customer with an account, and two payments of which one is reconciled. */
async function importOne({ paid = 2400 } = {}) {
  imports += 1;
  const n = imports;
  setToday(service, '2026-11-02');
  const done = await importAll(service, {
    payment_methods: ['code,name', `cheque_${n},Cheque ${n}`],
    employees: ['external_id,name', `HR-${n},Achieng Otieno`],
    customers: ['external_id,first_name,last_name,phone', `C-${n},Wanjiru,Kamau,+2547${10_000_000 + n}`],
    products: ['sku,name,category,price', `UNDO-${n},Home system,home_system,34000`],
    pay_plans: [
      'name,product,deposit,instalment,instalment_count,frequency,grace_days',
      `Undone ${n},UNDO-${n},2000,400,10,weekly,7`,
    ],
    accounts: [
      'external_id,customer,product,pay_plan,employee,opened_at',
      `A-${n},C-${n},UNDO-${n},Undone ${n},HR-${n},2026-09-01`,
    ],
    payments: [
      'external_id,account,amount,payment_date,payment_method,transaction_ref,reconciled_on',
      `P-${n},A-${n},2000,2026-09-01,cheque_${n},UNDOREF${n},2026-09-02`,
      `,A-${n},${paid - 2000},2026-09-08,cheque_${n},UNDOREF${n}B,`,
    ],
    ...(paid > TOTAL && {
      credit_moves: [
        'account,amount,reason,moved_on,payment_method',
        `A-${n},100,paid too much,2026-09-09,cheque_${n}`,
      ],
    }),
  });
  const account = (await service.call('GET', `/accounts/by-external-id/A-${n}`)).body.data;
  const payment = (await service.call('GET', `/payments/by-external-id/P-${n}`)).body.data;
  return { id: done.id, n, account, payment };
}

/** The number of rows of every table, except those that record what happened. */
async function countRows(): Promise<Record<string, number>> {
  const { rows: tables } = await service.parts.pool.query(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname not in ('imports', 'audit_entries', 'events', 'event_feed') order by relname`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await service.parts.pool.query(`select count(*)::int as count from ${name}`);
    counts[name] = rows[0].count;
  }
  return counts;
}

it('leaves as many rows in every table as before the import', async () => {
  const before = await countRows();
  const { id } = await importOne({ paid: TOTAL + 500 });
  const between = await countRows();
  for (const table of ['payments', 'ledger_entries', 'credit_moves', 'reconciliations', 'payment_methods'])
    expect(between[table], table).toBeGreaterThan(before[table] ?? 0);
  expect(await runImportJob(service, id, 'undo')).toMatchObject({ status: 'undone', failure: null });
  expect(await countRows()).toEqual(before);
  await expectProof(service);
});

it('is done once if another process ends the work while this one waits for a connection', async () => {
  const { id } = await importOne();
  const { context, parts } = service;
  await startWork(context, SYSTEM, id, 'undoing', { isQueued: false, needsCheck: false });
  const load: typeof parts.copies.load = async (caller, work) => {
    await workOnImport(parts, id, { isLast: true });
    return parts.copies.load(caller, work);
  };
  await workOnImport({ ...parts, copies: { ...parts.copies, load } }, id, { isLast: true });
  const { rows } = await parts.pool.query(
    `select action from audit_entries where resource = 'import' and resource_id = $1 and action = 'import.undo'`,
    [id],
  );
  expect(rows).toHaveLength(1);
});

it('does not lose a change of status that staff make while an import is undone', async () => {
  const { id, account } = await importOne();
  // The undo has looked for obstacles when it waits for this row. The statement has no parameters, because the portal of a
  // statement with parameters would keep a snapshot, for which the undo waits.
  const lock = `select from account_status_changes where account_id = ${account.id} for update`;
  const [undone, changed] = await whileHolding(service, lock, async () => {
    const undoing = runImportJob(service, id, 'undo');
    await eventually(countOfWaiting).toBe(1);
    let isAnswered = false;
    const body = { status: 'suspended', reason: 'moved away' };
    const changing = service.call('PUT', `/accounts/${account.id}`, body).finally(() => {
      isAnswered = true;
    });
    await eventually(async () => isAnswered || (await countOfWaiting()) === 2).toBe(true);
    return [undoing, changing] as const;
  });
  expect(await undone).toMatchObject({ status: 'undone', failure: null });
  expect((await changed).status).toBe(404);
  await expectProof(service);
});

it('is refused with the names of all rows that were used or changed', async () => {
  const { id, n, account, payment } = await importOne();
  const refusal = async () => {
    const refused = await runImportJob(service, id, 'undo');
    expect(refused.status).toBe('done');
    return refused.failure;
  };
  const name = `account ${account.accountNumber}, A-${n}`;
  await pay(service, account.id, 50);
  expect(await refusal()).toBe(
    'The import was not undone, because its rows have changed since the import, or other rows refer to them: ' +
      `payments (1, the first for ${name}).`,
  );
  await move(service, account.id, 'cancelled');
  await reverse(service, payment.id);
  const sold = await service.call('POST', '/accounts', {
    customerId: account.customerId,
    productId: account.productId,
    payplanId: account.payplanId,
  });
  expect(sold.status, sold.text).toBe(201);
  const failure = await refusal();
  for (const obstacle of [
    `accounts (1, the first for customer C-${n})`,
    `accounts (1, the first for product UNDO-${n})`,
    `accounts (1, the first for pay plan Undone ${n})`,
    `account.status in the audit trail (1, the first for ${name})`,
    `payment.reverse in the audit trail (1, the first for payment P-${n})`,
  ])
    expect(failure).toContain(obstacle);
  await expectProof(service);
});

it('succeeds after the phone of an imported customer was repaired', async () => {
  const { id, n, account } = await importOne();
  // An earlier version imported the phone with the 0.
  await service.parts.pool.query('update customers set phone = $2 where id = $1', [
    account.customerId,
    `+25407${10_000_000 + n}`,
  ]);
  await service.parts.pool.query('update phone_repair set completed_on = null');
  expect(await repairPhones(service.context, new AbortController().signal, service.parts.log)).toBe(1);
  expect(await runImportJob(service, id, 'undo')).toMatchObject({ status: 'undone', failure: null });
});

it('names a payment without external id by its reference', async () => {
  const { id, n, account } = await importOne();
  const { body } = await service.call('GET', `/accounts/${account.id}/payments?sort=id:asc`);
  const unreconciled = body.data[1].id;
  await service.call('POST', '/payments/reconcile', {
    paymentIds: [unreconciled],
    reconciliationDate: '2026-11-02',
  });
  expect((await runImportJob(service, id, 'undo')).failure).toContain(
    `reconciliations (1, the first for payment UNDOREF${n}B)`,
  );
});

/** The number of transactions that wait for a row which another one has locked. */
async function countOfWaiting(): Promise<number> {
  const { rowCount } = await service.parts.pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event in ('transactionid', 'tuple')`,
  );
  return rowCount ?? 0;
}
