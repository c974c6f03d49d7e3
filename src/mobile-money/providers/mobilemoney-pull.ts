import { parseCompactTime } from '../../core/values/dates.ts';
import { type ApiCall, type MobilemoneyApi, refusalOf } from './mobilemoney-api.ts';
import { EAST_AFRICA_TIME, eastAfricaText } from './mobilemoney-time.ts';
import { meaningOfType } from './mobilemoney-words.ts';
import {
  ProviderApiError,
  type PulledPage,
  type PulledPayment,
  type PullSource,
  type PullWindow,
} from './provider.ts';
import { isRecord, textOf } from './rules.ts';

// Daraja's Pull Transactions. https://developer.safaricom.co.ke/APIs/PullTransactions
// Its documentation and its answers differ, so the service accepts every form that public client libraries accept.

interface MobilemoneyPullSettings {
  readonly number: string;
  readonly callbackUrl: string;
}

const HOUR_MS = 3_600_000;
const HISTORY_MS = 48 * HOUR_MS;
/**
 * With TOLERANCE_MS before and after it, a window is shorter than three hours, the difference between East Africa Time and UTC.
 * So of the two interpretations of a time, only one is in the window. See `readTime`.
 */
const LONGEST_WINDOW_MS = 2 * HOUR_MS;
const TOLERANCE_MS = 25 * 60_000;
const REGISTER_PATH = '/pulltransactions/v1/register';
const QUERY_PATH = '/pulltransactions/v1/query';
const SUCCESS = '1000';
/** The code for `no payments` and for `already registered`. */
const NONE = '1001';
/** Longer than for other calls, because the provider searches its archive. */
const TIMEOUT_MS = 60_000;

/** The names that a field can have, in lower case. */
const FIELDS = {
  transactionId: ['transactionid', 'transid', 'receiptno', 'mpesareceiptnumber'],
  amount: ['amount', 'transamount', 'transactionamount'],
  time: ['trxdate', 'transtime', 'transactiondate', 'completiontime'],
  reference: ['billreference', 'billrefnumber', 'accountreference', 'accountnumber'],
  payer: ['msisdn', 'phonenumber'],
  payerName: ['sendername', 'customername', 'firstname'],
  type: ['transactiontype', 'type'],
} as const;

/** The names of the numbers of all pages and all rows of a window, in lower case. */
const COUNTS = {
  pages: ['totalpages', 'pagecount', 'numberofpages'],
  rows: ['totalrecords', 'totalrows', 'totalelements', 'totalcount', 'totalitems', 'totalresults'],
} as const;

