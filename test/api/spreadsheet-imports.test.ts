import { expect, it } from 'vitest';
import { setToday, useJobs, useService } from '../support/harness.ts';
import { importAll, problemsOf, runImportJob, uploadImport } from '../support/imports.ts';
import { cell, workbook } from '../support/xlsx.ts';

// The files are as LibreOffice 7.4 saves them after it has read what people typed: 0712345678, 05.01.2026, 700,50 and a reference
// of 19 digits.

const service = useService({ LOG_LEVEL: 'error' });
useJobs(service);

const customers = (key: string, phone: string) => [
  'external_id;first_name;last_name;phone',
  `${key};Otieno;Müller;${phone}`,
];
const accounts = (key: string, customer: string, date: string) => [
  'external_id;customer;product;pay_plan;opened_at;source_paid',
  `${key};${customer};SHS-40;Weekly, one year;${date};2000,5`,
];

it('explains short dates and shortened numbers of a spreadsheet with a German locale', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: customers('K-001', '712345678'),
    accounts: accounts('A-1', 'K-001', '05.01.26'),
    payments: [
      'account;amount;payment_date;payment_method;transaction_ref',
      'A-1;2000,5;05.01.26;mobile_money;1,23456789012346E+018',
    ],
  });
  await runImportJob(service, id, 'check');
  const problems = await problemsOf(service, id);
  expect(problems.map(({ severity, file, line, column }) => [severity, file, line, column])).toEqual([
    ['error', 'accounts', 2, 'opened_at'],
    ['error', 'payments', 2, 'payment_date'],
    ['error', 'payments', 2, 'transaction_ref'],
    ['warning', 'customers', 2, 'phone'],
  ]);
  for (const { column, problem, allowed } of problems) {
    if (column === 'payment_date' || column === 'opened_at') {
      expect(problem).toBe('has a year of two digits');
      expect(allowed).toContain('format the column as YYYY-MM-DD');
    }
    if (column === 'transaction_ref') expect(allowed).toContain('format the column as text');
    if (column === 'phone') expect(problem).toContain('is imported as +254712345678');
  }
});

it('imports files whose lines end with CR, and removes spaces around names', async () => {
  setToday(service, '2026-11-02');
  const lines = customers('K-003', '0712 345 679').map((line) =>
    line.replace('Otieno;Müller', ' Otieno ;\u00a0Müller '),
  );
  await importAll(service, {
    customers: lines.join('\r'),
    accounts: accounts('A-3', 'K-003', '05.01.2026').join('\r'),
  });
  const { body } = await service.call('GET', '/customers/by-external-id/K-003');
  expect(body.data).toMatchObject({ firstName: 'Otieno', lastName: 'Müller' });
});

it('asks for dates that a spreadsheet may have swapped, for times of 24 hours, and for dates from 2000', async () => {
  setToday(service, '2026-11-02');
  const header = 'external_id,first_name,last_name,phone,created_at';
  const id = await uploadImport(service, {
    customers: [
      header,
      'K-004,Jane,Doe,0712345680,2026-02-01',
      'K-005,Jane,Doe,0712345681,2026-03-02 10:15',
      'K-006,Jane,Doe,0712345682,13/01/2026 10:15',
    ],
    employees: [
      'external_id,name,created_at',
      'E-1,Jane,2026-01-05 02:15 PM',
      'E-2,Jane,1926-01-05',
      'E-3,Jane,0202-01-05',
    ],
  });
  await runImportJob(service, id, 'check');
  const problems = await problemsOf(service, id);
  expect(problems.map(({ file, line, problem }) => [file, line, problem])).toEqual([
    ['employees', 2, 'has a time with AM or PM'],
    ['employees', 3, 'is before 2000-01-01'],
    ['employees', 4, expect.stringMatching(/is not a date/)],
    ['customers', 2, expect.stringMatching(/may have day and month swapped.*13\/01\/2026 10:15 on line 4/)],
  ]);
});

it('imports ids that look like numbers, and names shortened ones', async () => {
  setToday(service, '2026-11-02');
  const header = 'external_id,name';
  await importAll(service, { employees: [header, '12E45,Jane', 'MAR1,Jane', "'5-12,Jane"] });
  const find = async (id: string) =>
    (await service.call('GET', `/employees/by-external-id/${encodeURIComponent(id)}`)).status;
  expect([await find('12E45'), await find('MAR1'), await find("'5-12")]).toEqual([200, 200, 200]);
  // Only in a file of an export is the apostrophe not a part of the id.
  await importAll(service, { employees: [`${header},format_2`, "'6-12,Jane,"] });
  expect(await find('6-12')).toBe(200);
  const id = await uploadImport(service, {
    employees: [header, '7.1E8,Jane', '1.2E+12,Jane'],
    customers: ['external_id,first_name,last_name,phone,format_3', 'K-9,Jane,Doe,0712345690,'],
  });
  await runImportJob(service, id, 'check');
  expect((await problemsOf(service, id)).map(({ file, line, column }) => [file, line, column])).toEqual([
    ['employees', 2, 'external_id'],
    ['employees', 3, 'external_id'],
    ['customers', 1, 'format_3'],
  ]);
});

it('imports amounts with a decimal comma and dates with dots', async () => {
  setToday(service, '2026-11-02');
  const done = await importAll(service, {
    customers: `\ufeff${customers('K-002', '0712 345 678').join('\n')}\n`,
    accounts: accounts('A-2', 'K-002', '05.01.2026'),
    payments: [
      'account;amount;payment_date;payment_method;transaction_ref',
      'A-2;2000,5;05.01.2026;mobile_money;SAA1B2C3D4',
    ],
  });
  expect(done).toMatchObject({ differences: 0 });
  const { body } = await service.call('GET', '/accounts/by-external-id/A-2');
  expect(body.data).toMatchObject({ paid: 2000.5, activationDate: '2026-01-05' });
});

