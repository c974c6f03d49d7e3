import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Panel } from '../../ui/panel.tsx';

type Item = Schemas['AccountSchedule']['items'][number];

const LEGEND = ['paid', 'partly_paid', 'overdue', 'due', 'upcoming', 'not_owed'] as const;

/** One cell for the deposit and one for each instalment, in the order in which payments are applied. */
export function Timeline({ items }: { items: readonly Item[] }) {
  const paid = items.filter(({ state }) => state === 'paid').length;
  const shown = LEGEND.filter((state) => items.some((item) => item.state === state));
  const counts = { paid: format.number(paid), total: format.number(items.length) };
  return (
    <Panel title={t('account.timeline')}>
      <p className="muted">{t('account.timeline.summary', counts)}</p>
      <ol className="timeline">
        {items.map((item) => (
          <li key={item.number} className={`cell ${item.state}`} title={describe(item)}>
            <span className="visually-hidden">{describe(item)}</span>
          </li>
        ))}
      </ol>
      <ul className="legend">
        {shown.map((state) => (
          <li key={state}>
            <span className={`cell ${state}`} aria-hidden="true" />
            {tValue('itemState', state)}
          </li>
        ))}
      </ul>
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
