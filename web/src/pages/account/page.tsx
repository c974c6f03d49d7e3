import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { untilLoaded } from '../../api/send.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import {
  currentLanguage,
  format,
  LANGUAGES,
  type Language,
  loadMessages,
  t,
  tCount,
  tValue,
} from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { MoreActions } from '../../ui/menu.tsx';
import { Columns, Facts, PageHead, Panel, Stat, Stats } from '../../ui/panel.tsx';
import { DownloadButton, downloadOrSay } from '../shared/download-button.tsx';
import { History } from '../shared/history.tsx';
import { PendingApprovals } from '../shared/pending-approvals.tsx';
import { useSharingAccount } from '../shared/share.tsx';
import { reasonInWords } from '../shared/status-reason.ts';
import { ACCOUNT_TONES, PAYMENT_STATE_TONES } from '../shared/tones.ts';
import { Explanation } from './explanation.tsx';
import { Invoices } from './invoices.tsx';
import { PaymentDialog } from './payment-dialog.tsx';
import { PaymentRequests, RequestButton } from './payment-requests.tsx';
import { Payments } from './payments.tsx';
import { describeInstalments } from './plan.ts';
import { PlanChanges } from './plan-changes.tsx';
import { QuotePanel } from './quote-panel.tsx';
import { RefundDialog } from './refund-dialog.tsx';
import { isKnownMove, MOVE_BUTTONS, type Move, StatusDialog } from './status-dialog.tsx';
import { Timeline } from './timeline.tsx';
import { TransferDialog } from './transfer-dialog.tsx';
import { Why } from './why.tsx';

type Account = Schemas['Account'];

const ChangePlanDialog = lazy(async () => {
  const [loaded] = await untilLoaded(() =>
    Promise.all([import('./change-plan-dialog.tsx'), loadMessages('plan-changes')]),
  );
  return { default: loaded.ChangePlanDialog };
});

export function Page({ id }: { id: string }) {
  const overview = api.useQuery('get', '/api/accounts/{id}/overview', {
    params: { path: { id: Number(id) }, query: { lang: currentLanguage() } },
  });
  return (
    <Loaded query={overview} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <AccountPage overview={data} />}
    </Loaded>
  );
}

function AccountPage({ overview }: { overview: Schemas['AccountOverview'] }) {
  const { account, expectsPayments, schedule, quote, sentence, payments, invoices, paymentRequests } =
    overview;
  const { language, sentence: ofCustomer } = quote.explanation;
  const [opened, setOpened] = useState<'payment' | 'payoff' | 'plan' | 'refund' | 'transfer' | Move>();
  const close = () => setOpened(undefined);
  const { restructured } = account;
  const sharing = useSharingAccount(account.id);
  const moves = may('accounts:change-status') ? overview.moves.filter(isKnownMove) : [];
  const creditActions = account.credit > 0 ? CREDIT_ACTIONS.filter((action) => may(`credit:${action}`)) : [];
  return (
    <>
      <PageHead
        eyebrow={
          <span className="mono" translate="no">
            {account.accountNumber}
          </span>
        }
        title={account.customer?.name ?? t('account.title', { number: account.accountNumber })}
        tabTitle={t('account.title', { number: account.accountNumber })}
        actions={
          <>
            {may('payments:record') && (
              <Button kind="primary" icon="plus" onClick={() => setOpened('payment')}>
                {t('account.recordPayment')}
              </Button>
            )}
            <RequestButton account={account} />
            <DownloadButton path={statementPath(account, language)}>{t('account.statement')}</DownloadButton>
            <MoreActions
              label={t('action.more')}
              actions={[
                ...(expectsPayments
                  ? [{ label: t('share.account'), onChoose: () => void sharing.share() }]
                  : []),
                ...(may('accounts:change-plan')
                  ? [{ label: t('account.changePlan'), onChoose: () => setOpened('plan') }]
                  : []),
                ...creditActions.map((action) => ({
                  label: t(CREDIT_BUTTONS[action]),
                  onChoose: () => setOpened(action),
                })),
                ...moves.map((move) => ({
                  label: t(MOVE_BUTTONS[move.status]),
                  onChoose: () => setOpened(move),
                })),
                {
                  label: t('account.statement.full'),
                  onChoose: () => void downloadOrSay(`${statementPath(account, language)}&detail=full`),
                },
                ...otherLanguages(language).map((other) => ({
                  label: t('account.statement.in', { language: LANGUAGES[other] }),
                  onChoose: () => void downloadOrSay(statementPath(account, other)),
                })),
              ]}
            />
          </>
        }
      >
        <Badge tone={ACCOUNT_TONES[account.status]}>{tValue('accountStatus', account.status)}</Badge>
        {restructured && (
          <>
            <Badge tone="warning">{t('account.restructured')}</Badge>
            <span>
              {tValue('planChangeKind', restructured.kind)} · {format.date(restructured.date)}
            </span>
          </>
        )}
        <span>{account.product?.name}</span>
        {account.status !== 'active' && account.reason && (
          <span className="muted">{reasonInWords(account.reason)}</span>
        )}
      </PageHead>
      <PendingApprovals approvals={account.pendingApprovals} />
      <p>{sentence}</p>
      {ofCustomer !== sentence && (
        <p className="muted" lang={language}>
          {ofCustomer}
        </p>
      )}
      <KeyFigures account={account} />
      <Why overview={overview} />
      <Columns
        main={
          <>
            <Timeline items={schedule.items} />
            {settings().paymentRequests && paymentRequests && <PaymentRequests latest={paymentRequests} />}
            {payments && <Payments accountId={account.id} latest={payments} />}
            {account.planVersion > 0 && <PlanChanges accountId={account.id} />}
            <Explanation accountId={account.id} />
            <History customerId={account.customerId} accountId={account.id} />
          </>
        }
        side={
          <>
            <QuotePanel
              ofToday={quote}
              onPay={may('payments:record') ? () => setOpened('payoff') : undefined}
            />
            <AccountFacts account={account} items={schedule.items} />
            {invoices && <Invoices account={account} latest={invoices} />}
          </>
        }
      />
      {sharing.dialog}
      {(opened === 'payment' || opened === 'payoff') && (
        <PaymentDialog account={account} ofToday={quote} isPayoff={opened === 'payoff'} onClose={close} />
      )}
      {opened === 'plan' && (
        <Suspense>
          <ChangePlanDialog account={account} nextUpcoming={nextUpcomingOf(schedule)} onClose={close} />
        </Suspense>
      )}
      {opened === 'refund' && <RefundDialog account={account} onClose={close} />}
      {opened === 'transfer' && <TransferDialog account={account} onClose={close} />}
      {typeof opened === 'object' && <StatusDialog account={account} move={opened} onClose={close} />}
    </>
  );
}

