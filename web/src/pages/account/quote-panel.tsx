import { useId, useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';

/** Shows what the customer must pay to be up to date on a day. */
export function QuotePanel({ ofToday }: { ofToday: Schemas['Quote'] }) {
  const id = useId();
  const [chosen, setDate] = useState<string>();
  const date = chosen ?? ofToday.date;
  const query = { params: { path: { id: ofToday.accountId }, query: { date } } };
  const isOther = date !== ofToday.date;
  const other = api.useQuery('get', '/api/accounts/{id}/quote', query, { ...KEEPS_LAST, enabled: isOther });
  const isKnown = !isOther || (other.isPending && !other.data);
  const quote = isKnown ? { ...other, data: { data: ofToday } } : other;
  return (
    <Panel title={t('account.quote')}>
      <div className="quote-question">
        <label htmlFor={id}>{t('account.quote.question')}</label>
        <input
          id={id}
          className="input"
          type="date"
          min={ofToday.date}
          value={date}
          onChange={(event) => event.target.value && setDate(event.target.value)}
        />
      </div>
      <Loaded query={quote} explain={explain} skeleton={<Skeleton lines={3} />}>
        {({ data }) => (
          <>
            <output className="quote-answer" htmlFor={id}>
              <strong>{format.money(data.amountDue)}</strong>
              <span className="muted">
                {t('account.quote.amountDue', { date: format.dayAndMonth(data.date) })}
              </span>
            </output>
            <Facts
              rows={[
                [t('account.quote.overdue'), format.money(data.overdue)],
                [t('account.quote.dueOnDate'), format.money(data.dueOnDate)],
                [t('account.quote.settlement'), format.money(data.settlement)],
              ]}
            />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
