import { eastAfricaIso, parseEastAfrica } from '../formats.ts';
import { createRandom } from '../traffic.ts';
import { type Book, type BookedPayment, money } from './book.ts';
import { type Answer, type Call, errorAnswer, type Operation } from './operation.ts';

/** Simulates the queries for payments: registration, windows, pages and failures. */
export interface PullOperations {
  readonly operations: Readonly<Record<string, Operation>>;
  /** A test may change these at any time. */
  readonly behaviour: PullBehaviour;
  /** The short codes that were registered. */
  readonly registered: ReadonlySet<string>;
  /**
   * The latest end of all queried periods. The simulator uses it as its clock if it is later than real time, because a tested
   * service may have a clock that is ahead.
   */
  readonly queriedUntil: Date;
}

export interface PullBehaviour {
  pageSize: number;
  /** The name of the list in an answer. */
  listName: 'Response' | 'Transactions';
  /** Whether the list is in another list. */
  isNested: boolean;
  /** The zone of the times. The times end in Z in both zones. */
  zone: 'UTC' | 'East Africa';
  method: 'POST' | 'GET';
  /**
   * Each answer leaves out a random number of the newest rows, from 0 to this number, so that the remaining rows move to other
   * pages. Only rows of the last 20 minutes are left out.
   */
  mostHiddenRows: number;
  /** The length to which one text of each row is padded, to make answers with many rows too large for the service. */
  paddingBytes: number;
  /** Rows that are added to an answer that begins with the newest row. */
  addedRows: object[];
  /** What the offset counts. Pages have a number from 0 or from 1. With `pages from 1`, the offset 0 is the first page, too. */
  offsets: 'rows' | 'pages from 0' | 'pages from 1';
  /** The numbers that an answer with rows has beside them. */
  names: readonly ('TotalPages' | 'TotalRecords')[];
  /** Whether every answer says that there are no payments. */
  listsNothing: boolean;
  /** The number of the oldest rows that are counted in `TotalRecords`, but not listed. */
  unlistedRows: number;
  /** Every page is the first one. */
  ignoresOffset: boolean;
  /** The number of queries to leave unanswered. Each unanswered query reduces this number by one. */
  unansweredQueries: number;
  /** How many queries with an offset above 0 get the previous answer again. Each repeat reduces this number by one. */
  repeatedPages: number;
}

const LISTED_LATE_MS = 20 * 60_000;
const LONGEST_WINDOW_MS = 48 * 3_600_000;

