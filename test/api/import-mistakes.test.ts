import { expect, it } from 'vitest';
import { dammCheckDigit } from '../../src/accounts/account-number-rules.ts';
import { newAccount, setToday, useJobs, useService, wrongFields } from '../support/harness.ts';
import { importAll, problemsOf, runImportJob, uploadFile, uploadImport } from '../support/imports.ts';

const service = useService({ LOG_LEVEL: 'error' });
useJobs(service);

/** One row for each mistake, with the cell in which it is, and the beginning of its explanation. */
const MISTAKES: Record<string, { header: string; rows: [row: string, column: string, problem: RegExp][] }> = {
  employees: {
    header: 'external_id;name;phone;active',
    rows: [
      ['E-1;Achieng;0733000111;yes', '', /^$/],
      ['E-1;Baraka;;', 'external_id', /is also on line 2/],
      ['E-3;;;', 'name', /is empty/],
      ['E-4;Chebet;2,54733E+11;', 'phone', /spreadsheet has shortened/],
      ['E-5;Daudi;;maybe', 'active', /is neither yes nor no/],
    ],
  },
  products: {
    header: 'sku;name;category;price',
    rows: [
      ['M-1;System;home;34000,50', '', /^$/],
      ['M-2;System;home;34.000,50', 'price', /is not an amount$/],
      ['M-3;System;home;KES 100', 'price', /is not an amount$/],
      ['SHS-40;System;home;1', 'sku', /is in the database already/],
    ],
  },
  pay_plans: {
    header: 'name;product;deposit;instalment;instalment_count;frequency;grace_days',
    rows: [
      ['Plan;M-1;100;10;10;weekly;7', '', /^$/],
      ['Plan 2;M-9;100;10;10;weekly;7', 'product', /is not in the column sku of products/],
      ['Plan 3;;100;0;10;weekly;7', 'instalment', /is not an amount above 0/],
      ['Plan 4;;100;10;10;yearly;7', 'frequency', /is not one of the allowed values/],
    ],
  },
  customers: {
    header: 'external_id;first_name;last_name;phone;email;national_id',
    rows: [
      ['C-1;Wanjiru;Kamau;0712 345 678;w@example.com;1234', '', /^$/],
      ['C-2;Wanjiru;Kamau;12;;', 'phone', /is not a phone number/],
      ['C-3;Wanjiru;Kamau;0712345679;W@Example.com;', 'email', /is also on line 2/],
      ['C-4;Wanjiru;Kamau;0712345670;not an address;', 'email', /is not an e-mail address/],
      ['C-5;Wanjiru;Kamau;0712345671;;12 34', 'national_id', /is also on line 2/],
    ],
  },
  accounts: {
    header:
      'external_id;customer;product;pay_plan;opened_at;status;status_since;status_reason;opening_paid;opening_paid_on',
    rows: [
      ['A-1;C-1;M-1;Plan;13/01/2026;;;;;', '', /^$/],
      ['A-2;C-9;M-1;Plan;13/01/2026;;;;;', 'customer', /is not in the column external_id of customers/],
      ['A-3;C-1;M-1;Plan;01/25/2026;;;;;', 'opened_at', /is not a date|has the month first/],
      ['A-4;C-1;M-1;Plan;2026-01-13;defaulted;2026-02-01;;;', 'status_reason', /needs a reason/],
      ['A-5;C-1;M-1;Plan;2026-01-13;completed;;;;', 'status', /is not possible/],
      ['A-6;C-1;SHS-40;Plan;2026-01-13;;;;;', 'pay_plan', /is only for the product M-1/],
      ['A-7;C-1;M-1;Plan;2026-01-13;;;;50;', 'opening_paid_on', /is empty, but opening_paid is given/],
      ['A-8;C-1;M-1;Plan;2026-12-13;;;;;', 'opened_at', /later than today/],
    ],
  },
  payments: {
    header:
      'external_id;account;amount;payment_date;payment_method;transaction_ref;reversed_at;reversal_reason',
    rows: [
      ['P-1;A-4;100;2026-02-01;cash;REF1;;', '', /^$/],
      ['P-2;A-4;100;2026-02-01;cash;ref1;;', 'transaction_ref', /is also on line 2/],
      ['P-3;A-9;100;2026-02-01;cash;;;', 'account', /is not in the column external_id of accounts/],
      ['P-4;A-4;-5;2026-02-01;cash;;;', 'amount', /is not an amount above 0/],
      ['P-5;A-4;5,550;2026-02-01;cash;;;', 'amount', /separator may be for thousands or for decimals/],
      ['P-6;A-4;100;2025-12-31;cash;;;', 'payment_date', /before the account was opened/],
      ['P-7;A-4;100;2026-12-31;cash;;;', 'payment_date', /later than today/],
      ['P-8;A-4;100;46054;cash;;;', 'payment_date', /number by which the spreadsheet stores a date/],
      ['P-9;A-4;100;01.02.26;cash;;;', 'payment_date', /year of two digits/],
      ['P-10;A-4;100;2026-02-01;barter;;;', 'payment_method', /is not in the column code/],
      ['P-11;A-4;100;2026-02-01;cash;;2026-02-03;', 'reversal_reason', /is empty, but reversed_at is given/],
    ],
  },
  credit_moves: {
    header: 'account;to_account;amount;reason;moved_on;payment_method',
    rows: [
      ['A-5;;10;Paid twice;2026-03-01;cash', 'amount', /more than the credit/],
      ['A-4;A-4;10;Wrong account;2026-03-01;', 'to_account', /is the account that gave the credit/],
    ],
  },
};

