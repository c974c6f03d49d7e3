import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Panel } from '../../ui/panel.tsx';
import { DueTable, summaryOf } from './due-table.tsx';

type Item = Schemas['AccountSchedule']['items'][number];

const LEGEND = ['paid', 'partly_paid', 'overdue', 'due', 'upcoming', 'not_owed'] as const;

/** One cell for the deposit and one for each instalment, in the order in which payments are applied. The table has their dates. */
export function Timeline({ items }: { items: readonly Item[] }) {
  const shown = LEGEND.filter((state) => items.some((item) => item.state === state));
  return (
    <Panel title={t('account.timeline')}>
      <p className="muted">{summaryOf(items)}</p>
      <ol className="timeline" aria-hidden="true">
        {items.map((item) => (
          <li key={item.number} className={`cell ${item.state}`} title={describe(item)} />
        ))}
      </ol>
      <ul className="legend" aria-hidden="true">
        {shown.map((state) => (
          <li key={state}>
            <span className={`cell ${state}`} />
            {tValue('itemState', state)}
          </li>
        ))}
      </ul>
      <DueTable items={items} />
    </Panel>
  );
}

function describe({ number, dueDate, paid, amount }: Item): string {
  return t('account.timeline.cell', {
    name: number === 0 ? t('field.deposit') : t('account.timeline.item', { number }),
    date: format.date(dueDate),
    paid: format.money(paid),
    amount: format.money(amount),
  });
}
