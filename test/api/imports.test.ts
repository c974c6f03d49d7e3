import { expect, it } from 'vitest';
import { suspendLateAccounts } from '../../src/accounts/status/suspend-late-accounts.ts';
import { SYSTEM } from '../../src/core/context.ts';
import { deleteAbandonedFiles, startWork } from '../../src/portfolio/import/commands.ts';
import { workOnImport } from '../../src/portfolio/import/work-on-import.ts';
import {
  move,
  notify,
  pay,
  runJobs,
  setToday,
  useJobs,
  useService,
  waitingForLock,
  whileHolding,
} from '../support/harness.ts';
import {
  expectProof,
  importAll,
  problemsOf,
  runImportJob,
  untilImportJobEnds,
  uploadFile,
  uploadImport,
} from '../support/imports.ts';
import { eventually } from '../support/waiting.ts';

const service = useService({ LOG_LEVEL: 'error' });
useJobs(service);

const CUSTOMERS = [
  'external_id,first_name,last_name,phone,national_id',
  'C-1,Wanjiru,Kamau,0712 345 678,23456789',
  'C-2,Otieno,Odhiambo,+254722000111,',
];
const PRODUCTS = ['sku,name,category,price', 'IMP-80,Home system 80 W,home_system,34000'];
const PLANS = [
  'name,product,deposit,instalment,instalment_count,frequency,grace_days',
  'Imported weekly,IMP-80,2000,400,10,weekly,7',
];

it('imports customers, accounts and payments, and undoes the import as a whole', async () => {
  setToday(service, '2026-11-02');
  const done = await importAll(service, {
    customers: CUSTOMERS,
    products: PRODUCTS,
    pay_plans: PLANS,
    accounts: [
      'external_id,customer,product,pay_plan,opened_at',
      'A-1,C-1,IMP-80,Imported weekly,2026-09-01',
      'A-2,C-2,IMP-80,Imported weekly,2026-09-15',
    ],
    payments: [
      'external_id,account,amount,payment_date,payment_method,transaction_ref',
      'P-1,A-1,2000,2026-09-01,mobile_money,IMPREF1',
      'P-2,A-1,400.50,2026-09-08,cash,',
      'P-3,A-2,6000,2026-10-01,mobile_money,IMPREF2',
    ],
  });
  expect(done).toMatchObject({
    rows: { customers: 2, products: 1, pay_plans: 1, accounts: 2, payments: 3 },
    differences: 0,
    files: [],
  });
  const first = await service.call('GET', '/accounts/by-external-id/A-1');
  expect(first.body.data).toMatchObject({
    status: 'active',
    paid: 2400.5,
    balance: 3599.5,
    paidUntil: '2026-09-14',
  });
  const second = await service.call('GET', '/accounts/by-external-id/A-2');
  expect(second.body.data).toMatchObject({ status: 'completed', paid: 6000, balance: 0, credit: 0 });
  await expectProof(service);

  const undone = await runImportJob(service, done.id, 'undo');
  expect(undone).toMatchObject({ status: 'undone', failure: null });
  expect((await service.call('GET', '/accounts/by-external-id/A-1')).status).toBe(404);
  expect((await service.call('GET', '/customers/by-external-id/C-1')).status).toBe(404);
  await expectProof(service);
});

it('leaves nothing if its connection is lost in the middle of the run, and is done once when its lost job is queued again', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: [CUSTOMERS[0] ?? '', 'LOST-1,Wanjiru,Kamau,0712 345 679,'],
    products: ['sku,name,category,price', 'LOST-80,Home system 80 W,home_system,34000'],
    pay_plans: [PLANS[0] ?? '', 'Lost weekly,LOST-80,2000,400,10,weekly,7'],
    accounts: [
      'external_id,customer,product,pay_plan,opened_at',
      'LOST-1,LOST-1,LOST-80,Lost weekly,2026-09-01',
    ],
    payments: [
      'external_id,account,amount,payment_date,payment_method,transaction_ref',
      'LOST-1,LOST-1,2400,2026-09-01,mobile_money,LOSTREF1',
    ],
  });
  expect(await runImportJob(service, id, 'check')).toMatchObject({ status: 'checked', errors: 0 });
  await startWork(service.context, SYSTEM, id, 'running', { isQueued: false });
  const rows = async () => {
    const counted = ['products', 'customers', 'accounts', 'payments'].map(
      (table) => `(select count(*)::int from ${table} where import_id = ${id}) as ${table}`,
    );
    const { rows: found } = await service.parts.pool.query(
      `select ${counted}, (select count(*)::int from audit_entries
         where action = 'import.complete' and resource_id = ${id}) as runs`,
    );
    return found[0];
  };
  const nothing = { products: 0, customers: 0, accounts: 0, payments: 0, runs: 0 };

  // The run has written payments, and waits for this lock.
  await whileHolding(service, 'lock table ledger_entries in share mode', async (holder) => {
    const attempt = workOnImport(service.parts, id, { isLast: false }).catch((error: unknown) => error);
    await eventually(() => waitingForLock(holder)).toHaveLength(1);
    await holder.query('select pg_terminate_backend($1)', await waitingForLock(holder));
    expect(await attempt).toBeInstanceOf(Error);
    expect(await rows()).toEqual(nothing);
  });
  expect(await rows()).toEqual(nothing);

  expect(await runJobs(service)).toBe(true);
  expect(await untilImportJobEnds(service, id)).toMatchObject({ status: 'done', failure: null });
  expect(await rows()).toEqual({ products: 1, customers: 1, accounts: 1, payments: 1, runs: 1 });
  await expectProof(service);
});

