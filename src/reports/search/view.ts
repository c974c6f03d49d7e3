import {
  accountsBeginningWith,
  formatAccountNumber,
  readAccountNumber,
} from '../../accounts/account-number-rules.ts';
import { type Actor, type Context, today } from '../../core/context.ts';
import type { Db } from '../../core/database/db.ts';
import { externalIdKey } from '../../core/http/external-ids.ts';
import { choicesOf } from '../../core/http/fields.ts';
import type { PlainDate } from '../../core/values/dates.ts';
import { nationalDigits, readPhone } from '../../core/values/phone.ts';
import { withoutQuotes } from '../../core/values/quoted-text.ts';
import { referenceKey } from '../../core/values/reference.ts';
import { searchWords } from '../../customers/rules.ts';
import { readWrittenReceiptNumber } from '../../documents/receipts/rules.ts';
import { mayDo, type Permission } from '../../rights.ts';
import {
  type Found,
  type FoundWithAccount,
  type MatchedField,
  matchCustomer,
  matchOf,
  rank,
  SEARCHED_TYPES,
  type SearchedType,
} from './rules.ts';
import { MAX_RESULTS, type SearchQuery } from './schema.ts';
import {
  type AccountHit,
  type CustomerHit,
  countAccountsInRanges,
  countCustomers,
  countInvoicesByNumber,
  countPaymentsByReference,
  findAccountsByExternalId,
  findAccountsInRanges,
  findAccountsOfCustomers,
  findAccountsOfResults,
  findCustomersByExternalId,
  findCustomersByParts,
  findCustomersByPhone,
  findCustomersByWordBeginnings,
  findInvoicesByNumber,
  findPaymentsByExternalId,
  findPaymentsByReference,
  findPaymentsWithReceipt,
  MAX_CANDIDATES,
  MAX_COUNTED,
  type PaymentHit,
  type ResultAccount,
  SHORTEST_BEGINNING,
  SHORTEST_PART,
} from './store.ts';

const NEEDED: Record<SearchedType, Permission> = {
  customer: 'customers:read',
  account: 'accounts:read',
  payment: 'payments:read',
  invoice: 'invoices:read',
};

/** The rows that match the text, best matches first. Types that the actor is not allowed to read are left out. */
export async function search(
  context: Context,
  actor: Actor,
  { q, types, limit = MAX_RESULTS }: SearchQuery,
): Promise<{ found: FoundWithAccount[]; total: number }> {
  const { db, config } = context;
  const text = withoutQuotes(q);
  const wanted = types === undefined ? new Set(SEARCHED_TYPES) : choicesOf(types);
  const isSearched = (type: SearchedType) => wanted.has(type) && mayDo(actor, NEEDED[type]);
  const showsNames = mayDo(actor, 'customers:read');
  const found = await Promise.all([
    isSearched('customer') ? searchCustomers(db, text, config.PHONE_REGION) : [],
    isSearched('account') ? searchAccounts(db, text, showsNames) : [],
    isSearched('payment') ? searchPayments(db, text) : [],
    isSearched('invoice') ? searchInvoices(db, text, showsNames) : [],
  ]);
  const ranked = rank(found.flat());
  // All rows are known if there are fewer than a page. Otherwise the statements may have stopped before the last row.
  if (ranked.length <= limit)
    return { found: await addAccounts(context, actor, ranked), total: ranked.length };
  const [shown, ...counts] = await Promise.all([
    addAccounts(context, actor, ranked.slice(0, limit)),
    isSearched('customer') ? countCustomers(db, searchWords(text)) : 0,
    isSearched('account') ? countAccountsInRanges(db, accountsBeginningWith(text)) : 0,
    isSearched('payment') ? countPaymentsByReference(db, referenceKey(text)) : 0,
    isSearched('invoice') ? countInvoicesByNumber(db, text.toUpperCase()) : 0,
  ]);
  const counted = counts.reduce((sum, count) => sum + count, 0);
  return {
    found: shown,
    total: Math.min(MAX_COUNTED, Math.max(ranked.length, counted)),
  };
}

/** Adds what staff look at first: the product of an account, and how late it is. */
async function addAccounts(
  context: Context,
  actor: Actor,
  found: readonly Found[],
): Promise<FoundWithAccount[]> {
  const day = today(context);
  const idsOf = (wanted: SearchedType) => found.flatMap(({ type, id }) => (type === wanted ? [id] : []));
  const read = async (
    type: SearchedType,
    find: (db: Db, ids: readonly number[], day: PlainDate) => Promise<ResultAccount[]>,
  ) => {
    const ids = idsOf(type);
    const rows = ids.length === 0 ? [] : await find(context.db, ids, day);
    return new Map(rows.map((row) => [row.result_id, row]));
  };
  const [ofAccounts, ofCustomers] = await Promise.all([
    read('account', findAccountsOfResults),
    read('customer', findAccountsOfCustomers),
  ]);
  const showsProducts = mayDo(actor, 'catalogue:read');
  return found.map((one) => {
    const row = { customer: ofCustomers, account: ofAccounts, payment: undefined, invoice: undefined }[
      one.type
    ]?.get(one.id);
    const account = row && {
      id: row.id,
      accountNumber: formatAccountNumber(row.id),
      status: row.status,
      productName: showsProducts ? row.product_name : null,
      daysPastDue: row.days_past_due,
    };
    return {
      ...one,
      account: account ?? null,
      accountCount: one.type === 'customer' ? (row?.account_count ?? 0) : null,
    };
  });
}