/** The numbers of rows that an import could add. */
async function totals(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const path of ['/customers', '/accounts', '/payments', '/employees'])
    counts[path] = (await service.call('GET', path)).body.pagination.total;
  return counts;
}

it('reports more than thirty kinds of mistakes with their places, and writes nothing', async () => {
  setToday(service, '2026-11-02');
  const before = await totals();
  const files = Object.fromEntries(
    Object.entries(MISTAKES).map(([file, { header, rows }]) => [file, [header, ...rows.map(([row]) => row)]]),
  );
  const id = await uploadImport(service, files);
  const checked = await runImportJob(service, id, 'check');
  expect(checked).toMatchObject({ status: 'checked' });
  const problems = await problemsOf(service, id);
  const expected = Object.entries(MISTAKES).flatMap(([file, { rows }]) =>
    rows.flatMap(([, column, problem], at) =>
      column === '' ? [] : [{ file, line: at + 2, column, problem }],
    ),
  );
  expect(expected.length).toBeGreaterThan(30);
  for (const { file, line, column, problem } of expected) {
    const found = problems.filter((one) => one.file === file && one.line === line && one.column === column);
    expect(found, `${file} line ${line}, ${column}`).toEqual([
      expect.objectContaining({
        severity: 'error',
        problem: expect.stringMatching(problem),
        allowed: expect.any(String),
      }),
    ]);
  }
  const places = new Set(expected.map(({ file, line, column }) => `${file} ${line} ${column}`));
  const others = problems.filter(({ file, line, column }) => !places.has(`${file} ${line} ${column}`));
  // The transfer to the giver itself also finds no credit.
  expect(others.filter(({ file }) => file !== 'credit_moves')).toEqual([]);
  expect(checked.errors).toBe(problems.length);

  const run = await service.call('POST', `/imports/${id}/run`);
  expect(run.status).toBe(400);
  expect(run.body.error.message).toContain(`${checked.errors} errors`);
  expect(await totals()).toEqual(before);
  expect((await service.call('GET', '/employees?filter[externalId]=E-1')).body.data).toEqual([]);
});

