import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

type Work = Schemas['TodayWork'];

export interface WorkQuery {
  data: { data: Work } | undefined;
  error: unknown;
  refetch(): unknown;
}

/** Work that waits for staff, and failures. The service leaves out what the user may not read. */
export function Attention({ work }: { work: WorkQuery }) {
  return (
    <Panel title={t('today.attention')}>
      <Loaded query={work} explain={explain} skeleton={<Skeleton lines={7} />}>
        {({ data }) => <Rows {...data} />}
      </Loaded>
    </Panel>
  );
}

function Rows({
  date,
  rejectedNotifications: rejected,
  brokenPromises: broken,
  ownDecisions: decisions,
  providers,
  proof,
  ...counts
}: Work) {
  return (
    <ul className="rows">
      <Count
        href={may('payers:read') ? '/unmatched' : '/payments?status=unmatched'}
        label={t('today.unmatched')}
        tone="warning"
        count={counts.unmatchedPayments}
      />
      <Count
        href="/unmatched?view=conflicts"
        label={t('today.conflicts')}
        tone="warning"
        count={counts.conflicts}
      />
      {rejected && (
        <Count
          href={`/unmatched?view=rejected&from=${rejected.from}`}
          label={t('today.rejected', { day: format.dayAndMonth(rejected.from) })}
          tone="bad"
          count={rejected.count}
        />
      )}
      <Count
        href={`/call-list?due=${date}`}
        label={t('today.callsDue')}
        tone="warning"
        count={counts.callsDue}
      />
      {broken && (
        <Count
          href={`/promises?lastJudgement=broken&from=${broken.from}`}
          label={t('today.brokenPromises', { day: format.dayAndMonth(broken.from) })}
          tone="warning"
          count={broken.count}
        />
      )}
      <Count href="/approvals" label={t('today.approvals')} tone="warning" count={counts.pendingApprovals} />
      {decisions && decisions.count > 0 && (
        <Count
          href="/approvals?requestedBy=me&sort=endedAt:desc"
          label={t('today.ownDecisions', { day: format.dayAndMonth(decisions.from) })}
          tone="info"
          count={decisions.count}
        />
      )}
      {counts.cash && <OwnCash own={counts.cash.own} />}
      {counts.cash?.all && (
        <>
          <Count
            href="/cash/office"
            label={t('today.cash.open')}
            tone="warning"
            count={counts.cash.all.openCounts}
          />
          <Count
            href="/cash/office"
            label={t('today.cash.deposits')}
            tone="warning"
            count={counts.cash.all.deposits}
          />
          <Count
            href="/cash/office"
            label={t('today.cash.settlements')}
            tone="warning"
            count={counts.cash.all.settlements}
          />
        </>
      )}
      {providers && <LastNotification providers={providers} />}
      <Count
        href="/webhook-endpoints"
        label={t('today.webhooks')}
        tone="bad"
        count={counts.failingWebhookEndpoints}
      />
      {proof && <LastProof {...proof} />}
    </ul>
  );
}

/** The cash in the hands of the user. */
export function OwnCash({ own }: Pick<NonNullable<Work['cash']>, 'own'>) {
  return (
    <>
      <Count href="/cash" label={t('today.cash.own')} tone="warning" count={own.openCounts} />
      <Count href="/cash" label={t('today.cash.receive')} tone="warning" count={own.toReceive} />
    </>
  );
}

function LastNotification({ providers }: { providers: NonNullable<Work['providers']> }) {
  return (
    <Row label={t('today.lastNotification')}>
      {providers.length === 0 ? (
        <span className="muted">{t('today.lastNotification.none')}</span>
      ) : (
        <span>
          {providers.map(({ provider, lastHeardAt, isSilent }) => (
            <Badge key={provider} tone={isSilent ? 'warning' : 'good'}>
              {providers.length > 1 && `${provider}: `}
              {format.relativeTime(lastHeardAt)}
            </Badge>
          ))}
        </span>
      )}
    </Row>
  );
}

function LastProof({ last, current }: Schemas['LastProof']) {
  return (
    <Row label={t('today.proof')} href="/statements?view=proof">
      {last ? (
        <span className="row-end">
          <Badge tone={last.violationCount > 0 ? 'bad' : current ? 'good' : 'warning'}>
            {tCount('today.proof.violations', last.violationCount)}
          </Badge>
          <span className="muted">{format.relativeTime(last.readAt)}</span>
        </span>
      ) : (
        <Badge tone="warning">{t('today.proof.never')}</Badge>
      )}
    </Row>
  );
}

interface CountProps {
  /** The page on which staff do this work. */
  href: string;
  label: string;
  /** The tone of a count above zero. */
  tone: Tone;
  /** Null if the user may not read it. */
  count: number | null;
}

function Count({ href, label, tone, count }: CountProps) {
  if (count === null) return null;
  return (
    <Row label={label} href={href}>
      <Badge tone={count > 0 ? tone : 'good'}>{format.number(count)}</Badge>
    </Row>
  );
}

function Row({ label, href, children }: { label: string; href?: string; children: ReactNode }) {
  return (
    <li>
      {href === undefined ? <span>{label}</span> : <Link href={href}>{label}</Link>}
      {children}
    </li>
  );
}
