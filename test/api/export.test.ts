import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { FILE_NAMES, FORMAT } from '../../src/portfolio/format-rules.ts';
import { guarded, unguarded } from '../../src/portfolio/spreadsheet-guard-rules.ts';
import { exportFiles, rowsOf } from '../support/export-files.ts';
import {
  accountNow,
  dataOf,
  move,
  newAccount,
  newCustomer,
  notify,
  pay,
  reverse,
  setToday,
  startRequestJobs,
  startServiceForTest,
  type TestService,
  useService,
} from '../support/harness.ts';
import { expectProof, importAll, problemsOf, runImportJob, uploadImport } from '../support/imports.ts';
import { until } from '../support/waiting.ts';

const service = useService();

beforeEach(() => setToday(service, '2026-11-02'));

async function rowsNow() {
  const files = await exportFiles(service);
  return Object.fromEntries(FILE_NAMES.map((name) => [name, rowsOf(files[name])]));
}

describe('an export', () => {
  it('has a file with every column of the format for each kind of row', async () => {
    const files = await exportFiles(service);
    expect(Object.keys(files)).toEqual(FILE_NAMES);
    for (const name of FILE_NAMES) {
      const [header = ''] = files[name].toString('utf8').split('\n');
      expect(header, name).toBe(
        `\ufeff${[...FORMAT[name].columns.map((column) => column.name), 'format_2'].join(',')}`,
      );
    }
  });

  it('contains an account with its customer, terms, history, payments and figures', async () => {
    const customer = await newCustomer(service, {
      externalId: 'CRM-7',
      firstName: '=HYPERLINK("http://example.com")',
      metadata: { region: 'north' },
      secondPhone: '+254733000777',
      language: 'sw',
    });
    const account = await newAccount(service, { customerId: customer.id, externalId: 'LOAN-7' });
    await pay(service, account.id, 2_400, { transactionRef: 'R-7', externalId: 'PAY-7' });
    const wrong = await pay(service, account.id, 99.5);
    setToday(service, '2026-11-03');
    await reverse(service, wrong.id);
    await move(service, account.id, 'suspended');

    const rows = await rowsNow();
    expect(rows.customers?.find((row) => row.external_id === 'CRM-7')).toMatchObject({
      first_name: `'=HYPERLINK("http://example.com")`,
      phone: `'${customer.phone}`,
      second_phone: `'+254733000777`,
      language: 'sw',
      metadata: '{"region": "north"}',
    });
    expect(rows.accounts?.find((row) => row.external_id === 'LOAN-7')).toMatchObject({
      account_number: account.accountNumber,
      customer: 'CRM-7',
      product: 'SHS-40',
      pay_plan: 'Weekly, one year',
      opened_at: expect.stringMatching(/^2026-11-02T09:\d\d:/),
      activation_date: '2026-11-02',
      deposit: '2000.00',
      instalment: '400.00',
      instalment_count: '52',
      frequency: 'weekly',
      grace_days: '7',
      status: 'suspended',
      source_payment_count: '1',
      source_paid: '2400.00',
      source_balance: '20400.00',
      source_paid_until: '2026-11-15',
    });
    expect(rows.account_changes?.filter((row) => row.account === 'LOAN-7')).toEqual([
      {
        account: 'LOAN-7',
        status: 'suspended',
        changed_on: '2026-11-03',
        reason: 'now suspended',
        cause: '',
        changed_at: expect.stringMatching(/^2026-11-03T09:\d\d:/),
      },
    ]);
    expect(rows.payments?.filter((row) => row.account === 'LOAN-7')).toMatchObject([
      { external_id: 'PAY-7', amount: '2400.00', transaction_ref: 'R-7', payment_method: 'cash' },
      {
        external_id: '',
        amount: '99.50',
        payment_date: '2026-11-02',
        reversed_at: expect.stringMatching(/^2026-11-03T09:\d\d:/),
        reversal_reason: 'entered by mistake',
      },
    ]);
  });

  it('gives a row without external id a key that no external id has', async () => {
    const taken = await newCustomer(service, { externalId: 'export1-1' });
    const customer = await newCustomer(service);
    const account = await newAccount(service, { customerId: customer.id });
    const rows = await rowsNow();
    expect(rows.customers?.at(-2)?.external_id).toBe(taken.externalId);
    expect(rows.customers?.at(-1)?.external_id).toBe(`export2-${customer.id}`);
    expect(rows.accounts?.at(-1)).toMatchObject({
      external_id: `export1-${account.id}`,
      customer: `export2-${customer.id}`,
    });
  });

  it('contains unmatched payments without an account, and the time of their assignment', async () => {
    await notify(service, { TransID: 'EXPORT0001', BillRefNumber: 'nobody' });
    await notify(service, { TransID: 'EXPORT0002', BillRefNumber: 'nobody' });
    const account = await newAccount(service, { externalId: 'LOAN-8' });
    const { body } = await service.call('GET', '/payments?filter[transactionRef]=EXPORT0002');
    setToday(service, '2026-11-04');
    const assigned = await service.call('POST', `/payments/${body.data[0].id}/assign`, {
      accountId: account.id,
    });
    expect(assigned.status, assigned.text).toBe(200);
    const rows = await rowsNow();
    const payment = (id: string) => rows.payments?.find((row) => row.provider_transaction_id === id);
    expect(payment('EXPORT0001')).toMatchObject({ account: '', assigned_at: '', provider: 'mobilemoney' });
    expect(payment('EXPORT0002')).toMatchObject({
      account: 'LOAN-8',
      assigned_at: expect.stringMatching(/^2026-11-04T09:\d\d:/),
    });
  });

  it('contains transfers and refunds of credit', async () => {
    const giver = await newAccount(service, { externalId: 'GIVER' });
    await newAccount(service, { externalId: 'TAKER' }).then(async (taker) => {
      await pay(service, giver.id, 23_000);
      await service.call('POST', `/accounts/${giver.id}/credit/transfer`, {
        toAccountId: taker.id,
        amount: 50,
        reason: 'same family',
      });
    });
    await service.call('POST', `/accounts/${giver.id}/credit/refund`, {
      amount: 20,
      reason: 'paid twice',
      paymentMethodId: 2,
    });
    const rows = await rowsNow();
    expect(rows.credit_moves).toMatchObject([
      { account: 'GIVER', to_account: 'TAKER', amount: '50.00', payment_method: '' },
      { account: 'GIVER', to_account: '', amount: '20.00', payment_method: 'cash' },
    ]);
  });

  it('protects every text from formulas so that it can be restored', async () => {
    const unit = fc.constantFrom(...'=\'+-@,;|\t\n " 019a:/.Emé\u00a0\u200b\uff1d\u3000ü'.split(''));
    const words = fc.constantFrom(..."' - / 1 12 2026 MAR fév Mei E e+ am TRUE x".split(' '), ' ', '\n');
    const texts = fc.sample(
      fc.oneof(
        fc.string({ unit, minLength: 1, maxLength: 24 }),
        fc.array(words, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
      ),
      { numRuns: 1_000, seed: 1 },
    );
    await sql`insert into products (sku, name, category, description, price_minor)
      select 'TEXT-' || n, 'name', 'text', text, 0
      from unnest(${texts}::text[]) with ordinality as t (text, n)`.execute(service.context.db);
    const rows = await rowsNow();
    const written = rows.products
      ?.filter(({ sku }) => sku?.startsWith('TEXT-'))
      .map((row) => row.description);
    expect(written).toEqual(texts.map((text) => guarded(text, 2)));
    expect(written?.map((text) => unguarded(text ?? '', 2))).toEqual(texts);
    expect(written?.some((text) => /^[\s\u200b]*[=+@-]/.test(text ?? ''))).toBe(false);
    await sql`delete from products where category = 'text'`.execute(service.context.db);
  });

  it('contains the rows of one moment', async () => {
    const account = await newAccount(service, { externalId: 'MOMENT' });
    let stop = false;
    let paidCount = 0;
    const paying = (async () => {
      for (; !stop; paidCount += 1) await pay(service, account.id, 1);
    })();
    try {
      for (let n = 0; n < 5; n += 1) {
        const before = paidCount;
        await until('the next payment', () => paidCount > before);
        const rows = await rowsNow();
        const payments = rows.payments?.filter((row) => row.account === 'MOMENT');
        const figures = rows.accounts?.find((row) => row.external_id === 'MOMENT');
        expect(figures?.source_paid).toBe(`${payments?.length}.00`);
      }
    } finally {
      stop = true;
      await paying;
    }
  });

  it('that cannot start is answered with 503, and is not a broken download', async () => {
    await sql`alter table payment_methods rename to renamed`.execute(service.context.db);
    try {
      const answer = await service.call('GET', '/exports/portfolio', undefined, {
        token: service.adminToken,
      });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await sql`alter table renamed rename to payment_methods`.execute(service.context.db);
    }
  });
});

describe('a template', () => {
  it.each(FILE_NAMES)('of %s has the header and the example of the format', async (file) => {
    const answer = await service.call('GET', `/imports/templates/${file}`);
    expect(answer.status).toBe(200);
    const { columns } = FORMAT[file];
    expect(answer.text.split('\r\n')[0]).toBe(columns.map(({ name }) => name).join(','));
    const examples = columns.map(({ name, example }) => [name, example]);
    const rows = rowsOf(Buffer.from(answer.text)).map((row) =>
      Object.entries(row).map(([name, cell]) => [name, unguarded(cell, 1)]),
    );
    expect(rows).toEqual(file === 'credit_moves' ? [] : [examples]);
  });
});

it('an export of imported rows has every cell of the import', async () => {
  const names = ['employees', 'products', 'customers'] as const;
  const cellsOf = (name: (typeof names)[number]) =>
    FORMAT[name].columns
      .filter(({ example }) => example !== '')
      .map((column) => [column.name, column.example]);
  const quoted = (texts: (string | undefined)[]) => texts.map((text) => `"${text}"`).join(',');
  const lines = names.map((name) => [
    name,
    [quoted(cellsOf(name).map(([column]) => column)), quoted(cellsOf(name).map(([, cell]) => cell))],
  ]);
  const jobs = startRequestJobs(service);
  try {
    // The check warns of example rows, and imports them.
    const id = await uploadImport(service, Object.fromEntries(lines));
    expect(await runImportJob(service, id, 'check')).toMatchObject({ status: 'checked', errors: 0 });
    expect(await runImportJob(service, id, 'run')).toMatchObject({ status: 'done', failure: null });
  } finally {
    await jobs.stop();
  }
  const rows = await rowsNow();
  for (const name of names) {
    const last = Object.entries(rows[name]?.at(-1) ?? {}).map(([column, cell]) => [
      column,
      unguarded(cell, 2),
    ]);
    expect(Object.fromEntries(last), name).toMatchObject(Object.fromEntries(cellsOf(name)));
  }
});

it('an export of payments that were taken off accounts is imported again, with the credit that left before', async () => {
  const source = await startServiceForTest();
  const target = await startServiceForTest();
  const jobs = startRequestJobs(target);
  try {
    setToday(source, '2026-11-02');
    setToday(target, '2026-11-05');
    const post = async (path: string, body: object) => {
      const answer = await source.call('POST', path, body);
      expect([200, 201], answer.text).toContain(answer.status);
    };
    const account = await newAccount(source, { externalId: 'OVERPAID' });
    const other = await newAccount(source, { externalId: 'OTHER' });
    await notify(source, { TransID: 'MOVED1', TransAmount: '22800.00', BillRefNumber: 'nobody' });
    const { body } = await source.call('GET', '/payments?filter[transactionRef]=MOVED1');
    const { id } = body.data[0];
    setToday(source, '2026-11-03');
    await post(`/payments/${id}/assign`, { accountId: account.id });
    await pay(source, account.id, 300);
    await post(`/accounts/${account.id}/credit/refund`, {
      amount: 300,
      reason: 'too much',
      paymentMethodId: 2,
    });
    const moved = await pay(source, account.id, 500);
    setToday(source, '2026-11-04');
    for (const paymentId of [id, moved.id])
      await post(`/payments/${paymentId}/unassign`, { reason: 'not theirs' });
    await post(`/payments/${moved.id}/assign`, { accountId: other.id });

    // Texts that a spreadsheet converts, and values that earlier versions accepted.
    await sql`update customers set first_name = ' MAR1 ', last_name = '''12E45', national_id = '5-12', external_id = '12E45'
      where id = (select max(id) from customers)`.execute(source.context.db);
    await sql`update products set sku = ' 3/4 ', name = '254712345678' where id = 1`.execute(
      source.context.db,
    );

    const files = await exportFiles(source);
    expect(rowsOf(files.customers).at(-1)).toMatchObject({
      ...{ first_name: "' MAR1 ", last_name: "''12E45", national_id: "'5-12", external_id: "'12E45" },
    });
    expect(rowsOf(files.payments).map((row) => JSON.parse(row.earlier_assignments || '[]'))).toMatchObject([
      [{ account: 'OVERPAID', assigned_at: expect.stringMatching(/^2026-11-03T/) }],
      [],
      [{ account: 'OVERPAID', assigned_at: null, unassigned_at: expect.stringMatching(/^2026-11-04T/) }],
    ]);
    for (const table of ['pay_plans', 'product_configurations', 'products', 'employees'])
      await sql`delete from ${sql.table(table)}`.execute(target.context.db);
    await importAll(target, files);
    await expectProof(target);
    const figures = async (one: typeof source, externalId: string) =>
      (await one.call('GET', `/accounts/by-external-id/${externalId}`)).body.data;
    for (const [externalId, paid] of [
      ['OVERPAID', 0],
      ['OTHER', 500],
    ] as const) {
      const { status, balance, credit } = await figures(source, externalId);
      expect(await figures(target, externalId)).toMatchObject({ status, balance, credit, paid });
    }
    const again = await exportFiles(target);
    for (const name of FILE_NAMES) expect(again[name].toString(), name).toBe(files[name].toString());

    const [header = '', row = ''] = files.payments.toString('utf8').split('\n');
    const id2 = await uploadImport(target, { payments: [header, row.replace('MOVED1', 'MOVED2')] });
    await runImportJob(target, id2, 'check');
    expect(await problemsOf(target, id2)).toContainEqual(
      expect.objectContaining({
        column: 'earlier_assignments',
        problem: 'names the account OVERPAID, which is not in the column external_id of accounts.csv',
      }),
    );
  } finally {
    await jobs.stop();
  }
});

it('moves an account whose instalments are not equal, with its schedule', async () => {
  const source = await startServiceForTest();
  const target = await startServiceForTest();
  const jobs = [source, target].map(startRequestJobs);
  try {
    for (const one of [source, target]) setToday(one, '2026-11-02');
    const runs = [
      { anchor: '2026-08-31', unit: 'month', every: 1, place: 0, count: 3, amount: '700.00' },
      { anchor: '2027-02-15', unit: 'month', every: 12, place: 0, count: 1, amount: '650.50' },
    ];
    const quoted = `"${JSON.stringify(runs).replaceAll('"', '""')}"`;
    await importAll(source, {
      customers: ['external_id,first_name,last_name,phone', 'C-1,Wanjiru,Kamau,0712 345 678'],
      pay_plans: [
        'name,deposit,instalment,instalment_count,frequency,grace_days',
        'Four months,500,700,4,monthly,3',
      ],
      accounts: [
        'external_id,customer,product,pay_plan,opened_at,deposit,instalment,instalment_count,frequency,grace_days,schedule',
        `A-1,C-1,SHS-40,Four months,2026-08-01,500,700,4,monthly,3,${quoted}`,
        // Equal instalments, so the service does not store the runs.
        `A-2,C-1,SHS-40,"Monthly, two years",2026-08-01,5000,2500,24,monthly,14,"[{""anchor"":""2026-08-01"",""unit"":""month"",""every"":1,""place"":1,""count"":24,""amount"":""2500.00""}]"`,
      ],
      payments: ['external_id,account,amount,payment_date,payment_method', 'P-1,A-1,2000,2026-09-30,cash'],
    });
    await expectProof(source);
    const files = await exportFiles(source);
    const [first, second] = rowsOf(files.accounts);
    expect(JSON.parse(first?.schedule ?? '')).toEqual(runs);
    expect(second?.schedule).toBe('');
    for (const table of ['pay_plans', 'product_configurations', 'products', 'employees'])
      await sql`delete from ${sql.table(table)}`.execute(target.context.db);
    await importAll(target, files);
    await expectProof(target);
    const again = await exportFiles(target);
    for (const name of FILE_NAMES) expect(again[name].toString(), name).toBe(files[name].toString());

    for (const one of [source, target]) {
      const { id, ...account } = (await one.call('GET', '/accounts/by-external-id/A-1')).body.data;
      expect(account).toMatchObject({
        ...{ total: 3250.5, paid: 2000, balance: 1250.5, arrears: 600, hasEqualInstalments: false },
        ...{ instalmentAmount: 700, instalmentCount: 4, nextDueDate: '2026-10-31', nextDueAmount: 600 },
      });
      const [listed] = (await one.call('GET', `/accounts?filter[id]=${id}`)).body.data;
      expect({ id, ...account }).toMatchObject(listed);
      const { items } = (await one.call('GET', `/accounts/${id}/schedule`)).body.data;
      expect(items.map((item: { dueDate: string; amount: number }) => [item.dueDate, item.amount])).toEqual([
        ['2026-08-01', 500],
        ['2026-08-31', 700],
        ['2026-09-30', 700],
        ['2026-10-31', 700],
        ['2027-02-15', 650.5],
      ]);
      const { body } = await one.call('GET', `/accounts/${id}/quote?date=2027-02-15`);
      expect(body.data).toMatchObject({ overdue: 600, dueOnDate: 650.5, settlement: 1250.5 });
      expect(body.data.explanation).toMatchObject({
        instalments: [
          { count: 3, amount: 700 },
          { count: 1, amount: 650.5 },
        ],
        charged: 3250.5,
      });
      await pay(one, id, 700);
      const after = (await one.call('GET', `/accounts/${id}`)).body.data;
      expect(after).toMatchObject({ nextDueDate: '2027-02-15', nextDueAmount: 550.5, arrears: 0 });
      await expectProof(one);
    }
  } finally {
    for (const started of jobs) await started.stop();
  }
});

it('moves a pay plan with a price and months without dues, and gives its schedule to imported accounts', async () => {
  const source = await startServiceForTest();
  const target = await startServiceForTest();
  const jobs = [source, target].map(startRequestJobs);
  try {
    for (const one of [source, target]) setToday(one, '2026-11-02');
    await importAll(source, {
      customers: ['external_id,first_name,last_name,phone', 'C-1,Wanjiru,Kamau,0712 345 678'],
      pay_plans: [
        'name,deposit,instalment,instalment_count,price,rounding_unit,frequency,every,months_without_dues,grace_days',
        'Fields,100,250,4,1000,50,monthly,2,5 7,3',
      ],
      accounts: [
        'external_id,customer,product,pay_plan,opened_at,deposit,instalment,instalment_count,frequency',
        'A-1,C-1,SHS-40,Fields,2026-01-31,,,,',
        'A-6,C-1,SHS-40,Fields,2026-01-31,100,,,monthly',
      ],
    });
    const planned = {
      name: 'Sold here',
      deposit: 100,
      price: 1_000,
      instalmentCount: 7,
      frequency: 'weekly',
    };
    const { id: payplanId } = (await source.call('POST', '/payplans', { ...planned, roundingUnit: 300 })).body
      .data;
    await newAccount(source, { payplanId, externalId: 'A-3' });
    const entries = [
      { month: 9, day: 30, shareBasisPoints: 4_000 },
      { month: 2, day: 29, shareBasisPoints: 6_000 },
    ];
    const harvest = {
      name: 'Harvest',
      deposit: 100,
      price: 1_255,
      harvest: { entries, cycles: 2, leadDays: 60 },
    };
    const { id: harvestId } = (await source.call('POST', '/payplans', harvest)).body.data;
    await newAccount(source, { payplanId: harvestId, externalId: 'A-4' });
    await expectProof(source);
    const files = await exportFiles(source);
    for (const table of ['pay_plans', 'product_configurations', 'products', 'employees'])
      await sql`delete from ${sql.table(table)}`.execute(target.context.db);
    await importAll(target, files);
    await expectProof(target);
    const again = await exportFiles(target);
    for (const name of FILE_NAMES) expect(again[name].toString(), name).toBe(files[name].toString());
    for (const one of [source, target]) {
      const schedule = (externalId: string) => scheduleOf(one, externalId);
      const fields = [
        '2026-01-31 100',
        '2026-03-31 250',
        '2026-09-30 250',
        '2026-11-30 250',
        '2027-01-31 150',
      ];
      expect(await schedule('A-1')).toEqual(fields);
      expect(await schedule('A-6')).toEqual(fields); // It repeats terms of its plan.
      expect(await schedule('A-3')).toHaveLength(4);
      const harvests = ['2027-02-28 346', '2027-09-30 231', '2028-02-29 346', '2028-09-30 232'];
      expect(await schedule('A-4')).toEqual(['2026-11-02 100', ...harvests]);
    }
    // An account without terms of its own follows the harvest plan, whether it is in the database or in the file.
    const header =
      'name,deposit,instalment,instalment_count,price,rounding_unit,frequency,every,harvest,harvest_cycles,lead_days,grace_days';
    const inFile = [header, 'Harvest 2,100,500,4,1255,1,monthly,12,09-30 4000; 02-29 6000,2,60,3'];
    for (const [one, plan, more] of [
      [source, 'Harvest', {}],
      [target, 'Harvest 2', { pay_plans: inFile }],
    ] as const) {
      const accounts = [
        'external_id,customer,product,pay_plan,opened_at',
        `A-5,C-1,SHS-40,${plan},2026-01-01`,
      ];
      await importAll(one, { ...more, accounts });
      expect(await scheduleOf(one, 'A-5')).toEqual([
        ...['2026-01-01 100', '2026-09-30 231', '2027-02-28 346', '2027-09-30 231', '2028-02-29 347'],
      ]);
      await expectProof(one);
    }
  } finally {
    for (const started of jobs) await started.stop();
  }
});

it('warns of an account with equal instalments on a pay plan with others', async () => {
  const jobs = startRequestJobs(service);
  try {
    const id = await uploadImport(service, {
      customers: ['external_id,first_name,last_name,phone', 'OWN-1,Wanjiru,Kamau,0712 345 679'],
      pay_plans: [
        'name,deposit,instalment,instalment_count,price,rounding_unit,frequency,every,months_without_dues,grace_days',
        'Own terms,100,250,4,1000,50,monthly,2,5 7,3',
      ],
      accounts: [
        'external_id,customer,product,pay_plan,opened_at,deposit,instalment,instalment_count,frequency',
        'OWN-A,OWN-1,SHS-40,Own terms,2026-01-31,100,250,4,monthly',
      ],
    });
    await runImportJob(service, id, 'check');
    expect(await problemsOf(service, id)).toEqual([
      expect.objectContaining({
        column: 'pay_plan',
        problem: expect.stringContaining('and those of the account are equal'),
      }),
    ]);
  } finally {
    await jobs.stop();
  }
});

it('refuses a pay plan whose instalments do not pay its price, or have no month', async () => {
  const jobs = startRequestJobs(service);
  try {
    const id = await uploadImport(service, {
      pay_plans: [
        'name,deposit,instalment,instalment_count,price,rounding_unit,frequency,every,months_without_dues,grace_days',
        'P-1,100,250,3,1000,50,weekly,,,3',
        'P-2,100,250,4,100,50,weekly,,,3',
        'P-3,100,250,4,1000,,weekly,,,3',
        'P-4,100,250,4,,,monthly,12,6,3',
        'P-5,100,250,4,,,monthly,,6 13,3',
        'P-6,100,250,9000,,,weekly,365,,3',
        'P-7,100,250,4,,,weekly,5,6,3',
      ],
    });
    const offers = await uploadImport(service, {
      pay_plans: [
        'name,deposit,instalment,instalment_count,frequency,grace_days,payoff_basis_points,payoff_until,payoff_min_dues',
        'P-1,100,250,4,weekly,3,1000,2027-06-30,2',
        'P-2,100,250,4,weekly,3,1000,,',
        'P-3,100,250,4,weekly,3,,2027-06-30,',
        'P-4,100,250,4,weekly,3,10001,,2',
      ],
    });
    await runImportJob(service, offers, 'check');
    expect((await problemsOf(service, offers)).map(({ line, column }) => `${line} ${column}`).sort()).toEqual(
      ['3 payoff_min_dues', '4 payoff_until', '5 payoff_basis_points'],
    );
    const harvest = await uploadImport(service, {
      pay_plans: [
        'name,deposit,instalment,instalment_count,price,rounding_unit,frequency,every,harvest,harvest_cycles,lead_days,grace_days',
        'P-1,100,500,4,1255,1,monthly,12,09-30 4000; 02-29 6001,2,60,3',
        'P-2,100,500,4,1255,1,monthly,12,02-28 4000; 02-29 6000,2,60,3',
        'P-3,100,500,4,1255,1,monthly,12,09-30 4000; 02-29 6000,,60,3',
        'P-4,100,500,4,1255,1,weekly,12,09-30 4000; 02-29 6000,2,60,3',
        'P-5,100,500,3,1255,1,monthly,12,09-30 4000; 02-29 6000,2,60,3',
        'P-6,100,500,4,1255,300,monthly,12,09-30 4000; 02-29 6000,2,60,3',
      ],
    });
    await runImportJob(service, harvest, 'check');
    const wrong = (await problemsOf(service, harvest)).map(({ line, column }) => `${line} ${column}`);
    expect([...new Set(wrong)].sort()).toEqual([
      '2 harvest',
      '3 harvest',
      '4 harvest',
      '4 harvest_cycles',
      '5 harvest',
      '6 harvest',
      '7 harvest',
    ]);
    await runImportJob(service, id, 'check');
    const problems = await problemsOf(service, id);
    expect(problems.map(({ line, column }) => `${line} ${column}`).sort()).toEqual([
      '2 instalment_count',
      '3 price',
      '4 rounding_unit',
      '5 months_without_dues',
      '6 months_without_dues',
      '7 instalment_count',
      '8 months_without_dues',
    ]);
  } finally {
    await jobs.stop();
  }
});

it.each([
  ['no list of runs', '{}', 'is not a JSON array of runs'],
  ['an amount as a number', run({ amount: 700 }), 'is not a JSON array of runs'],
  ['an unknown field', run({ from: '2026-09-01' }), 'is not a JSON array of runs'],
  ['dates that go back', run({}, {}), 'is not a JSON array of runs'],
  ['a due beyond all dates', run({ every: 3650, place: 10_000 }), 'is not a JSON array of runs'],
  ['another first amount', run({ amount: '699.00' }), 'does not have the first amount'],
  ['another number of instalments', run({ count: 5 }), 'does not have the first amount'],
  [
    'a date before the deposit',
    run({ anchor: '2026-07-31' }),
    'begins before the activation date 2026-08-01',
  ],
])('refuses a schedule with %s', async (_what, schedule, problem) => {
  const jobs = startRequestJobs(service);
  try {
    const id = await uploadImport(service, {
      customers: ['external_id,first_name,last_name,phone', 'C-1,Wanjiru,Kamau,0712 345 678'],
      accounts: [
        'external_id,customer,product,pay_plan,opened_at,deposit,instalment,instalment_count,frequency,grace_days,schedule',
        `A-1,C-1,SHS-40,"Monthly, two years",2026-08-01,500,700,4,monthly,3,"${schedule.replaceAll('"', '""')}"`,
      ],
    });
    await runImportJob(service, id, 'check');
    const problems = await problemsOf(service, id);
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([
      expect.objectContaining({ column: 'schedule', line: 2, problem: expect.stringContaining(problem) }),
    ]);
  } finally {
    await jobs.stop();
  }
});

it('imports an account with a schedule alone, and warns only of a deposit and days of grace that the plan does not have', async () => {
  const one = await startServiceForTest();
  const jobs = startRequestJobs(one);
  try {
    setToday(one, '2026-11-02');
    const first = { count: 1, amount: '400000000000.00' };
    const schedule = `"${run(first, { place: 1, count: 40, amount: '1.00' }).replaceAll('"', '""')}"`;
    const id = await uploadImport(one, {
      customers: ['external_id,first_name,last_name,phone', 'C-1,Wanjiru,Kamau,0712 345 678'],
      accounts: [
        'external_id,customer,product,pay_plan,opened_at,deposit,grace_days,schedule',
        `A-1,C-1,SHS-40,"Monthly, two years",2026-08-01,,,${schedule}`,
        `A-2,C-1,SHS-40,"Monthly, two years",2026-08-01,500,3,${schedule}`,
      ],
    });
    await runImportJob(one, id, 'check');
    expect(await problemsOf(one, id)).toEqual([
      expect.objectContaining({
        ...{ severity: 'warning', line: 3, column: 'pay_plan' },
        problem:
          'has terms that differ from those of the account: deposit is 5000.00, and 500.00 for the account; grace_days is 14, and 3 for the account',
      }),
    ]);
    await runImportJob(one, id, 'run');
    const { data } = (await one.call('GET', '/accounts/by-external-id/A-1')).body;
    expect(data).toMatchObject({ instalmentAmount: 400_000_000_000, instalmentCount: 41, deposit: 5_000 });
  } finally {
    await jobs.stop();
  }
});

function run(...fields: object[]): string {
  const usual = { anchor: '2026-08-01', unit: 'month', every: 1, place: 0, count: 4, amount: '700.00' };
  return JSON.stringify(fields.map((one) => ({ ...usual, ...one })));
}

/** The dates and amounts of the items of an account. */
async function scheduleOf(one: TestService, externalId: string): Promise<string[]> {
  const { id } = (await one.call('GET', `/accounts/by-external-id/${externalId}`)).body.data;
  const { items } = (await one.call('GET', `/accounts/${id}/schedule`)).body.data;
  return items.map((item: { dueDate: string; amount: number }) => `${item.dueDate} ${item.amount}`);
}

it('an export of accounts whose plans were changed is imported with the present terms, and exported again the same', async () => {
  const source = await startServiceForTest();
  const target = await startServiceForTest();
  const jobs = startRequestJobs(target);
  try {
    setToday(source, '2026-11-02');
    setToday(target, '2026-12-20');
    const ids: Record<string, number> = {};
    const offer = { discountBasisPoints: 1_000, until: '2027-06-30', minDues: 3 };
    await dataOf(source.call('PUT', '/payplans/2', { earlyPayoff: offer }));
    const names = [
      'DEFERRED',
      'CORRECTED',
      'UNDONE',
      'HARVESTS',
      'EMPTY',
      'PLAIN',
      'PAID_OFF',
      'REVERSED',
      'RAISED',
    ];
    for (const externalId of names) {
      const { id } = await newAccount(source, { externalId });
      ids[externalId] = id;
      await pay(source, id, 2_400);
    }
    const change = async (externalId: string, body: object) => {
      const path = `/accounts/${ids[externalId]}/plan-changes`;
      const { version, paid } = (await source.call('POST', path, body)).body.data;
      const answer = await source.call('POST', path, {
        ...body,
        reason: 'A test',
        confirm: { version, paid },
      });
      expect(answer.status, answer.text).toBe(201);
    };
    setToday(source, '2026-11-20');
    await change('DEFERRED', { kind: 'deferral', from: '2026-12-07', periods: 2, arrears: 'behind' });
    await change('UNDONE', { kind: 'deferral', from: '2026-12-07', periods: 2 });
    const harvest = {
      ...{ entries: [{ month: 3, day: 31, shareBasisPoints: 10_000 }], cycles: 3, leadDays: 0 },
    };
    await change('HARVESTS', { kind: 'revision', firstDueDate: '2027-01-05', harvest, arrears: 'move' });
    await pay(source, ids.PAID_OFF ?? 0, 18_400);
    await reverse(source, (await pay(source, ids.REVERSED ?? 0, 18_400)).id);
    setToday(source, '2026-12-02');
    await change('DEFERRED', { kind: 'discount', amount: 350 });
    await change('CORRECTED', { kind: 'price_correction', amount: 4_000 });
    await change('UNDONE', { kind: 'undo' });
    await change('EMPTY', { kind: 'price_correction', amount: 20_800 });
    await change('RAISED', { kind: 'price_correction', amount: 20_800 });
    await pay(source, ids.RAISED ?? 0, 900);
    const giveCredit = (path: string, amount: number, body: object) =>
      dataOf(
        source.call('POST', `/accounts/${ids.RAISED}/credit/${path}`, { amount, reason: 'A test', ...body }),
        201,
      );
    await giveCredit('refund', 500, { paymentMethodId: 1 });
    await giveCredit('transfer', 300, { toAccountId: ids.PLAIN });
    setToday(source, '2026-12-05');
    await change('RAISED', { kind: 'undo' });
    setToday(source, '2026-12-20');

    const files = await exportFiles(source);
    const changed = Object.fromEntries(
      rowsOf(files.accounts).map((row) => [
        row.external_id,
        [row.plan_changed_on, row.restructured, row.restructured_on],
      ]),
    );
    expect(changed).toEqual({
      DEFERRED: ['2026-12-02', 'deferral', '2026-11-20'],
      CORRECTED: ['2026-12-02', '', ''],
      UNDONE: ['2026-12-02', '', ''],
      HARVESTS: ['2026-11-20', 'revision', '2026-11-20'],
      EMPTY: ['2026-12-02', '', ''],
      PLAIN: ['', '', ''],
      PAID_OFF: ['2026-11-20', '', ''],
      REVERSED: ['2026-11-20', '', ''],
      RAISED: ['2026-12-05', '', ''],
    });
    expect(await accountNow(source, ids.RAISED ?? 0)).toMatchObject({
      total: 22_800,
      paid: 2_500,
      credit: 0,
    });
    expect(await accountNow(source, ids.PAID_OFF ?? 0)).toMatchObject({ status: 'completed', total: 20_800 });
    for (const table of ['pay_plans', 'product_configurations', 'products', 'employees'])
      await sql`delete from ${sql.table(table)}`.execute(target.context.db);
    const { id: importId } = await importAll(target, files);
    await expectProof(target);
    await expectProof(source);
    const read = async (one: typeof source, path: string) => (await one.call('GET', path)).body.data;
    for (const externalId of Object.keys(ids)) {
      const path = `/accounts/by-external-id/${externalId}`;
      const { planVersion, ...before } = await read(source, path);
      const after = await read(target, path);
      const figures = [
        'total',
        'paid',
        'credit',
        'arrears',
        'nextDueDate',
        'restructured',
        'status',
      ] as const;
      for (const name of figures) expect(after[name], `${externalId} ${name}`).toEqual(before[name]);
      const items = (account: { id: number }, of: typeof source) =>
        read(of, `/accounts/${account.id}/schedule`);
      expect((await items(after, target)).items).toEqual((await items(before, source)).items);
      const changes = await read(target, `/accounts/${after.id}/plan-changes`);
      expect(after.planVersion).toBe(planVersion > 0 ? 1 : 0);
      expect(changes.map(({ kind, effectiveOn }: Record<string, string>) => [kind, effectiveOn])).toEqual(
        planVersion > 0 ? [['imported', changed[externalId]?.[0]]] : [],
      );
    }
    expect((await read(target, '/payplans?filter[name]=Weekly, one year'))[0].earlyPayoff).toEqual(offer);
    const again = await exportFiles(target);
    for (const name of FILE_NAMES) expect(again[name].toString(), name).toBe(files[name].toString());
    expect(await runImportJob(target, importId, 'undo')).toMatchObject({ status: 'undone', failure: null });
    await expectProof(target);
  } finally {
    await jobs.stop();
  }
});
