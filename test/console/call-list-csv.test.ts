import { expect, it } from 'vitest';
import { csvLine, unquoted } from '../../src/core/values/csv.ts';
import { csvOf } from '../../web/src/pages/portfolio/csv.ts';

const WORDS = { head: ['Account number'], statusOf: () => 'Active', phoneCountryCode: '+254' };

const ACCOUNT = {
  accountNumber: 'ACC10000012',
  status: 'active',
  daysPastDue: 3,
  arrears: 400,
  balance: 2000.5,
} as const;

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
  const account = { ...ACCOUNT, customer: { name, phone: '+254712345678' }, product: { name: '@home' } };
  const expected = csvLine([
    ACCOUNT.accountNumber,
    name,
    '0712 345 678',
    '@home',
    'Active',
    unquoted(3),
    unquoted(400),
    unquoted(2000.5),
  ]);
  expect(csvOf([account], WORDS).split('\r\n', 2)[1]).toBe(expected.trimEnd());
});

it.each([
  ['+254712345678', '0712 345 678'],
  ['+254201234567', '0201 234 567'],
  ['+256772123456', '00 256 772 123 456'],
])('a call list has the phone %s as people dial it: %s', (phone, dialled) => {
  const customer = { name: 'Wanjiru Kamau', phone };
  expect(csvOf([{ ...ACCOUNT, customer }], WORDS)).toContain(`"Wanjiru Kamau","${dialled}",`);
});