export function pullOperations(books: readonly Book[], clock: () => Date): PullOperations {
  const registered = new Set<string>();
  const behaviour: PullBehaviour = {
    pageSize: 100,
    listName: 'Response',
    isNested: true,
    zone: 'UTC',
    method: 'POST',
    mostHiddenRows: 0,
    paddingBytes: 0,
    addedRows: [],
    offsets: 'rows',
    names: [],
    listsNothing: false,
    unlistedRows: 0,
    ignoresOffset: false,
    unansweredQueries: 0,
    repeatedPages: 0,
  };
  let lastAnswer: Answer = { body: {} };
  let queriedUntil = new Date(0);
  const random = createRandom(1);

  function register({ fields }: Call): Answer {
    const { ShortCode, RequestType, NominatedNumber, CallBackURL } = fields;
    if (RequestType !== 'Pull' || !NominatedNumber || !/^https?:/.test(String(CallBackURL)))
      return errorAnswer(400, 'Bad Request - Invalid parameters');
    const isNew = !registered.has(String(ShortCode));
    registered.add(String(ShortCode));
    const ResponseDescription = isNew ? 'registered successfully' : 'Short Code already Registered';
    return {
      body: {
        ResponseRefID: '1-2-3',
        ResponseStatus: isNew ? '1000' : '1001',
        ShortCode,
        ResponseDescription,
      },
    };
  }

  function query(call: Call): Answer | Promise<Answer> {
    if (call.method !== behaviour.method) return errorAnswer(405, 'Method Not Allowed');
    if (behaviour.unansweredQueries > 0) {
      behaviour.unansweredQueries -= 1;
      return new Promise(() => {});
    }
    if (behaviour.repeatedPages > 0 && Number(call.fields.OffSetValue) > 0) {
      behaviour.repeatedPages -= 1;
      return lastAnswer;
    }
    lastAnswer = pageOf(call);
    return lastAnswer;
  }

  function pageOf(call: Call): Answer {
    const { ShortCode, StartDate, EndDate, OffSetValue } = call.fields;
    const from = parseEastAfrica(String(StartDate)).getTime();
    const to = parseEastAfrica(String(EndDate)).getTime();
    const book = books.find(({ shortCode }) => shortCode === ShortCode);
    if (!book || !registered.has(book.shortCode)) return errorAnswer(400, 'Short code is not registered');
    if (to > queriedUntil.getTime()) queriedUntil = new Date(to);
    if (!(to - from <= LONGEST_WINDOW_MS)) return errorAnswer(400, 'The period is longer than 48 hours');
    const oldest = Math.max(from, clock().getTime() - LONGEST_WINDOW_MS);
    const listed = book.payments
      .filter(({ time }) => seconds(time) >= oldest && seconds(time) <= to)
      .sort((a, b) => b.time.getTime() - a.time.getTime());
    const recent = listed.filter(({ time }) => time.getTime() > clock().getTime() - LISTED_LATE_MS).length;
    const hidden = Math.min(random(behaviour.mostHiddenRows + 1), recent);
    const first = hidden + (behaviour.ignoresOffset ? 0 : firstRow(Number(OffSetValue)));
    const end = behaviour.listsNothing ? 0 : listed.length - behaviour.unlistedRows;
    const page = listed.slice(first, Math.max(Math.min(first + behaviour.pageSize, end), 0));
    const rows = [...(first === 0 ? behaviour.addedRows : []), ...page.map((payment) => rowOf(payment))];
    const list = behaviour.isNested ? [rows] : rows;
    const [code, message] = rows.length > 0 ? ['1000', 'Success'] : ['1001', 'No transactions'];
    const counts = {
      TotalPages: Math.ceil((listed.length - hidden) / behaviour.pageSize),
      TotalRecords: listed.length - hidden,
    };
    const named = rows.length > 0 ? behaviour.names.map((name) => [name, counts[name]]) : [];
    return {
      body: {
        ResponseRefID: '1-2-3',
        ResponseCode: code,
        ResponseMessage: message,
        [behaviour.listName]: list,
        ...Object.fromEntries(named),
      },
    };
  }

  function firstRow(offset: number): number {
    if (behaviour.offsets === 'rows') return offset;
    const pagesBefore = behaviour.offsets === 'pages from 0' ? offset : Math.max(offset - 1, 0);
    return pagesBefore * behaviour.pageSize;
  }

  function rowOf({ transId, amountMinor, time, reference, payer }: BookedPayment) {
    const text = behaviour.zone === 'UTC' ? time.toISOString().slice(0, 19) : eastAfricaIso(time);
    return {
      transactionId: transId,
      trxDate: `${text}Z`,
      msisdn: Number(payer),
      sender: 'MPESA',
      transactiontype: 'c2b-pay-bill-debit',
      billreference: reference,
      amount: money(amountMinor),
      organizationname: 'Simulated company'.padEnd(behaviour.paddingBytes, '.'),
    };
  }

  return {
    behaviour,
    registered,
    get queriedUntil() {
      return queriedUntil;
    },
    operations: {
      'POST /pulltransactions/v1/register': register,
      'POST /pulltransactions/v1/query': query,
      'GET /pulltransactions/v1/query': query,
    },
  };
}

/** The provider's times have no fractions of a second. */
function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000) * 1_000;
}