it('refuses to undo an import after a new payment on one of its accounts, and names the payment and the account', async () => {
  setToday(service, '2026-11-02');
  const done = await importAll(service, {
    customers: ['external_id,first_name,last_name,phone', 'C-3,Achieng,Otieno,0733 000 111'],
    products: ['sku,name,category,price', 'IMP-81,Home system 81 W,home_system,34000'],
    pay_plans: [PLANS[0] ?? '', 'Paid after the import,IMP-81,2000,400,10,weekly,7'],
    accounts: [
      'external_id,customer,product,pay_plan,opened_at',
      'A-3,C-3,IMP-81,Paid after the import,2026-09-01',
    ],
  });
  const path = '/accounts/by-external-id/A-3';
  const { id, accountNumber } = (await service.call('GET', path)).body.data;
  await pay(service, id, 2000);
  const feed = await service.call('GET', '/events?types=payment.received&limit=1000');
  const received = feed.body.data.events.filter(({ accountId }: { accountId: number }) => accountId === id);
  expect(received).toMatchObject([{ accountVersion: 1 }]);

  expect(await runImportJob(service, done.id, 'undo')).toMatchObject({
    status: 'done',
    failure:
      'The import was not undone, because its rows have changed since the import, or other rows refer to them: ' +
      `payments (1, the first for account ${accountNumber}, A-3).`,
  });
  expect((await service.call('GET', path)).body.data).toMatchObject({ paid: 2000, status: 'active' });
  await expectProof(service);

  await move(service, id, 'suspended');
  const refused = await runImportJob(service, done.id, 'undo');
  expect(refused.failure).toContain(
    `account.status in the audit trail (1, the first for account ${accountNumber}, A-3)`,
  );
});

it('refuses to undo an import after one of its payments was reconciled', async () => {
  setToday(service, '2026-11-02');
  const done = await importAll(service, {
    customers: ['external_id,first_name,last_name,phone', 'C-5,Achieng,Otieno,0733 000 333'],
    products: ['sku,name,category,price', 'IMP-83,Home system 83 W,home_system,34000'],
    pay_plans: [PLANS[0] ?? '', 'Reconciled later,IMP-83,2000,400,10,weekly,7'],
    accounts: [
      'external_id,customer,product,pay_plan,opened_at',
      'A-5,C-5,IMP-83,Reconciled later,2026-09-01',
    ],
    payments: [
      'external_id,account,amount,payment_date,payment_method,transaction_ref,reconciled_on',
      'P-50,A-5,500,2026-09-01,mobile_money,IMPREC1,2026-09-02',
      'P-51,A-5,600,2026-09-01,mobile_money,IMPREC2,',
    ],
  });
  const { id } = (await service.call('GET', '/payments/by-external-id/P-51')).body.data;
  const body = { paymentIds: [id], reconciliationDate: '2026-11-02' };
  const reconciled = await service.call('POST', '/payments/reconcile', body);
  expect(reconciled.body.data.counts, reconciled.text).toMatchObject({ reconciled: 1 });

  const refused = await runImportJob(service, done.id, 'undo');
  expect(refused).toMatchObject({
    status: 'done',
    failure: expect.stringContaining('reconciliations (1, the first for payment P-51)'),
  });
  await expectProof(service);
});

it('acknowledges a notification of a transaction that an import brought, and credits nothing', async () => {
  setToday(service, '2026-11-02');
  await importAll(service, {
    customers: ['external_id,first_name,last_name,phone', 'C-4,Achieng,Otieno,0733 000 222'],
    products: ['sku,name,category,price', 'IMP-82,Home system 82 W,home_system,34000'],
    pay_plans: [PLANS[0] ?? '', 'Reported again,IMP-82,2000,400,10,weekly,7'],
    accounts: ['external_id,customer,product,pay_plan,opened_at', 'A-4,C-4,IMP-82,Reported again,2026-09-01'],
    payments: [
      'account,amount,payment_date,payment_method,transaction_ref,provider,provider_transaction_id',
      'A-4,2000,2026-09-01,mobile_money,IMPTX1,mobilemoney,IMPTX1',
      'A-4,400,2026-09-08,mobile_money,IMPTX2,,',
    ],
  });
  const path = '/accounts/by-external-id/A-4';
  const { id, accountNumber } = (await service.call('GET', path)).body.data;
  for (const [TransID, TransAmount, outcome] of [
    ['IMPTX1', '2000.00', 'repeated'],
    ['IMPTX1', '2000.00', 'repeated'],
    // The import has only the reference of this payment, so it is linked like a manual payment.
    ['IMPTX2', '400.00', 'linked'],
  ]) {
    const answer = await notify(service, { TransID, TransAmount, BillRefNumber: accountNumber });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ ResultCode: 0, data: { outcome } });
  }
  expect((await service.call('GET', path)).body.data).toMatchObject({ paid: 2400, credit: 0 });
  expect((await service.call('GET', `/accounts/${id}/payments`)).body.data).toHaveLength(2);
  await expectProof(service);
});

