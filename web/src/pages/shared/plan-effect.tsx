import '../../ui/plans.css';
import type { ReactNode } from 'react';
import { client, sendSignedIn } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';

export type Effect = Schemas['ShownPlanChange'];
type State = Effect['before'];

/** Asks what a change would do. Nothing is changed, so the request can be repeated after a lost connection. */
export async function showEffect(id: number, body: Schemas['NewPlanChange']): Promise<Effect> {
  const { data, error } = await client.POST('/api/accounts/{id}/plan-changes', {
    params: { path: { id } },
    body,
    fetch: (request) => sendSignedIn(request, true),
  });
  if (!data) throw error;
  return data.data as Effect;
}

/** The terms and the position of the account before and after a change. */
export function EffectTable({ effect: { before, after } }: { effect: Effect }) {
  return <Sides rows={ROWS.map(({ name, show }) => [name, show(before), show(after)])} />;
}

/** The terms before and after a change that was made. */
export function TermsTable({ before, after }: Pick<Schemas['PlanChange'], 'before' | 'after'>) {
  return <Sides rows={TERMS.map(({ name, show }) => [name, [show(before)], [show(after)]])} />;
}

type RowName = (typeof ROWS)[number]['name'];

interface SidesProps {
  rows: readonly (readonly [name: RowName, before: readonly string[], after: readonly string[]])[];
}

/** Two values of each row side by side. What differs is bold. */
function Sides({ rows }: SidesProps) {
  return (
    <table className="effect">
      <caption className="visually-hidden">{t('changePlan.effect')}</caption>
      <thead>
        <tr>
          <td className="muted">{format.currency()}</td>
          <th scope="col">{t('changePlan.before')}</th>
          <th scope="col">{t('changePlan.after')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, before, after]) => {
          const isChanged = JSON.stringify(before) !== JSON.stringify(after);
          return (
            <tr key={name}>
              <th scope="row">{t(name)}</th>
              <td>{linesOf(before)}</td>
              <td>{isChanged ? <strong>{linesOf(after)}</strong> : linesOf(after)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The rows whose values before the change differ, because the account has changed between two previews. */
export function differencesOf(earlier: Effect, now: Effect) {
  return ROWS.map(({ name, show }) => ({ name, before: show(earlier.before), now: show(now.before) })).filter(
    ({ before, now: shown }) => String(before) !== String(shown),
  );
}

const dash = (text: string | null) => text ?? '–';
const day = (date: string | null) => dash(date && format.date(date));

/** Each row as one line or several lines of text. */
const ROWS = [
  { name: 'field.total', show: ({ total }) => [format.amount(total)] },
  { name: 'field.instalments', show: ({ runs }) => describeRuns(runs) },
  {
    name: 'account.nextDue',
    show: ({ nextDueDate, nextDueAmount }) =>
      nextDueDate === null || nextDueAmount === null
        ? ['–']
        : [format.date(nextDueDate), format.amount(nextDueAmount)],
  },
  { name: 'account.paidUntil', show: ({ paidUntil }) => [day(paidUntil)] },
  { name: 'account.arrears', show: ({ arrears }) => [format.amount(arrears)] },
  { name: 'changePlan.daysPastDue', show: ({ daysPastDue }) => [format.number(daysPastDue)] },
  { name: 'changePlan.completion', show: ({ completionDate }) => [day(completionDate)] },
  { name: 'account.credit', show: ({ credit }) => [format.amount(credit)] },
] as const satisfies readonly { name: string; show(state: State): readonly string[] }[];

const TERMS = [
  { name: 'field.total', show: ({ total }) => format.amount(total) },
  { name: 'field.instalments', show: ({ instalmentCount }) => format.number(instalmentCount) },
  { name: 'changePlan.completion', show: ({ completionDate }) => day(completionDate) },
] as const satisfies readonly { name: RowName; show(terms: Schemas['PlanTerms']): string }[];

/** A plan with months without instalments, or with harvests, can have hundreds of runs. */
const MOST_RUNS = 6;

/** Each run in two lines. Example: "52 × 400.00" and "9 Nov 2026 – 1 Nov 2027". */
function describeRuns(runs: State['runs']): string[] {
  const lines = runs.slice(0, MOST_RUNS).flatMap(linesOfRun);
  const left = runs.length - MOST_RUNS;
  return left > 0 ? [...lines, t('changePlan.moreRuns', { count: format.number(left) })] : lines;
}

function linesOfRun({ count, amount, firstDueDate, lastDueDate }: State['runs'][number]): string[] {
  const each = format.amount(amount);
  const amounts = count === 1 ? each : t('changePlan.run', { count: format.number(count), amount: each });
  return [amounts, datesOf(firstDueDate, lastDueDate)];
}

/** Lines break only between two dates, not within a date. */
function datesOf(first: string, last: string): string {
  const dates = format.dateRange(first, last).split(' – ');
  return dates.map((date) => date.replaceAll(' ', '\u00a0')).join(' – ');
}

function linesOf(lines: readonly string[]): ReactNode {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: The lines have no identity.
    <span key={at} className="line">
      {line}
    </span>
  ));
}
