// Writes a portfolio of any size for `npm run import`: a folder of CSV files.
//   node bench/studies/portfolio-import.mjs <folder> [accounts] [payments per account]
//
// Results of `npm run import -- <folder> --run` on 2026-11-23: PostgreSQL 15 with shared_buffers 1GB, on two cores that other
// programs also used (load 17). About a third of the time in PostgreSQL is for checks of foreign keys.
// - 1,000,000 payments of 200,000 accounts: 67 s of CPU time in Node.js and 180 s in PostgreSQL, with little overlap. Memory: at most
//   243 MB in Node.js, 208 MB in a connection of PostgreSQL. With one other program (load 2 to 4): 256 s in total.
// - 100,000 payments of 20,000 accounts: 8 s of CPU time in Node.js and 17 s in PostgreSQL. Memory: at most 236 MB and 169 MB.
//
// An older version of the import used `work_mem` 128MB, and had no index with which a batch finds its accounts. It took 270 s for
// 1,000,000 payments on two almost idle cores (load 1 to 5). For 29 s of this time, batches read the whole table of accounts. A
// connection used 474 MB, because sorts and hash tables grew with the import.

import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const [folder, accounts = '200000', each = '5'] = process.argv.slice(2);
if (!folder)
  throw new Error(
    'Usage: node bench/studies/portfolio-import.mjs <folder> [accounts] [payments per account]',
  );
mkdirSync(folder, { recursive: true });

async function write(name, header, count, line) {
  const stream = createWriteStream(join(folder, `${name}.csv`));
  stream.write(`${header}\r\n`);
  for (let index = 1; index <= count; index++) {
    if (!stream.write(`${line(index)}\r\n`)) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'finish');
}

const day = (start, days) => new Date(Date.parse(start) + days * 86_400_000).toISOString().slice(0, 10);
const count = Number(accounts);
const perAccount = Number(each);

await write('employees', 'external_id,name,phone', 50, (n) => `HR-${n},Employee ${n},+2547330${10000 + n}`);
await write(
  'products',
  'sku,name,category,price',
  4,
  (n) => `BENCH-${n},Home system ${n},home_system,${30_000 + n}`,
);
await write(
  'pay_plans',
  'name,product,deposit,instalment,instalment_count,frequency,grace_days',
  4,
  (n) => `Bench plan ${n},BENCH-${n},2000,400,52,weekly,7`,
);
await write(
  'customers',
  'external_id,first_name,last_name,phone,national_id',
  count,
  (n) => `C-${n},First${n % 500},Last${n % 900},+2547${10_000_000 + n},${20_000_000 + n}`,
);
await write(
  'accounts',
  'external_id,customer,product,pay_plan,employee,opened_at,source_payment_count',
  count,
  (n) =>
    `A-${n},C-${n},BENCH-${(n % 4) + 1},Bench plan ${(n % 4) + 1},HR-${(n % 50) + 1},${day('2026-01-05', n % 200)},${perAccount}`,
);
await write(
  'payments',
  'external_id,account,amount,payment_date,payment_method,transaction_ref,provider,provider_transaction_id',
  count * perAccount,
  (n) => {
    // The payments of all accounts are mixed, as in an export by date.
    const account = ((n * 7) % count) + 1;
    const round = Math.floor((n - 1) / count);
    const reference = `SBN${n.toString(36).toUpperCase().padStart(7, '0')}`;
    return `P-${n},A-${account},${round === 0 ? 2000 : 400},${day('2026-01-05', (account % 200) + round * 7)},mobile_money,${reference},mobilemoney,${reference}`;
  },
);