it.each([
  [
    'letters of Windows-1252',
    Buffer.from('external_id,name\r\nE-1,Ren\xe9\r\n', 'latin1'),
    /letters that are not UTF-8/,
  ],
  ['a spreadsheet', Buffer.from('PK\x03\x04xlsx'), /is a spreadsheet/],
  ['no header', Buffer.from('E-1,Achieng\r\n'), /has no header/],
  [
    'an unknown column',
    Buffer.from('external_id,name,shoe size\r\nE-1,A,44\r\n'),
    /is not a column of employees/,
  ],
  ['a missing column', Buffer.from('external_id\r\nE-1\r\n'), /is missing in the header/],
  [
    'an open quote',
    Buffer.from('external_id,name\r\nE-1,"Achieng\r\n'),
    /quote that is opened but not closed/,
  ],
  ['nothing', Buffer.from(' '), /is empty|has no header/],
])('explains a file with %s', async (_name, content, problem) => {
  const id = await uploadImport(service, { employees: content });
  expect(await runImportJob(service, id, 'check')).toMatchObject({ status: 'checked', errors: 1 });
  const [found] = await problemsOf(service, id);
  expect(found).toMatchObject({ file: 'employees', problem: expect.stringMatching(problem) });
  const csv = await service.call('GET', `/imports/${id}/problems.csv`);
  expect(csv.text).toMatch(/^file,line,column,value,severity,problem,allowed\r\nemployees\.csv,/);

  await uploadFile(service, id, 'employees', 'Name\tEXTERNAL ID\tactive\r\nAchieng\tE-1\tTRUE\r\n');
  expect(await runImportJob(service, id, 'check')).toMatchObject({
    status: 'checked',
    errors: 0,
    rows: { employees: 1 },
  });
});

it('names no line for a quote that is never closed, because it may be on any line', async () => {
  const id = await uploadImport(service, { employees: 'external_id,name\r\nE-1,"Achieng\r\nE-2,Otieno\r\n' });
  await runImportJob(service, id, 'check');
  expect(await problemsOf(service, id)).toMatchObject([{ file: 'employees', line: null, column: null }]);
});

it('does not start a run without a check, or a check without files', async () => {
  const { body } = await service.call('POST', '/imports');
  const empty = await service.call('POST', `/imports/${body.data.id}/check`);
  expect(empty.status).toBe(400);
  const unchecked = await service.call('POST', `/imports/${body.data.id}/run`);
  expect(unchecked.body.error.details).toMatchObject({ from: 'uploading', to: 'running' });
  const unknown = await service.call('PUT', `/imports/${body.data.id}/files/secrets`, 'a', {
    headers: { 'content-type': 'text/csv' },
  });
  expect(wrongFields(unknown)).toEqual(['file']);
});

const PLAN_COLUMNS = 'name,product,deposit,instalment,instalment_count,frequency,grace_days';
/** A customer, a product and a pay plan. Their keys end in the number. */
const catalogue = (n: number) => ({
  customers: ['external_id,first_name,last_name,phone', `C-${n},Wanjiru,Kamau,0712 345 6${n}`],
  products: ['sku,name,category,price', `T-${n},Home system,home_system,34000`],
  pay_plans: [PLAN_COLUMNS, `Plan ${n},T-${n},2000,400,10,weekly,7`],
});
const ACCOUNTS = 'external_id,account_number,customer,product,pay_plan,opened_at';

