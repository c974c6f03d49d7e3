import { expect, it } from 'vitest';
import { csvLine, unquoted } from '../../src/core/values/csv.ts';
import { csvOf } from '../../web/src/pages/portfolio/csv.ts';

it.each([
  'Wanjiru "Shiko" Kamau',
  '=1+1',
  '\u00a0=1+1',
  '\uff1d1+1',
  'Kamau,=1+1',
  'Kamau\n=1+1',
  'Kamau;=1+1',
  'Kamau|=1+1',
  'Kamau\t=1+1',
  '\u200b=1+1',
  '\uff0b1+1',
  '\uff20home',
  '0712345678',
  '12345678901234567',
])('the console protects %j in a call list like the service in its CSV files', (name) => {
  const account = {
    accountNumber: 'ACC10000012',
    customer: { name, phone: '+254712345678' },
    product: { name: '@home' },
    status: 'active',
    daysPastDue: 3,
    arrears: 400,
    balance: 2000.5,
  } as const;
  const expected = csvLine([
    account.accountNumber,
    name,
    '+254712345678',
    '@home',
    'active',
    unquoted(3),
    unquoted(400),
    unquoted(2000.5),
  ]);
  expect(csvOf([account]).split('\r\n', 2)[1]).toBe(expected.trimEnd());
});
