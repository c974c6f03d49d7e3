import { Readable } from 'node:stream';
import { type Actor, today } from '../core/context.ts';
import { csvLine } from '../core/values/csv.ts';
import { addDays, type PlainDate } from '../core/values/dates.ts';
import type { FileName } from '../portfolio/format-rules.ts';
import { createImport, startWork, storeFile } from '../portfolio/import/commands.ts';
import { type ImportParts, workOnImport } from '../portfolio/import/work-on-import.ts';

/** What the imported customers bought, with amounts in whole units. */
export interface ImportedPlan {
  sku: string;
  name: string;
  deposit: number;
  rest: number;
}

type Files = Partial<Record<FileName, string>>;

/** Imports customers who paid everything before the company used this service. */
export async function importEarlierCustomers(
  parts: ImportParts,
  actor: Actor,
  plan: ImportedPlan,
): Promise<void> {
  const date = today(parts.context);
  const id = await check(parts, actor, earlierFiles(date, plan));
  await startWork(parts.context, actor, id, 'running', { isQueued: false });
  await workOnImport(parts, id, { isLast: true });
}

/** Checks the files of another shop. They contain mistakes that staff have not corrected yet. */
export async function checkFilesWithMistakes(
  parts: ImportParts,
  actor: Actor,
  plan: ImportedPlan,
): Promise<void> {
  await check(parts, actor, filesWithMistakes(today(parts.context), plan));
}

async function check(parts: ImportParts, actor: Actor, files: Files): Promise<number> {
  const { context, copies } = parts;
  const { id } = await createImport(context, actor);
  for (const [file, text] of Object.entries(files)) {
    const content = Readable.from([Buffer.from(text)]);
    await storeFile(copies, actor.name, { id, file: file as FileName, content });
  }
  await startWork(context, actor, id, 'checking', { isQueued: false });
  await workOnImport(parts, id, { isLast: true });
  return id;
}

const CUSTOMER_COLUMNS = ['external_id', 'first_name', 'last_name', 'phone', 'national_id'];
const ACCOUNT_COLUMNS = ['external_id', 'customer', 'product', 'pay_plan', 'opened_at'];
const PAYMENT_COLUMNS = ['account', 'amount', 'payment_date', 'payment_method', 'transaction_ref'];

const EARLIER_CUSTOMERS = [
  ['Esther', 'Wanjala', '+254720100101', '10230101'],
  ['Joseph', 'Mwangangi', '+254720100102', '10230102'],
  ['Halima', 'Noor', '+254720100103', '10230103'],
  ['Brian', 'Kiptoo', '+254720100104', '10230104'],
  ['Lucy', 'Adhiambo', '+254720100105', '10230105'],
  ['Moses', 'Lagat', '+254720100106', '10230106'],
];

function earlierFiles(date: PlainDate, { sku, name, deposit, rest }: ImportedPlan): Files {
  const number = (at: number) => String(101 + at);
  return {
    customers: textOf([
      CUSTOMER_COLUMNS,
      ...EARLIER_CUSTOMERS.map((cells, at) => [`BOOK-${number(at)}`, ...cells]),
    ]),
    accounts: textOf([
      ACCOUNT_COLUMNS,
      ...EARLIER_CUSTOMERS.map((_, at) => [
        ...[`SALE-${number(at)}`, `BOOK-${number(at)}`, sku, name, addDays(date, 10 * at - 240)],
      ]),
    ]),
    payments: textOf([
      PAYMENT_COLUMNS,
      ...EARLIER_CUSTOMERS.flatMap((_, at) => [
        [`SALE-${number(at)}`, String(deposit), addDays(date, 10 * at - 240), 'cash', `R-${number(at)}-1`],
        [`SALE-${number(at)}`, String(rest), addDays(date, 10 * at - 100), 'cash', `R-${number(at)}-2`],
      ]),
    ]),
  };
}

function filesWithMistakes(date: PlainDate, { sku, name, deposit, rest }: ImportedPlan): Files {
  return {
    customers: textOf([
      CUSTOMER_COLUMNS,
      ['SHOP-1', 'Agnes', 'Wambua', '0722 345 101', '24410001'],
      ['SHOP-2', 'Collins', 'Ochieng', '0722 345 102', '24410002'],
      ['SHOP-3', 'Naomi', 'Chepkoech', '0722 34O 103', '24410003'], // The letter O instead of a zero.
      ['SHOP-4', 'Ibrahim', 'Salat', '0722 345 104', '24410002'], // The national id of SHOP-2.
    ]),
    accounts: textOf([
      ACCOUNT_COLUMNS,
      ['SHOP-S1', 'SHOP-1', sku, name, addDays(date, -90)],
      ['SHOP-S2', 'SHOP-2', sku, name, addDays(date, -80)],
      ['SHOP-S3', 'SHOP-3', 'SHS-400', name, addDays(date, -70)], // One digit too many.
      ['SHOP-S4', 'SHOP-4', sku, name, '31.02.2026'],
    ]),
    payments: textOf([
      PAYMENT_COLUMNS,
      ['SHOP-S1', String(deposit), addDays(date, -90), 'cash', 'SHOP-R1'],
      ['SHOP-S2', String(deposit), addDays(date, -80), 'cash', 'SHOP-R2'],
      ['SHOP-S9', String(rest), addDays(date, -60), 'cash', 'SHOP-R3'], // There is no such account.
    ]),
  };
}

function textOf(lines: readonly (readonly string[])[]): string {
  return lines.map(csvLine).join('');
}
