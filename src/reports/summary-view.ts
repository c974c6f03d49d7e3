import { ACCOUNT_STATUSES, isStatusIn, statusesIn } from '../accounts/status/rules.ts';
import { amountOf, type Context, type Currency, today, totalOf } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { Minor } from '../core/values/money.ts';
import {
  accountsUrl,
  atRiskByLargestUrl,
  atRiskUrl,
  BUCKETS,
  bucketUrl,
  type ReportDays,
  type ReportPeriod,
  ratioOf,
  reportDaysOf,
  startOfBucket,
  statusNotIn,
  sumAbove,
} from './rules.ts';
import {
  accountFigures,
  findProductNames,
  findSummaryNeeds,
  type SummaryFigures,
  type SummaryNeeds,
  writeOffFigures,
} from './summary-store.ts';

const EARLIER_PERIOD = { path: 'endDate', advice: 'ask for an earlier period' };

/** The figures of the portfolio for a period, from one snapshot. The formulas are in summary-store.ts. */
export async function summarizeAccounts(tx: Tx, context: Omit<Context, 'db'>, period: ReportPeriod) {
  const { currency } = context;
  const { days, needs } = await readReportDays(tx, context, period);
  const figures = await accountFigures(tx, context, period, days, needs);
  const writeOffs = await writeOffFigures(tx, period, days, needs);
  const products = await findProductNames(tx);

  const amount = (minor: Minor) => totalOf(minor, currency, EARLIER_PERIOD);
  const money = (rows: SummaryFigures[], sum: Sum) => amount(addUp(rows, sum));
  const count = (rows: SummaryFigures[], sum: Sum) => Number(addUp(rows, sum));
  // The list of accounts shows only present values, so a figure of a past day gets no URL (except `opened` and `writeOffs`).
  const urlIfToday = (url: string) => (days.isToday ? url : null);
  const group = (rows: SummaryFigures[], url: string) => ({
    count: count(rows, 'accounts'),
    receivableCount: count(
      rows.filter(({ bucket }) => bucket !== null),
      'accounts',
    ),
    contractValue: money(rows, 'contract'),
    outstanding: money(rows, 'outstanding'),
    arrears: money(rows, 'arrears'),
    accountsUrl: urlIfToday(url),
  });
  const ratio = ratioAt(days, currency);

  const sold = soldIn(figures);
  const receivables = addUp(figures, 'outstanding');
  const buckets = BUCKETS.map((_, i) => figures.filter(({ bucket }) => bucket === i));
  const balances = buckets.map((rows) => addUp(rows, 'outstanding'));
  const counts = buckets.map((rows) => addUp(rows, 'accounts'));
  const atRisk = (days: number) =>
    ratio(sumAbove(days, balances), receivables, Number(sumAbove(days, counts)), atRiskUrl(days));
  const repaymentRateOf = ([repaid, due]: [Sum, Sum]) =>
    ratio(
      addUp(sold, repaid),
      addUp(sold, due),
      count(sold, 'begun'),
      accountsUrl({ ...SOLD_ONLY, '[activationDate][lte]': days.asOf }),
    );
  const isBeyond = (days: number, bucket: number | null) => bucket !== null && startOfBucket(bucket) > days;
  /** The balances of the accounts of the gross receivables for which the condition holds. */
  const atRiskIf = (condition: (row: SummaryFigures) => boolean, url: string | null) => {
    const rows = figures.filter((row) => row.bucket !== null && condition(row));
    return ratio(addUp(rows, 'outstanding'), receivables, Number(addUp(rows, 'accounts')), url);
  };
  const byLargest = (days: number) =>
    atRiskIf(({ largest_bucket: bucket }) => isBeyond(days, bucket), atRiskByLargestUrl(days));
  const orRestructured = (days: number) =>
    atRiskIf(({ largest_bucket: bucket, restructured }) => restructured || isBeyond(days, bucket), null);

  return {
    period,
    asOf: days.asOf,
    currency: currency.code,
    opened: {
      count: count(figures, 'opened'),
      contractValue: money(figures, 'opened_contract'),
      accountsUrl: accountsUrl({ '[createdAt][gte]': period.startDate, '[createdAt][lte]': period.endDate }),
    },
    activated: {
      count: count(figures, 'activated'),
      contractValue: money(figures, 'activated_contract'),
      accountsUrl: urlIfToday(
        accountsUrl({
          '[activationDate][gte]': period.startDate,
          '[activationDate][lte]': days.asOf,
          ...statusNotIn(statusesIn('unsold')),
        }),
      ),
    },
    contractValue: money(sold, 'contract'),
    collected: money(figures, 'collected'),
    outstanding: money(figures, 'outstanding'),
    arrears: money(figures, 'arrears'),
    byStatus: ACCOUNT_STATUSES.map((status) => {
      const rows = figures.filter(({ status_then }) => status_then === status);
      return { status, ...group(rows, accountsUrl({ '[status]': status })) };
    }),
    byProduct: products.flatMap(({ id, name }) => {
      const rows = sold.filter(({ product_id }) => product_id === id);
      if (count(rows, 'accounts') === 0) return [];
      const url = accountsUrl({ '[productId]': id, ...SOLD_ONLY });
      return [{ productId: id, productName: name, ...group(rows, url) }];
    }),
    collectionRate: collectionRateOf(figures, ratio),
    repaymentRate: repaymentRateOf(['repaid', 'due_to_date']),
    par30: atRisk(30),
    par60: atRisk(60),
    par90: atRisk(90),
    byOriginalTerms: {
      ...{ par30: byLargest(30), par60: byLargest(60), par90: byLargest(90) },
      collectionRate: collectionRateOf(figures, ratio, 'original_due_in_period'),
      repaymentRate: repaymentRateOf(['original_repaid', 'original_due_to_date']),
    },
    withRestructured: { par30: orRestructured(30), par60: orRestructured(60), par90: orRestructured(90) },
    daysPastDue: BUCKETS.map((bucket, i) => ({
      ...bucket,
      count: count(buckets[i] ?? [], 'accounts'),
      balance: money(buckets[i] ?? [], 'outstanding'),
      accountsUrl: urlIfToday(bucketUrl(bucket)),
    })),
    writeOffs: {
      count: writeOffs.accounts,
      amount: amountOf(BigInt(writeOffs.amount), currency),
      recovered: amountOf(BigInt(writeOffs.recovered), currency),
      asOf: days.asOf,
      accountsUrl: accountsUrl({
        '[writtenOffDate][gte]': period.startDate,
        '[writtenOffDate][lte]': days.asOf,
      }),
    },
  };
}