it('does not read an amount in which a point or a comma may separate thousands', async () => {
  setToday(service, '2026-11-02');
  const header = 'account;amount;payment_date;payment_method';
  const rows = ['A-1;2.400;2026-01-05;cash', 'A-1;2,400;2026-01-05;cash', 'A-1;0,500;2026-01-05;cash'];
  const id = await uploadImport(service, { payments: [header, ...rows] });
  await runImportJob(service, id, 'check');
  const problems = (await problemsOf(service, id)).filter(({ column }) => column === 'amount');
  expect(problems.map(({ line, value }) => [line, value])).toEqual([
    [2, '2.400'],
    [3, '2,400'],
  ]);
  for (const { problem, allowed } of problems) {
    expect(problem).toBe('is ambiguous: its separator may be for thousands or for decimals');
    expect(allowed).toContain('an amount such as 1250.00: format the column without separators');
  }
});

it('reports an unreadable file once, and not every row that refers to it', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: Buffer.from(
      'external_id;first_name;last_name;phone\nK-9;Otieno;M\xfcller;0712345678\n',
      'latin1',
    ),
    accounts: [
      'external_id;customer;product;pay_plan;opened_at',
      'A-9;K-9;SHS-40;Weekly, one year;2026-01-05',
    ],
  });
  await runImportJob(service, id, 'check');
  const problems = await problemsOf(service, id);
  expect(problems).toMatchObject([
    { file: 'customers', line: 2, problem: expect.stringContaining('letters that are not UTF-8') },
  ]);
  expect(problems[0].allowed).toContain('from LibreOffice as "Text CSV"');
});

it('names the known pay plans beside a mistyped one, and the terms in which an account differs from its plan', async () => {
  setToday(service, '2026-11-02');
  const id = await uploadImport(service, {
    customers: ['external_id;first_name;last_name;phone', 'K-8;Otieno;Kamau;0712345678'],
    accounts: [
      'external_id;customer;product;pay_plan;opened_at;instalment_count;opening_paid;opening_paid_on',
      'A-7;K-8;SHS-40;weekly, one year;05.01.2026;;;',
      'A-8;K-8;SHS-40;Weekly, one year;05.01.2026;50;KES 10;06.01.2026',
    ],
  });
  await runImportJob(service, id, 'check');
  const problems = await problemsOf(service, id);
  expect(problems.map(({ line, column }) => [line, column])).toEqual([
    [3, 'opening_paid'],
    [2, 'pay_plan'],
    [3, 'pay_plan'],
  ]);
  expect(problems[1].problem).toMatch(
    /^is not in the column name of .*; the known values are .*"Weekly, one year"/,
  );
  expect(problems[2].problem).toBe(
    'has terms that differ from those of the account: instalment_count is 52, and 50 for the account',
  );
});

it('warns about the example row of a template', async () => {
  const { text } = await service.call('GET', '/imports/templates/employees');
  const own = 'HR-18,Baraka Otieno,0733000112,yes,,\r\n';
  for (const [employees, warnings] of [
    [text, 1],
    [text.replace('Achieng', 'Akinyi'), 0],
    [text.replace(/^HR-17.*$/m, own.trim()), 0],
  ] as const) {
    const id = await uploadImport(service, { employees });
    expect(await runImportJob(service, id, 'check')).toMatchObject({ errors: 0, warnings });
    const [problem] = await problemsOf(service, id);
    if (warnings === 1)
      expect(problem).toMatchObject({ line: 2, problem: expect.stringContaining('example') });
  }
});

it('imports workbooks, and names the cells that cannot be read', async () => {
  setToday(service, '2026-11-02');
  const header = ['account', 'amount', 'payment_date', 'payment_method', 'transaction_ref'];
  const date = cell('<v>46027</v>', 's="1"'); // 2026-01-05
  const book = (...rows: Parameters<typeof workbook>[0]['sheets'][string]) =>
    workbook({
      formats: ['dd.mm.yyyy'],
      sheets: { Help: [['Fill in the next sheet.']], Data: [header, ...rows] },
    });
  const files = {
    customers: customers('K-020', '0712 345 678'),
    accounts: accounts('A-20', 'K-020', '05.01.2026'),
  };
  const id = await uploadImport(service, {
    ...files,
    payments: await book(
      ['A-20', 2000.5, date, 'mobile_money', 1234567890123456],
      ['A-20', cell('<f>A1</f>'), 46027, 'cash', cell('<v>#REF!</v>', 't="e"')],
    ),
  });
  await runImportJob(service, id, 'check');
  const problems = await problemsOf(service, id);
  expect(problems.map(({ line, column, problem }) => [line, column, problem])).toEqual([
    [2, 'transaction_ref', expect.stringMatching(/cell E2 is a number of more than 15 digits/)],
    [3, 'amount', expect.stringMatching(/cell B3 has a formula without a stored result/)],
    [3, 'payment_date', 'is the number by which the spreadsheet stores a date'],
    [3, 'transaction_ref', expect.stringMatching(/cell E3 has the error #REF!/)],
  ]);
  const done = await importAll(service, {
    ...files,
    payments: await book(['A-20', 2000.5, date, 'mobile_money', 'SAA1B2C3E9']),
  });
  expect(done).toMatchObject({ differences: 0 });
  const { body } = await service.call('GET', '/accounts/by-external-id/A-20');
  expect(body.data).toMatchObject({ paid: 2000.5 });
});
