import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { useDebounced } from '../../ui/use-debounced.ts';

type Suggestion = Schemas['UnmatchedPayment']['suggestions'][number];

/** A possible account for a payment. Only an account that the service suggests has reasons and a confidence. */
export type Candidate = Omit<Suggestion, 'reason' | 'reasons' | 'confidence'> &
  Partial<Suggestion> & {
    /** The service no longer suggests the account, so its amounts here can be out of date. */
    isWithdrawn?: boolean;
  };

const SHORTEST_TEXT = 2;
const TYPING_MS = 200;
const MOST_RESULTS = 9;

interface AccountSearch {
  /** Whether the text is long enough to search for it. */
  isOn: boolean;
  isLoading: boolean;
  error: unknown;
  found: Candidate[];
}

/** Finds accounts by their number, or by the customer’s name or phone number. */
export function useAccountSearch(text: string): AccountSearch {
  const wanted = useDebounced(text.trim(), TYPING_MS);
  const isOn = text.trim().length >= SHORTEST_TEXT;
  const search = api.useQuery(
    'get',
    '/api/search',
    { params: { query: { q: wanted, types: ['customer', 'account'], limit: MOST_RESULTS } } },
    { enabled: wanted.length >= SHORTEST_TEXT, ...KEEPS_LAST, gcTime: 60_000 },
  );
  const idsOf = (type: string) =>
    (search.data?.data ?? []).filter((result) => result.type === type).map(({ id }) => id);
  const byNumber = useAccounts('filter[id]', isOn ? idsOf('account') : []);
  const byCustomer = useAccounts('filter[customerId]', isOn ? idsOf('customer') : []);
  const all = [...byNumber.accounts, ...byCustomer.accounts];
  const found = all.filter(({ id }, at) => all.findIndex((one) => one.id === id) === at);
  const isTyping = wanted !== text.trim();
  return {
    isOn,
    isLoading: isTyping || search.isFetching || byNumber.isFetching || byCustomer.isFetching,
    error: search.error ?? byNumber.error ?? byCustomer.error,
    found: found.slice(0, MOST_RESULTS).map(toCandidate),
  };
}

function useAccounts(filter: 'filter[id]' | 'filter[customerId]', ids: readonly number[]) {
  const query = { [filter]: { in: ids.join(',') }, expand: ['customer' as const], limit: MOST_RESULTS };
  const { data, error, isFetching } = api.useQuery(
    'get',
    '/api/accounts',
    { params: { query } },
    { enabled: ids.length > 0, gcTime: 60_000 },
  );
  return { accounts: ids.length > 0 ? (data?.data ?? []) : [], error, isFetching };
}

function toCandidate(account: Schemas['Account']): Candidate {
  const { id, accountNumber, customer, status, balance, nextDueDate, nextDueAmount } = account;
  const customerName = customer?.name ?? '';
  return { accountId: id, accountNumber, customerName, status, balance, nextDueDate, nextDueAmount };
}
