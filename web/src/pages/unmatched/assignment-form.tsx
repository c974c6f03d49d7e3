import { type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Form, FormButtons } from '../../ui/form.tsx';
import { Icon } from '../../ui/icons.tsx';
import { KEYS } from '../../ui/keys.ts';
import { isKey } from '../../ui/use-shortcut.ts';
import { type Candidate, useAccountSearch } from '../shared/account-search.ts';
import { usePaymentMethods } from '../shared/catalogue.ts';
import { mayAskProvider, PaymentAnswer } from '../shared/provider-answer.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';
import { useConnection } from '../shared/use-connection.ts';
import { Choice } from './choice.tsx';
import { Fact } from './fact.tsx';
import { Warnings } from './warnings.tsx';

type Payment = Schemas['UnmatchedPayment'];

const CONFIDENCE_TONES: Record<Schemas['Confidence'], Tone> = {
  high: 'good',
  medium: 'warning',
  low: 'neutral',
};

interface AssignmentFormProps {
  payment: Payment;
  /** Called before the request is sent. `onAssigned` or `onRefused` follows. */
  onSend(payment: Payment): void;
  onAssigned(payment: Payment, customerName: string): void;
  onRefused(payment: Payment): void;
}

/** A payment and the accounts that it may belong to. */
export function AssignmentForm({ payment, onSend, onAssigned, onRefused }: AssignmentFormProps) {
  const assign = useWrite('post', '/api/payments/{id}/assign', { waitsForQueries: false });
  const connection = useConnection();
  const [text, setText] = useState('');
  const [isMissing, setIsMissing] = useState(false);
  const [wantsFirst, setWantsFirst] = useState(false);
  const searchInput = useRef<HTMLInputElement>(null);
  const search = useAccountSearch(text);
  const suggestions = useKeptPlaces(payment.suggestions);
  const candidates: readonly Candidate[] = search.isOn ? search.found : suggestions;
  const isSearching = search.isOn && search.isLoading;
  useLayoutEffect(() => {
    if (!wantsFirst || isSearching) return;
    setWantsFirst(false);
    const first = firstChoiceOf(searchInput.current);
    first?.focus();
    first?.click();
  }, [wantsFirst, isSearching]);

  return (
    <>
      <Facts payment={payment} />
      {may('payments:assign') && (
        <Form
          problem={assign.problem}
          isSending={assign.isSending}
          connection={connection}
          onStop={assign.stop}
          onSubmit={async (values) => {
            const accountId = values.number('accountId');
            const chosen = candidates.find((candidate) => candidate.accountId === accountId);
            setIsMissing(!chosen);
            if (!chosen) return;
            const params = { path: { id: payment.id } };
            onSend(payment);
            if (await assign.send({ params, body: { accountId } })) onAssigned(payment, chosen.customerName);
            else onRefused(payment);
          }}
        >
          <label className="find-input">
            <Icon name="search" />
            <span className="visually-hidden">{t('unmatched.search')}</span>
            <input
              ref={searchInput}
              type="search"
              placeholder={t('unmatched.search')}
              aria-keyshortcuts={KEYS.search}
              autoComplete="off"
              spellCheck={false}
              maxLength={100}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setWantsFirst(false);
              }}
              onKeyDown={onSearchKey}
            />
            <kbd className="wide-only">{KEYS.search}</kbd>
          </label>
          <p className="field-hint" role="status">
            {search.error ? explain(search.error) : hintOf()}
          </p>
          {candidates.length > 0 && (
            <div className="choices" role="radiogroup" aria-label={t('unmatched.candidates')}>
              {candidates.map((candidate, index) => (
                <Choice
                  key={candidate.accountId}
                  name="accountId"
                  value={candidate.accountId}
                  number={index + 1}
                  onChoose={() => setIsMissing(false)}
                >
                  <CandidateText candidate={candidate} amount={payment.amount} />
                </Choice>
              ))}
            </div>
          )}
          {isMissing && <Notice tone="warning">{t('unmatched.chooseFirst')}</Notice>}
          {candidates.length > 0 && <FormButtons submit={t('unmatched.assign')} />}
        </Form>
      )}
      {mayAskProvider() && (
        <section className="provider" aria-label={t('answer.title')}>
          <PaymentAnswer paymentId={payment.id} />
        </section>
      )}
    </>
  );

  function hintOf(): string {
    if (!search.isOn) return t(candidates.length === 0 ? 'unmatched.noCandidates' : 'unmatched.hint');
    if (search.isLoading) return t('unmatched.searching');
    return t(candidates.length === 0 ? 'unmatched.notFound' : 'unmatched.found');
  }

  /** Enter and ↓ choose the first account after the search has ended. Until then the list shows the previous results. */
  function onSearchKey(event: KeyboardEvent<HTMLInputElement>) {
    if (isKey(event, 'open') || isKey(event, 'down')) setWantsFirst(true);
    else if (isKey(event, 'clear')) {
      setText('');
      firstChoiceOf(searchInput.current)?.focus();
    } else return;
    event.preventDefault();
  }
}