async function searchCustomers(db: Db, text: string, region: string): Promise<Found[]> {
  const phone = readPhone(text, region);
  const words = searchWords(text);
  const [byPhone, byExternalId, byWords] = await Promise.all([
    phone === undefined ? [] : findCustomersByPhone(db, phone),
    findCustomersByExternalId(db, text),
    findCustomersByWords(db, words),
  ]);
  return [
    ...byPhone.map((row) => toCustomer(row, { matchedOn: 'phone', match: 'exact' })),
    ...byExternalId.flatMap((row) => matched(keyOf(row), text, 'externalId', (how) => toCustomer(row, how))),
    ...byWords.flatMap((row) => {
      const how = matchCustomer(text, {
        name: row.name,
        phone: row.phone,
        nationalPhone: nationalDigits(row.phone),
        secondPhone: row.second_phone,
        nationalSecondPhone: row.second_phone === null ? null : nationalDigits(row.second_phone),
        email: row.email,
        nationalId: row.national_id,
        nationalIdKey: row.national_id_key,
      });
      return how ? [toCustomer(row, how)] : [];
    }),
  ];
}

/** Searches parts of words only if fewer than MAX_CANDIDATES customers have words that begin with the text. */
async function findCustomersByWords(db: Db, words: readonly string[]): Promise<CustomerHit[]> {
  const longest = Math.max(0, ...words.map((word) => word.length));
  const byBeginning = longest >= SHORTEST_BEGINNING ? await findCustomersByWordBeginnings(db, words) : [];
  if (longest < SHORTEST_PART || byBeginning.length === MAX_CANDIDATES) return byBeginning;
  return [...byBeginning, ...(await findCustomersByParts(db, words))];
}

async function searchAccounts(db: Db, text: string, showsNames: boolean): Promise<Found[]> {
  const id = readAccountNumber(text);
  const ranges = accountsBeginningWith(text);
  const [byNumber, byBeginning, byExternalId] = await Promise.all([
    id === undefined ? [] : findAccountsInRanges(db, [[id, id]]),
    ranges.length === 0 ? [] : findAccountsInRanges(db, ranges),
    findAccountsByExternalId(db, text),
  ]);
  return [
    ...byNumber.map((row) => toAccount(row, showsNames, { matchedOn: 'accountNumber', match: 'exact' })),
    ...byBeginning.map((row) => toAccount(row, showsNames, { matchedOn: 'accountNumber', match: 'prefix' })),
    ...byExternalId.flatMap((row) =>
      matched(keyOf(row), text, 'externalId', (how) => toAccount(row, showsNames, how)),
    ),
  ];
}

async function searchPayments(db: Db, text: string): Promise<Found[]> {
  const key = referenceKey(text);
  const receiptOf = readWrittenReceiptNumber(text);
  const [byReceipt, byReference, byExternalId] = await Promise.all([
    receiptOf === undefined ? [] : findPaymentsWithReceipt(db, receiptOf),
    findPaymentsByReference(db, key),
    findPaymentsByExternalId(db, text),
  ]);
  return [
    ...byReceipt.map((row) => toPayment(row, { matchedOn: 'receiptNumber', match: 'exact' })),
    ...byReference.flatMap((row) =>
      matched(row.reference_key, key, 'transactionRef', (how) => toPayment(row, how)),
    ),
    ...byExternalId.flatMap((row) => matched(keyOf(row), text, 'externalId', (how) => toPayment(row, how))),
  ];
}

async function searchInvoices(db: Db, text: string, showsNames: boolean): Promise<Found[]> {
  const number = text.toUpperCase();
  const rows = await findInvoicesByNumber(db, number);
  return rows.flatMap((row) =>
    matched(row.number, number, 'number', (how) => ({
      type: 'invoice' as const,
      id: row.id,
      title: row.number,
      subtitle: showsNames ? row.customer_name : null,
      status: row.status,
      externalId: null,
      ...how,
    })),
  );
}

/** The external id without quotes, like the text of the search. */
function keyOf({ external_id: externalId }: { external_id: string | null }): string | null {
  return externalId === null ? null : externalIdKey(externalId);
}

type How = Pick<Found, 'matchedOn' | 'match'>;

/** Empty if the value does not begin with the text: `beginningWith` in store.ts also returns values that sort after these. */
function matched(
  value: string | null,
  text: string,
  matchedOn: MatchedField,
  toFound: (how: How) => Found,
): Found[] {
  const match = matchOf(value, text);
  return match === 'exact' || match === 'prefix' ? [toFound({ matchedOn, match })] : [];
}

function toCustomer(row: CustomerHit, how: How): Found {
  return {
    type: 'customer',
    id: row.id,
    title: row.name,
    subtitle: row.phone,
    status: null,
    externalId: row.external_id,
    ...how,
  };
}

function toAccount(row: AccountHit, showsNames: boolean, how: How): Found {
  return {
    type: 'account',
    id: row.id,
    title: formatAccountNumber(row.id),
    subtitle: showsNames ? row.customer_name : null,
    status: row.status,
    externalId: row.external_id,
    ...how,
  };
}

function toPayment(row: PaymentHit, how: How): Found {
  return {
    type: 'payment',
    id: row.id,
    title: row.transaction_ref ?? row.external_id ?? String(row.id),
    subtitle: row.account_id === null ? null : formatAccountNumber(row.account_id),
    status: row.status,
    externalId: row.external_id,
    ...how,
  };
}
