import { sql } from 'kysely';
import { readAccountNumber } from '../accounts/account-number.ts';
import { OPEN_STATUSES } from '../accounts/rules.ts';
import type { Db } from '../core/db.ts';
import { phoneSha256, readPhone } from '../core/phone.ts';
import { nationalIdKey } from '../customers/rules.ts';

/**
 * Whose account a payer meant. A reference is read in every way that it can be read; the account is
 * found when all readings together point to exactly one.
 */

/** The order of trust: the first method that found the account is the one that is stored. */
const LADDER = ['account_number', 'national_id', 'phone', 'account_id', 'payer_phone'] as const;
export type LadderMethod = (typeof LADDER)[number];

/** What a reference and a payer's number can mean. */
export interface Readings {
  accountId: number | null;
  nationalIdKey: string | null;
  phone: string | null;
  bareAccountId: number | null;
  payerSha256: Buffer | null;
  referenceIsEmpty: boolean;
}

export interface Candidate {
  accountId: number;
  method: LadderMethod;
}

export type Match =
  | { accountId: number; method: LadderMethod }
  | { accountId: null; candidates: Candidate[] };

const MAX_REFERENCE_LENGTH = 100;
const MIN_NATIONAL_ID_LENGTH = 5;
const MAX_CANDIDATES = 20;

/** @param payer as the provider sent it: plain, local, masked, or the SHA-256 of the digits in hex. */
export function readReference(reference: string | null, payer: string | null, region: string): Readings {
  const text = (reference ?? '').normalize('NFKC').trim();
  // Placeholders such as "0" or "N/A" stand in many places; no payer means one of them.
  const idKey = text.length <= MAX_REFERENCE_LENGTH ? nationalIdKey(text) : '';
  const readable = text !== '' && text.length <= MAX_REFERENCE_LENGTH;
  return {
    accountId: readable ? (readAccountNumber(text) ?? null) : null,
    nationalIdKey: idKey.length >= MIN_NATIONAL_ID_LENGTH ? idKey : null,
    phone: readable ? (readPhone(text, region) ?? null) : null,
    bareAccountId: /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null,
    payerSha256: readPayer(payer, region),
    referenceIsEmpty: text === '',
  };
}

/** The SHA-256 by which a customer with the payer's number is known; null for a masked or unreadable one. */
export function readPayer(payer: string | null, region: string): Buffer | null {
  const text = (payer ?? '').trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const phone = readPhone(/^[1-9]\d{9,14}$/.test(text) ? `+${text}` : text, region);
  return phone ? phoneSha256(phone) : null;
}

/** All accounts that the readings point to, with the method of each. */
export async function findCandidates(db: Db, readings: Readings): Promise<Candidate[]> {
  const open = sql`a.status = any(${[...OPEN_STATUSES]}::account_status[])`;
  const { rows } = await sql<Candidate>`
    select 'account_number' as method, a.id as "accountId"
      from accounts a where a.id = ${readings.accountId}::bigint
    union all
    (select 'national_id', a.id from customers c join accounts a on a.customer_id = c.id
      where c.national_id_key = ${readings.nationalIdKey}::text and ${open} order by a.id limit ${MAX_CANDIDATES})
    union all
    (select 'phone', a.id from customers c join accounts a on a.customer_id = c.id
      where c.phone = ${readings.phone}::text and ${open} order by a.id limit ${MAX_CANDIDATES})
    union all
    select 'account_id', a.id from accounts a join customers c on c.id = a.customer_id
      where a.id = ${readings.bareAccountId}::bigint and c.phone_sha256 = ${readings.payerSha256}::bytea
        and ${open}
    union all
    (select 'payer_phone', a.id from customers c join accounts a on a.customer_id = c.id
      where c.phone_sha256 = ${readings.payerSha256}::bytea and ${open} order by a.id limit ${MAX_CANDIDATES})`.execute(
    db,
  );
  return rows;
}

/**
 * The one account that is meant, or the candidates where there is none or more than one. Whose phone
 * paid decides only when the payer typed no reference; otherwise it is a suggestion.
 */
export function decideMatch(candidates: Candidate[], referenceIsEmpty: boolean): Match {
  const deciding = candidates.filter(({ method }) => method !== 'payer_phone' || referenceIsEmpty);
  const accounts = new Set(deciding.map(({ accountId }) => accountId));
  const [accountId] = accounts;
  if (accounts.size !== 1 || accountId === undefined) return { accountId: null, candidates };
  const method = LADDER.find((step) => deciding.some((candidate) => candidate.method === step));
  return method ? { accountId, method } : { accountId: null, candidates };
}