/**
 * Keeps each suggestion in the place where it was first shown, and adds new ones at the end. An assignment can change the
 * suggestions for other payments, but a digit key must choose the account that the user has read next to this digit.
 */
function useKeptPlaces(suggestions: readonly Candidate[]): readonly Candidate[] {
  const shown = useRef(suggestions);
  if (shown.current !== suggestions) {
    const isOf = (one: Candidate) => (other: Candidate) => other.accountId === one.accountId;
    const kept = shown.current.map((one) => suggestions.find(isOf(one)) ?? { ...one, isWithdrawn: true });
    const added = suggestions.filter((one) => !kept.some(isOf(one)));
    const isChanged = added.length > 0 || kept.some((one, at) => one !== shown.current[at]);
    if (isChanged) shown.current = [...kept, ...added];
  }
  return shown.current;
}

function firstChoiceOf(input: HTMLInputElement | null): HTMLInputElement | null | undefined {
  return input?.form?.querySelector<HTMLInputElement>('[type=radio]');
}

function Facts({ payment }: { payment: Payment }) {
  const method = usePaymentMethods().find(({ id }) => id === payment.paymentMethodId);
  return (
    <>
      <dl className="queue-facts">
        <Fact name={t('unmatched.reference')} isWide isCode>
          {payment.reference || '–'}
        </Fact>
        <Fact name={t('unmatched.payer')} isCode>
          {payment.payer ?? '–'}
        </Fact>
        <Fact name={t('account.pay.date')}>{format.date(payment.paymentDate)}</Fact>
        <Fact name={t('unmatched.transaction')}>
          <span className="mono">{payment.transactionRef ?? '–'}</span>
          {method && <span className="muted">{` · ${method.name}`}</span>}
        </Fact>
      </dl>
      <Warnings texts={payment.flags.map((flag) => tValue('notificationFlag', flag))} />
    </>
  );
}

function CandidateText({ candidate, amount }: { candidate: Candidate; amount: number }) {
  const { balance, nextDueAmount, nextDueDate, status, confidence } = candidate;
  return (
    <>
      <span className="choice-main">
        <span className="choice-title">
          <strong>{candidate.customerName}</strong>
          {confidence && (
            <Badge tone={CONFIDENCE_TONES[confidence]}>{tValue('confidence', confidence)}</Badge>
          )}
        </span>
        <span className="muted">
          <span className="mono">{candidate.accountNumber}</span>
          {candidate.reasons?.map(({ code, assignedOn }) => (
            <span key={code} className="reason">
              {tValue('suggestionReason', code, { date: assignedOn ? format.date(assignedOn) : '' })}
            </span>
          ))}
        </span>
      </span>
      <span className="choice-side">{candidate.isWithdrawn ? t('unmatched.withdrawn') : state()}</span>
    </>
  );

  function state() {
    return (
      <>
        <Badge tone={ACCOUNT_TONES[status]}>{tValue('accountStatus', status)}</Badge>
        {nextDueAmount !== null && (
          <span>
            {t('unmatched.nextDue', { amount: format.money(nextDueAmount) })}
            {nextDueDate && <span className="muted">{` · ${format.relativeDay(nextDueDate)}`}</span>}
          </span>
        )}
        <span className="muted">{t('unmatched.balance', { amount: format.money(balance) })}</span>
        {fitOf(amount, nextDueAmount, balance)}
      </>
    );
  }
}

/** An amount that equals the next instalment or the balance is further evidence for the account. */
function fitOf(amount: number, nextDueAmount: number | null, balance: number) {
  if (amount === nextDueAmount) return <span className="fit">{t('unmatched.fitsNext')}</span>;
  if (amount === balance) return <span className="fit">{t('unmatched.fitsBalance')}</span>;
  return null;
}
