import { useId, useState } from 'react';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, hasValue, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';

interface QuotePanelProps {
  ofToday: Schemas['Quote'];
  /** Opens the form to record the early payoff. Undefined if the user may not record payments. */
  onPay: (() => void) | undefined;
}

/** Shows what the customer must pay to be up to date on a day, and to pay everything off early. */
export function QuotePanel({ ofToday, onPay }: QuotePanelProps) {
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
            {data.earlyPayoff && (
              <EarlyPayoff quote={data} offer={data.earlyPayoff} onPay={isOther ? undefined : onPay} />
            )}
            {hasValue('noPayoff', data.noEarlyPayoff) && (
              <p className="muted">{tValue('noPayoff', data.noEarlyPayoff)}</p>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

interface EarlyPayoffProps {
  quote: Schemas['Quote'];
  offer: NonNullable<Schemas['Quote']['earlyPayoff']>;
  onPay: QuotePanelProps['onPay'];
}

function EarlyPayoff({ quote, offer: { amount, until }, onPay }: EarlyPayoffProps) {
  const sum = format.money(amount);
  return (
    <>
      <p>
        {t('account.payoff', {
          date: format.dayAndMonth(quote.date),
          amount: sum,
          balance: format.money(quote.settlement),
        })}{' '}
        {until !== null && t('account.payoff.until', { date: format.date(until) })}
      </p>
      {onPay && <Button onClick={onPay}>{t('account.payoff.pay', { amount: sum })}</Button>}
    </>
  );
}