/** The collection rate of `summarizeAccounts` without the other figures. */
export async function readCollectionRate(tx: Tx, context: Omit<Context, 'db'>, period: ReportPeriod) {
  const { days, needs } = await readReportDays(tx, context, period);
  const figures = await accountFigures(tx, context, period, days, needs);
  return collectionRateOf(figures, ratioAt(days, context.currency));
}

const SOLD_ONLY = statusNotIn(statusesIn('saleUndone'));

function soldIn(figures: SummaryFigures[]): SummaryFigures[] {
  return figures.filter(({ status_then }) => !isStatusIn(status_then, 'saleUndone'));
}

function collectionRateOf(
  figures: SummaryFigures[],
  ratio: ReturnType<typeof ratioAt>,
  due: Sum = 'due_in_period',
) {
  const sold = soldIn(figures);
  return ratio(
    addUp(sold, 'collected_instalments'),
    addUp(sold, due),
    Number(addUp(sold, 'accounts')),
    accountsUrl(SOLD_ONLY),
  );
}

/** The list of accounts shows only present values, so a ratio of a past day gets no URL. */
function ratioAt({ asOf, isToday }: ReportDays, currency: Currency) {
  return (numerator: Minor, denominator: Minor, accounts: number, url: string | null) => ({
    numerator: totalOf(numerator, currency, EARLIER_PERIOD),
    denominator: totalOf(denominator, currency, EARLIER_PERIOD),
    ratio: ratioOf(numerator, denominator),
    asOf,
    count: accounts,
    accountsUrl: isToday ? url : null,
  });
}

/** Sets `isToday` to false if anything is dated after today: a clock was set back, or another instance's clock is ahead. */
async function readReportDays(
  tx: Tx,
  context: Pick<Context, 'clock' | 'config'>,
  period: ReportPeriod,
): Promise<{ days: ReportDays; needs: SummaryNeeds }> {
  const days = reportDaysOf(period, today(context));
  const needs = await findSummaryNeeds(tx, days);
  return { days: { ...days, isToday: days.isToday && !needs.isDatedLater }, needs };
}

type Sum = Exclude<
  keyof SummaryFigures,
  'status_then' | 'product_id' | 'bucket' | 'largest_bucket' | 'restructured'
>;

function addUp(figures: SummaryFigures[], sum: Sum): bigint {
  return figures.reduce((total, row) => total + BigInt(row[sum]), 0n);
}
