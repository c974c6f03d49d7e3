import { Link } from 'wouter';
import { writeQuery } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Icon, type IconName } from '../../ui/icons.tsx';

type Result = Schemas['SearchResult'];

/** The service does not count more results than one above this number. */
const MOST_COUNTED = 10_000;
const ICONS: Record<Result['type'], IconName> = {
  customer: 'user',
  account: 'home',
  payment: 'money',
  invoice: 'file',
};

export interface ResultsProps {
  /** The id of the search field. */
  id: string;
  /** The text of the search, and the number of characters from which on it is searched. */
  text: string;
  shortest: number;
  results: readonly Result[];
  /** The number of all matching rows. Undefined before the first answer. */
  total: number | undefined;
  error: unknown;
  /** The place of the result that Enter opens. */
  active: number;
  onActive(index: number): void;
  onOpen(result: Result): void;
  /** Called when the user leaves the search by a link to a list. */
  onLeave(): void;
}

/** The results of a search, what the search says about them, and links to the lists with the other rows. */
export function Results({ id, results, active, onActive, onOpen, onLeave, ...search }: ResultsProps) {
  return (
    <>
      <div id={`${id}-results`} role="listbox" aria-label={t('nav.find')}>
        {results.map((result, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: The input handles the keys.
          <div
            key={`${result.type} ${result.id}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            className="find-result"
            onMouseDown={(event) => event.preventDefault() /* The input keeps the focus. */}
            onMouseMove={() => onActive(index)}
            onClick={() => onOpen(result)}
          >
            <Icon name={ICONS[result.type]} />
            <span className="find-text">
              <span className="find-title">{result.title}</span>
              {result.subtitle && <span className="muted">{result.subtitle}</span>}
              {result.account && <AccountOfResult {...result} account={result.account} />}
            </span>
            <span className="muted">{tValue('searchType', result.type)}</span>
          </div>
        ))}
      </div>
      <p className="find-status muted" role="status">
        {statusOf({ ...search, shown: results.length })}
      </p>
      {search.total !== undefined && search.total > results.length && (
        <AllMatches text={search.text} results={results} onLeave={onLeave} />
      )}
    </>
  );
}

/** The product of an account and how late it is. For a customer: also its number, and how many other accounts there are. */
function AccountOfResult({
  type,
  account: { accountNumber, productName, status, daysPastDue },
  accountCount,
}: Result & { account: NonNullable<Result['account']> }) {
  const others = (accountCount ?? 1) - 1;
  const facts = [
    type === 'customer' && accountNumber,
    productName,
    status !== 'active' && tValue('accountStatus', status),
    others > 0 && tCount('find.accounts', others),
  ];
  return (
    <span className="find-account muted">
      {facts.filter(Boolean).join(' · ')}
      {daysPastDue > 0 && <Badge tone="warning">{tCount('account.daysPastDue', daysPastDue)}</Badge>}
    </span>
  );
}

interface AllMatchesProps {
  text: string;
  results: readonly Result[];
  onLeave(): void;
}

/** Links to the lists that find the same customers and accounts. Lists do not search external ids. */
function AllMatches({ text, results, onLeave }: AllMatchesProps) {
  const found = results.filter(({ matchedOn }) => matchedOn !== 'externalId').map(({ type }) => type);
  const query = writeQuery({ search: text });
  const hasCustomers = found.includes('customer') && may('customers:read');
  if (!hasCustomers && !found.includes('account')) return null;
  return (
    // The input keeps the focus: Safari gives none to a link, so the results would close before the click.
    <p className="find-rest" onMouseDown={(event) => event.preventDefault()}>
      {hasCustomers && (
        <Link href={`/customers?${query}`} onClick={onLeave}>
          {t('find.all.customers')}
        </Link>
      )}
      <Link href={`/accounts?${query}`} onClick={onLeave}>
        {t('find.all.accounts')}
      </Link>
    </p>
  );
}

interface Status extends Pick<ResultsProps, 'text' | 'shortest' | 'total' | 'error'> {
  shown: number;
}

function statusOf({ text, shortest, total, error, shown }: Status): string {
  if (error) return explain(error);
  if (text.length === 0) return '';
  if (text.length < shortest) return t('find.short');
  if (total === undefined) return '';
  if (shown === 0) return t('find.none');
  if (total <= shown) return tCount('find.results', shown);
  const shownText = format.number(shown);
  if (total <= MOST_COUNTED) return t('find.some', { shown: shownText, total: format.number(total) });
  return t('find.many', { shown: shownText, total: format.number(MOST_COUNTED) });
}
