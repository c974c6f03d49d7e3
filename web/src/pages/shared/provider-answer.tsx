import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import type { Problem } from '../../api/problem.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';
import { WriteNotice } from './write-notice.tsx';

type StatusQuery = Schemas['StatusQuery'];

/** Whether status queries are turned on and the user has the permission to send them. */
export function mayAskProvider(): boolean {
  return settings().statusQueries && may('payments:assign');
}

/** What the provider answered about the transaction of a payment, and a button that asks the provider. */
export function PaymentAnswer({ paymentId }: { paymentId: number }) {
  const ask = useWrite('post', '/api/payments/{id}/status-queries');
  return (
    <Answer
      filter={{ 'filter[paymentId]': { eq: paymentId } }}
      problem={ask.problem}
      button={(label) => (
        <Button
          onClick={() => void ask.send({ params: { path: { id: paymentId } } })}
          disabled={ask.isSending}
        >
          {label}
        </Button>
      )}
    />
  );
}

/** The same for a notification. If the notification has no readable transaction number, the user types the number. */
export function NotificationAnswer({ notification }: { notification: Schemas['Notification'] }) {
  const { id, transactionRef } = notification;
  const ask = useWrite('post', '/api/notifications/{id}/status-queries');
  const send = (body: Schemas['NewStatusQuery']) => void ask.send({ params: { path: { id } }, body });
  return (
    <Answer
      filter={{ 'filter[notificationId]': { eq: id } }}
      problem={transactionRef === null ? undefined : ask.problem}
      button={(label) =>
        transactionRef === null ? (
          <Form
            problem={ask.problem}
            isSending={ask.isSending}
            onStop={ask.stop}
            onSubmit={(values) => send({ transactionRef: values.text('transactionRef') })}
          >
            <TextField label={t('answer.transaction')} name="transactionRef" maxLength={64} required />
            <FormButtons submit={label} />
          </Form>
        ) : (
          <Button onClick={() => send({})} disabled={ask.isSending}>
            {label}
          </Button>
        )
      }
    />
  );
}

interface AnswerProps {
  filter: Readonly<Record<string, { eq: number }>>;
  problem: Problem | undefined;
  button(label: string): ReactNode;
}

function Answer({ filter, problem, button }: AnswerProps) {
  const queries = api.useQuery('get', '/api/status-queries', {
    params: { query: { ...filter, sort: 'id:desc', limit: 1 } },
  });
  return (
    <Loaded query={queries} explain={explain} skeleton={<Skeleton lines={2} />}>
      {({ data: [latest] }) => (
        <div className="provider-answer">
          {latest ? <Latest query={latest} /> : <p className="muted">{t('answer.lead')}</p>}
          <WriteNotice problem={problem} />
          {latest?.state !== 'requested' && button(t(latest ? 'answer.askAgain' : 'answer.ask'))}
        </div>
      )}
    </Loaded>
  );
}

function Latest({ query }: { query: StatusQuery }) {
  const { state, message, answer, createdAt, askedBy, endedAt } = query;
  if (state === 'requested')
    return (
      <p role="status">
        {t('answer.waiting', { time: format.dateTime(createdAt) })}
        {message && ` ${t('answer.sending')}`}
      </p>
    );
  if (!answer)
    return (
      <Notice tone={state === 'not_found' ? 'bad' : 'warning'} title={tValue('statusQueryState', state)}>
        {message}
      </Notice>
    );
  return (
    <>
      <Facts query={query} answer={answer} />
      {query.differences.length === 0 && <p role="status">{t('answer.same')}</p>}
      <p className="muted">
        {t('answer.by', { name: askedBy, time: format.dateTime(endedAt ?? createdAt) })}
      </p>
    </>
  );
}

function Facts({ query, answer }: { query: StatusQuery; answer: NonNullable<StatusQuery['answer']> }) {
  const { status, amount, payer, payerName, receiver, completedAt, reason } = answer;
  const who = [payer, payerName].filter((part) => part !== null).join(' · ');
  const facts = {
    status,
    amount: amount === null ? null : format.money(amount),
    payer: who || null,
    receiver,
    date: completedAt === null ? null : format.dateTime(completedAt),
    reason,
  };
  const names = Object.keys(facts) as (keyof typeof facts)[];
  return (
    <dl className="queue-facts">
      {names.map((name) => {
        const difference = query.differences.find(({ field }) => field === name);
        const value = facts[name] ?? difference?.provider;
        if (!value) return null;
        return (
          <div key={name}>
            <dt>{t(`answer.${name}`)}</dt>
            <dd>
              {value}
              {difference && (
                <span className="difference">{t('answer.differs', { value: difference.ours })}</span>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