export function mobilemoneyPull(
  api: MobilemoneyApi,
  settings: MobilemoneyPullSettings,
  timeoutMs = TIMEOUT_MS,
): PullSource {
  const { number, callbackUrl } = settings;
  // The documentation describes a GET. Public clients send a POST. The API answers the wrong method with 405.
  let method: 'POST' | 'GET' = 'POST';

  async function query(body: ApiCall['body'], signal: AbortSignal) {
    const call = { path: QUERY_PATH, body, timeoutMs };
    try {
      return await api.call({ ...call, method }, signal);
    } catch (error) {
      if (!(error instanceof ProviderApiError && error.status === 405)) throw error;
      method = method === 'POST' ? 'GET' : 'POST';
      return api.call({ ...call, method }, signal);
    }
  }

  return {
    historyMs: HISTORY_MS,
    longestWindowMs: LONGEST_WINDOW_MS,
    async register(shortCode, signal) {
      const body = {
        ShortCode: shortCode,
        RequestType: 'Pull',
        NominatedNumber: number,
        CallBackURL: callbackUrl,
      };
      const { fields } = await api.call({ path: REGISTER_PATH, body }, signal);
      const code = textOf(fields, 'ResponseStatus') ?? textOf(fields, 'ResponseCode');
      if (code !== SUCCESS && code !== NONE && code !== '0') throw refusalOf(REGISTER_PATH, code, fields);
    },
    async readPage(window, offset, signal) {
      const body = {
        ShortCode: window.shortCode,
        StartDate: eastAfricaText(window.from),
        EndDate: eastAfricaText(window.to),
        OffSetValue: String(offset),
      };
      const { fields } = await query(body, signal);
      const code = textOf(fields, 'ResponseCode');
      const rows = rowsOf(fields);
      if (code !== NONE && code !== SUCCESS && (code !== null || rows === undefined))
        throw refusalOf(QUERY_PATH, code, fields);
      return readRows(rows ?? [], fields, window);
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Finds the list of rows, which some answers put into an object, and flattens it, because some answers nest it in another list. A
 * single row may come without a list.
 */
function rowsOf({ Response: response, Transactions: transactions }: Fields): Fields[] | undefined {
  const list = response ?? transactions;
  if (isRecord(list)) return Object.hasOwn(list, 'Transactions') ? rowsOf(list) : [list];
  return Array.isArray(list) ? list.flat(2).filter(isRecord) : undefined;
}

function readRows(rows: readonly Fields[], fields: Fields, window: PullWindow): PulledPage {
  return {
    rowIds: rows.map((row) => readField(row, 'transactionId') ?? JSON.stringify(row)),
    content: JSON.stringify(rows),
    payments: rows.flatMap((row) => readRow(row, window) ?? []),
    pagesInPeriod: readCount(fields, 'pages'),
    rowsInPeriod: readCount(fields, 'rows'),
  };
}

/** Reads the number of pages or rows of the whole window, which some answers have beside the rows or around them. */
function readCount(fields: Fields, name: keyof typeof COUNTS): number | null {
  const { Response: response } = fields;
  const around = isRecord(response) ? [fields, response] : [fields];
  const texts = around.flatMap((one) => textNamed(one, COUNTS[name]) ?? []);
  const count = Number(texts[0]);
  return texts.length > 0 && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function readField(row: Fields, field: keyof typeof FIELDS): string | null {
  return textNamed(row, FIELDS[field]);
}

/** The first of the fields that has a text. Names are compared in lower case. */
function textNamed(fields: Fields, names: readonly string[]): string | null {
  const named = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  for (const name of names) {
    const text = textOf({ [name]: named.get(name) }, name);
    if (text !== null) return text;
  }
  return null;
}

/** @returns undefined for a row that is certainly not a payment to the short code. */
function readRow(row: Fields, window: PullWindow): PulledPayment | undefined {
  const read = (field: keyof typeof FIELDS) => readField(row, field);
  const type = read('type');
  const meaning = type === null ? 'payment' : meaningOfType(type);
  if (meaning === 'other') return undefined;
  const time = read('time');
  return {
    sent: {
      transactionId: read('transactionId'),
      amount: read('amount'),
      time,
      businessShortCode: window.shortCode,
      reference: read('reference'),
      payer: read('payer'),
      payerName: read('payerName'),
    },
    doubt: meaning === 'unknown' ? `the transaction type "${type}" is unknown` : null,
    time: readTime(time ?? '', window),
    raw: JSON.stringify(row),
  };
}

/**
 * Reads the time of a row. The provider's times end in Z, but it is not documented whether they are in UTC or in East Africa
 * Time. The two differ by three hours, and a window is shorter, so only the right interpretation lies in the window. A time
 * without Z and without an offset is in East Africa Time.
 */
export function readTime(text: string, window: Pick<PullWindow, 'from' | 'to'>): Date | undefined {
  const digits = text.replace(/(\.\d+)?Z?$/, '').replace(/[-:T ]/g, '');
  const eastAfrican = parseCompactTime(digits, EAST_AFRICA_TIME);
  if (!eastAfrican) {
    const withOffset = /[+-]\d\d:?\d\d$/.test(text) ? new Date(text) : undefined;
    return withOffset && !Number.isNaN(withOffset.getTime()) ? withOffset : undefined;
  }
  if (!text.endsWith('Z')) return eastAfrican;
  const utc = new Date(eastAfrican.getTime() + EAST_AFRICA_TIME * HOUR_MS);
  const isInWindow =
    utc.getTime() >= window.from.getTime() - TOLERANCE_MS &&
    utc.getTime() <= window.to.getTime() + TOLERANCE_MS;
  return isInWindow ? utc : eastAfrican;
}
