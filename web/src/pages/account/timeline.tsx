import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { ScheduleItem } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

type State = 'paid' | 'partial' | 'late' | 'due' | 'future';

const LEGEND: readonly State[] = ['paid', 'partial', 'late', 'due', 'future'];

/** A cell for each instalment, in the order in which payments are applied to them. */
export function Timeline({ accountId }: { accountId: number }) {
  const schedule = api.useQuery('get', '/api/accounts/{id}/schedule', {
    params: { path: { id: accountId } },
  });
  return (
    <Panel title={t('account.timeline')}>
      <Loaded query={schedule} explain={explain}>
        {({ data }) => <Cells items={data} />}
      </Loaded>
    </Panel>
  );
}

function Cells({ items }: { items: readonly ScheduleItem[] }) {
  const { today } = settings();
  const states = items.map((item) => stateOf(item, today));
  const paid = states.filter((state) => state === 'paid').length;
  const shown = LEGEND.filter((state) => states.includes(state));
  return (
    <>
      <p className="muted">
        {t('account.timeline.summary', { paid: format.number(paid), total: format.number(items.length) })}
      </p>
      <ol className="timeline">
        {items.map((item, index) => (
          <li key={item.item} className={`cell ${states[index]}`} title={describe(item)}>
            <span className="visually-hidden">{describe(item)}</span>
          </li>
        ))}
      </ol>
      <ul className="legend">
        {shown.map((state) => (
          <li key={state}>
            <span className={`cell ${state}`} aria-hidden="true" />
            {t(`account.timeline.${state}`)}
          </li>
        ))}
      </ul>
    </>
  );
}

function describe({ item, dueDate, covered, amount }: ScheduleItem): string {
  return t('account.timeline.cell', {
    name: item === 0 ? t('account.timeline.deposit') : t('account.timeline.item', { item }),
    date: format.date(dueDate),
    covered: format.money(covered),
    amount: format.money(amount),
  });
}

function stateOf({ dueDate, amount, covered }: ScheduleItem, today: string): State {
  if (covered >= amount) return 'paid';
  if (dueDate < today) return 'late';
  if (covered > 0) return 'partial';
  return dueDate === today ? 'due' : 'future';
}
