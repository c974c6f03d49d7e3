import { Link } from 'wouter';
import { format, tCount } from '../../i18n/index.ts';
import { type Bucket, callListOf, nameOfBucket } from './summary.ts';

/** A bar for each range of days past due. The rows with late accounts are links to these accounts. All figures are also text. */
export function BucketChart({ buckets }: { buckets: readonly Bucket[] }) {
  const highest = Math.max(1, ...buckets.map(({ balance }) => balance));
  return (
    <ol className="bucket-chart">
      {buckets.map((bucket) => (
        <li key={bucket.from}>
          {bucket.from === 0 || bucket.count === 0 ? (
            <div className="bucket">
              <BucketRow bucket={bucket} highest={highest} />
            </div>
          ) : (
            <Link className="bucket" href={callListOf(bucket)}>
              <BucketRow bucket={bucket} highest={highest} />
            </Link>
          )}
        </li>
      ))}
    </ol>
  );
}

const TONES = [
  [90, 'bad'],
  [30, 'warning'],
  [0, 'late'],
] as const;

function BucketRow({ bucket, highest }: { bucket: Bucket; highest: number }) {
  const tone = TONES.find(([days]) => bucket.from > days)?.[1] ?? 'good';
  return (
    <>
      <span className="bucket-name">{nameOfBucket(bucket)}</span>
      <span className="amount">{format.money(bucket.balance)}</span>
      <svg className={`bucket-bar ${tone}`} aria-hidden="true">
        <rect width="100%" height="100%" />
        <rect width={`${(Math.max(0, bucket.balance) / highest) * 100}%`} height="100%" />
      </svg>
      <span className="muted bucket-count">{tCount('portfolio.accounts', bucket.count)}</span>
    </>
  );
}