/** The date of the first instalment that is not due yet. */
function nextUpcomingOf({ items }: Schemas['AccountSchedule']): string | undefined {
  return items.find(({ number, dueDate }) => number > 0 && dueDate > settings().today)?.dueDate;
}

const otherLanguages = (language: Language) =>
  (Object.keys(LANGUAGES) as Language[]).filter((other) => other !== language);

function statementPath({ id }: Account, language: Language): string {
  return `/api/accounts/${id}/statement?format=pdf&lang=${language}`;
}

const CREDIT_ACTIONS = ['refund', 'transfer'] as const;
const CREDIT_BUTTONS = { refund: 'account.refund', transfer: 'account.transfer' } as const;

function KeyFigures({ account }: { account: Account }) {
  const { balance, total, paid, nextDueDate, nextDueAmount, arrears, daysPastDue, paymentState, paidUntil } =
    account;
  const tone = PAYMENT_STATE_TONES[paymentState];
  return (
    <Stats>
      <Stat
        label={t('account.balance')}
        value={format.money(balance)}
        hint={
          <>
            <progress
              className="progress"
              value={paid}
              max={total || 1}
              aria-label={t('account.explain.paid')}
            />
            {t('account.paidShare', { percent: format.percent(total ? Math.min(1, paid / total) : 1) })}{' '}
            {t('account.balance.of', { total: format.money(total) })}
          </>
        }
      />
      <Stat
        label={t('account.nextDue')}
        value={nextDueAmount === null ? '–' : format.money(nextDueAmount)}
        hint={
          nextDueDate === null
            ? t('account.nextDue.none')
            : `${format.date(nextDueDate)} · ${format.relativeDay(nextDueDate)}`
        }
      />
      <Stat
        label={t('account.arrears')}
        value={format.money(arrears)}
        hint={
          <Badge tone={tone}>
            {daysPastDue > 0
              ? tCount('account.daysPastDue', daysPastDue)
              : tValue('paymentState', paymentState)}
          </Badge>
        }
        {...(daysPastDue > 0 && tone === 'bad' && { tone: 'bad' as const })}
      />
      <Stat
        label={t('account.paidUntil')}
        value={paidUntil === null ? '–' : format.date(paidUntil)}
        hint={paidUntilHint(account)}
      />
      {account.credit > 0 && (
        <Stat label={t('account.credit')} value={format.money(account.credit)} tone="good" />
      )}
    </Stats>
  );
}

function paidUntilHint({ paidUntil, nextDueDate, paymentState, deposit }: Account): string {
  if (paidUntil !== null) return format.relativeDay(paidUntil);
  if (nextDueDate === null) return tValue('paymentState', paymentState);
  return t(deposit > 0 ? 'account.paidUntil.depositOpen' : 'account.paidUntil.none');
}

function AccountFacts({ account, items }: { account: Account; items: Schemas['AccountSchedule']['items'] }) {
  const { customer, product, deposit, graceDays } = account;
  return (
    <Panel title={t('account.plan')}>
      <Facts
        rows={[
          [
            t('field.customer'),
            customer && (
              <>
                <Link href={`/customers/${customer.id}`}>{customer.name}</Link>
                <a className="muted" href={`tel:${customer.phone}`}>
                  {customer.phone}
                </a>
              </>
            ),
          ],
          [t('field.product'), product?.name],
          [t('account.plan'), describeInstalments(account, items)],
          [t('field.deposit'), format.money(deposit)],
          [t('account.activation'), format.date(account.activationDate)],
          [t('account.grace'), tCount('account.days', graceDays)],
          [t('field.externalId'), account.externalId],
        ]}
      />
    </Panel>
  );
}