it('refuses payments that a notification of their transaction would post again or could not find', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    ...catalogue(90),
    accounts: [ACCOUNTS, 'A-90,,C-90,T-90,Plan 90,2026-09-01'],
    payments: [
      'account,amount,payment_date,payment_method,transaction_ref,provider,provider_transaction_id',
      'A-90,100,2026-09-01,mobile_money,TWICE1,mpesa,TWICE1',
      'A-90,100,2026-09-01,mobile_money,TWICE2,mobile_money,TWICE2',
      'A-90,100,2026-09-01,mobile_money,TWICE3,mobilemoney,TWICE4',
      'A-90,100,2026-09-01,mobile_money,TWICE5,MobileMoney,twice 5',
      'A-90,100,2026-09-01,cash,twice5,,',
      'A-90,100,2026-09-01,mobile_money,TWICE6,,TWICE6',
    ],
  });
  expect(await runImportJob(service, id, 'check')).toMatchObject({ status: 'checked' });
  const allowed = 'mobilemoney, tigopesa, or an empty cell';
  const provider = { column: 'provider', problem: 'is not one of the allowed values', allowed };
  expect(await problemsOf(service, id)).toMatchObject([
    { line: 2, value: 'mpesa', ...provider },
    { line: 3, value: 'mobile_money', ...provider },
    { line: 7, column: 'provider', problem: 'is empty, but provider_transaction_id is given' },
    { line: 4, column: 'transaction_ref', problem: 'is not the provider_transaction_id TWICE4' },
    {
      ...{ line: 6, column: 'transaction_ref', value: 'twice5' },
      problem: "is also the reference of a provider's payment on line 5, so the payment would count twice",
    },
  ]);
});

it('refuses an account number above which new accounts would have no numbers', async () => {
  setToday(service, '2026-11-02');
  const files = catalogue(91);
  const account = (number: string) => [ACCOUNTS, `A-91,${number},C-91,T-91,Plan 91,2026-09-01`];
  const before = await totals();
  for (const number of ['ACC90071992547409917', `ACC1000000000${dammCheckDigit('1000000000')}`]) {
    const id = await uploadImport(service, { ...files, accounts: account(number) });
    expect(await runImportJob(service, id, 'check')).toMatchObject({ errors: 1 });
    expect(await problemsOf(service, id)).toMatchObject([
      {
        ...{ file: 'accounts', line: 2, column: 'account_number', value: number },
        problem: expect.stringMatching(/^has too many digits/),
        allowed: 'an account number of at most ten digits, or an empty cell for a new number',
      },
    ]);
  }
  const largest = `ACC999999999${dammCheckDigit('999999999')}`;
  await importAll(service, { ...files, accounts: account(largest) });
  const { accountNumber } = await newAccount(service);
  expect(accountNumber).toMatch(/^ACC1000000\d{4}$/);
  expect((await totals())['/accounts']).toBe((before['/accounts'] ?? 0) + 2);
});

it('shows a value that contradicts another one as it is in the file, once', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: ['external_id,first_name,last_name,phone', 'C-92,Wanjiru,Kamau,0712 345 692'],
    products: ['sku,name,category,price', 'T-92,Home system,home_system,34000'],
    pay_plans: [PLAN_COLUMNS, 'Shown,T-92,2000,400,10,weekly,7'],
    accounts: [
      'external_id;customer;product;pay_plan;opened_at;opening_paid;opening_paid_on;status;status_since;status_reason',
      'A-92;C-92;T-92;Shown;05/01/2027;;;;;',
      'A-93;C-92;T-92;Shown;13/01/2026;5000;3/11/2026;;;',
      'A-94;C-92;T-92;Shown;13/01/2026;6000;20/01/2026;Written off;21/01/2026;Lost',
      'A-95;C-92;T-92;Shown;13/01/2026;;;Suspended;3/11/2026;',
    ],
    payments: ['account;amount;payment_date;payment_method', 'A-93;10;20/01/2026;cash'],
    credit_moves: [
      'account;to_account;amount;reason;moved_on;payment_method',
      'A-95;;7,5;Paid twice;20/01/2026;cash',
    ],
  });
  expect(await runImportJob(service, id, 'check')).toMatchObject({ status: 'checked' });
  const found = await problemsOf(service, id);
  expect(found.map(({ file, line, column, value }) => [file, line, column, value])).toEqual([
    ['accounts', 2, 'opened_at', '05/01/2027'],
    ['accounts', 3, 'opening_paid', '5000'],
    ['accounts', 3, 'opening_paid_on', '3/11/2026'],
    ['accounts', 5, 'status_since', '3/11/2026'],
    ['accounts', 4, 'status', 'Written off'],
    ['credit_moves', 2, 'amount', '7,5'],
  ]);
});