it('imports an account again under its number after an undo, although it was suspended automatically in between', async () => {
  setToday(service, '2026-11-02');
  const files = {
    customers: ['external_id,first_name,last_name,phone', 'C-6,Achieng,Otieno,0733 000 444'],
    products: ['sku,name,category,price', 'IMP-84,Home system 84 W,home_system,34000'],
    pay_plans: [
      'name,product,deposit,instalment,instalment_count,frequency,grace_days,auto_suspend',
      'Suspended and back,IMP-84,2000,400,10,weekly,7,yes',
    ],
  };
  const header = 'external_id,account_number,customer,product,pay_plan,opened_at';
  const first = await importAll(service, {
    ...files,
    accounts: [header, 'A-6,,C-6,IMP-84,Suspended and back,2026-09-01'],
  });
  const path = '/accounts/by-external-id/A-6';
  await suspendLateAccounts(service.context, service.context.clock.now(), new AbortController().signal);
  const { accountNumber, status } = (await service.call('GET', path)).body.data;
  expect(status).toBe('suspended');
  expect(await runImportJob(service, first.id, 'undo')).toMatchObject({ status: 'undone' });

  await importAll(service, {
    ...files,
    accounts: [header, `A-6,${accountNumber},C-6,IMP-84,Suspended and back,2026-09-01`],
  });
  expect((await service.call('GET', path)).body.data).toMatchObject({ accountNumber, status: 'active' });
  await expectProof(service);
});

it('records who checked, ran and undid an import, and the result of each', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: ['external_id,first_name,last_name,phone', 'C-7,Achieng,Otieno,12'],
  });
  await runImportJob(service, id, 'check');
  await uploadFile(
    service,
    id,
    'customers',
    'external_id,first_name,last_name,phone\nC-7,Achieng,Otieno,0733 000 555',
  );
  const [file] = (await service.call('GET', `/imports/${id}`)).body.data.files;
  for (const what of ['check', 'run', 'undo'] as const) await runImportJob(service, id, what);
  const { body } = await service.call(
    'GET',
    `/audit?filter[resource]=import&filter[resourceId]=${id}&sort=id:asc&limit=100`,
  );
  const admin = 'admin@example.com';
  const checked = { status: 'checked', warnings: 0, differences: 0 };
  expect(
    body.data.map(({ actor, action, after }: Record<string, unknown>) => ({ actor, action, after })),
  ).toEqual([
    { actor: admin, action: 'import.checking', after: { status: 'checking', sha256: expect.anything() } },
    { actor: admin, action: 'import.check', after: { ...checked, errors: 1 } },
    {
      ...{ actor: admin, action: 'import.checking' },
      after: { status: 'checking', sha256: { customers: file.sha256 } },
    },
    { actor: admin, action: 'import.check', after: { ...checked, errors: 0 } },
    {
      ...{ actor: admin, action: 'import.running' },
      after: { status: 'running', sha256: { customers: file.sha256 } },
    },
    { actor: admin, action: 'import.complete', after: { status: 'done', rows: { customers: 1 } } },
    { actor: admin, action: 'import.undoing', after: { status: 'undoing' } },
    { actor: admin, action: 'import.undo', after: { status: 'undone' } },
  ]);
});

it('deletes the files and findings of an import on which nobody has worked for 30 days, and no others', async () => {
  setToday(service, '2026-11-02');
  const customers = ['external_id,first_name,last_name,phone', 'C-8,Achieng,Otieno,12'];
  const abandoned = await uploadImport(service, { customers });
  expect(await runImportJob(service, abandoned, 'check')).toMatchObject({ status: 'checked', errors: 1 });
  setToday(service, '2026-12-01');
  const recent = await uploadImport(service, { customers });
  const clean = () => deleteAbandonedFiles(service.context, new AbortController().signal);
  expect(await clean()).toBe(0);

  setToday(service, '2026-12-03');
  expect(await clean()).toBe(1);
  expect(await clean()).toBe(0);
  expect((await service.call('GET', `/imports/${abandoned}`)).body.data).toMatchObject({
    ...{ status: 'uploading', files: [], errors: 0, rows: {} },
  });
  expect(await problemsOf(service, abandoned)).toEqual([]);
  expect((await service.call('GET', `/imports/${recent}`)).body.data.files).toHaveLength(1);
  const { rows } = await service.parts.pool.query('select distinct import_id::int as id from import_chunks');
  expect(rows).toEqual([{ id: recent }]);
});
