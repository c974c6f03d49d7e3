import '../../ui/schedule.css';
import { Fragment, memo, useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

type Item = Schemas['AccountSchedule']['items'][number];

/** A longer schedule shows its years, and the items of a year when the user opens it. */
const MOST_ITEMS = 24;

const TONES: Record<Item['state'], Tone> = {
  paid: 'good',
  partly_paid: 'info',
  overdue: 'bad',
  due: 'warning',
  upcoming: 'neutral',
  not_owed: 'neutral',
};

/** The dates and amounts of the deposit and of all instalments. It can have thousands of rows, so it is not rendered with its page. */
export const DueTable = memo(function DueTable({ items }: { items: readonly Item[] }) {
  const [opened, setOpened] = useState<readonly string[]>([]);
  const next = items.find(({ state }) => state !== 'paid' && state !== 'not_owed');
  const isLong = items.length > MOST_ITEMS;
  const years = [...new Set(items.map(yearOf))];
  return (
    <table className="schedule">
      <caption className="visually-hidden">{t('account.timeline')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('account.schedule.number')}</th>
          <th scope="col">{t('field.date')}</th>
          <th scope="col" className="number">
            {t('field.amount')}
          </th>
          <th scope="col">{t('field.status')}</th>
        </tr>
      </thead>
      {years.map((year) => {
        const ofYear = items.filter((item) => yearOf(item) === year);
        const isOpen = !isLong || opened.includes(year);
        return (
          <Fragment key={year}>
            {isLong && (
              <tbody>
                <tr>
                  <th colSpan={4} scope="rowgroup">
                    <button
                      type="button"
                      aria-expanded={isOpen}
                      onClick={() =>
                        setOpened(isOpen ? opened.filter((one) => one !== year) : [...opened, year])
                      }
                    >
                      {year} · {summaryOf(ofYear)}
                    </button>
                  </th>
                </tr>
              </tbody>
            )}
            {/* A closed year is hidden on the screen only: the print has all of them. */}
            <tbody className={isOpen ? '' : 'closed'}>
              {ofYear.map((item) => (
                <Row key={item.number} item={item} isNext={item === next} />
              ))}
            </tbody>
          </Fragment>
        );
      })}
    </table>
  );
});

function Row({ item: { number, dueDate, amount, paid, state }, isNext }: { item: Item; isNext: boolean }) {
  const isPartlyPaid = paid !== 0 && paid < amount;
  return (
    <tr aria-current={isNext || undefined}>
      <td>{number === 0 ? t('field.deposit') : format.number(number)}</td>
      <td className="nowrap">{format.date(dueDate)}</td>
      <td className="number">
        {isPartlyPaid
          ? t('account.why.partlyPaid', { paid: format.amount(paid), amount: format.amount(amount) })
          : format.amount(amount)}
      </td>
      <td>
        <Badge tone={TONES[state]}>{tValue('itemState', state)}</Badge>
        {isNext && ` ${t('account.schedule.next')}`}
      </td>
    </tr>
  );
}

/** Example: "3 of 12 paid". */
export function summaryOf(items: readonly Item[]): string {
  const paid = items.filter(({ state }) => state === 'paid').length;
  return t('account.timeline.summary', {
    paid: format.number(paid),
    total: format.number(items.length),
  });
}

const yearOf = ({ dueDate }: Item) => dueDate.slice(0, 4);
