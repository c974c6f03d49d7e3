import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { format, t, tCount } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

/** If a provider has sent no notification for more hours than this, it may be unable to reach the service. */
const SILENT_AFTER_HOURS = 24;
/** The number of days, including today, whose rejected notifications are counted. The label says "seven". */
const REJECTED_DAYS = 7;

/** Work that waits for staff, and failures. */
export function Attention() {
  return (
    <Panel title={t('today.attention')}>
      <ul className="rows">
        {may('payments:read') && <Unmatched />}
        {may('payers:read') && <Conflicts />}
        {may('payers:read') && <Rejected />}
        {may('approvals:decide') && <Approvals />}
        {may('payers:read') && <LastNotification />}
        {may('webhook-endpoints:administer') && <FailingWebhooks />}
        {may('reports:read') && <LastProof />}
      </ul>
    </Panel>
  );
}

function Unmatched() {
  const query = { 'filter[status]': { eq: 'unmatched' as const }, limit: 1 };
  const payments = api.useQuery('get', '/api/payments', { params: { query } });
  return (
    <Count
      href={may('payers:read') ? '/unmatched' : '/payments?status=unmatched'}
      label={t('today.unmatched')}
      tone="warning"
      query={payments}
    />
  );
}

function Conflicts() {
  const query = { 'filter[outcome]': { eq: 'conflict' as const }, limit: 1 };
  const notifications = api.useQuery('get', '/api/notifications', { params: { query } });
  return (
    <Count
      href="/unmatched?view=conflicts"
      label={t('today.conflicts')}
      tone="warning"
      query={notifications}
    />
  );
}

/** Counts only recent days, because a notification stays rejected after staff have dealt with it. */
function Rejected() {
  const from = format.addDays(settings().today, 1 - REJECTED_DAYS);
  const query = {
    'filter[status]': { eq: 'rejected' as const },
    'filter[createdAt]': { gte: from },
    limit: 1,
  };
  const notifications = api.useQuery('get', '/api/notifications', { params: { query } });
  return (
    <Count
      href={`/unmatched?view=rejected&from=${from}`}
      label={t('today.rejected')}
      tone="bad"
      query={notifications}
    />
  );
}

function Approvals() {
  const query = { 'filter[status]': { eq: 'pending' as const }, limit: 1 };
  const approvals = api.useQuery('get', '/api/approvals', { params: { query } });
  return <Count href="/approvals" label={t('today.approvals')} tone="warning" query={approvals} />;
}

function FailingWebhooks() {
  const query = { 'filter[failingSince]': { isnull: false }, limit: 1 };
  const endpoints = api.useQuery('get', '/api/webhook-endpoints', { params: { query } });
  return <Count href="/webhook-endpoints" label={t('today.webhooks')} tone="bad" query={endpoints} />;
}

function LastNotification() {
  const status = api.useQuery('get', '/api/providers/status');
  return (
    <Row label={t('today.lastNotification')}>
      <Loaded query={status} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ data }) => {
          const heard = data.filter(({ lastHeardAt }) => lastHeardAt !== null);
          if (heard.length === 0) return <span className="muted">{t('today.lastNotification.none')}</span>;
          return (
            <span>
              {heard.map(({ provider, lastHeardAt, silentSince }) => (
                <Badge key={provider} tone={isSilent(lastHeardAt, silentSince) ? 'warning' : 'good'}>
                  {heard.length > 1 && `${provider}: `}
                  {format.relativeTime(lastHeardAt ?? '')}
                </Badge>
              ))}
            </span>
          );
        }}
      </Loaded>
    </Row>
  );
}

/** Does not use only `silentSince`, because the service sets it only for a provider that has sent notifications for weeks. */
function isSilent(lastHeardAt: string | null, silentSince: string | null): boolean {
  const hours = (Date.now() - Date.parse(lastHeardAt ?? '')) / 3_600_000;
  return silentSince !== null || hours > SILENT_AFTER_HOURS;
}

function LastProof() {
  const proof = api.useQuery('get', '/api/reports/proof/last');
  return (
    <Row label={t('today.proof')} href="/statements?view=proof">
      <Loaded query={proof} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ data: { last, current } }) => {
          if (!last) return <Badge tone="warning">{t('today.proof.never')}</Badge>;
          const { violationCount } = last;
          const tone = current ? 'good' : 'warning';
          return (
            <span className="row-end">
              <Badge tone={violationCount === 0 ? tone : 'bad'}>
                {tCount('today.proof.violations', violationCount)}
              </Badge>
              <span className="muted">{format.relativeTime(last.readAt)}</span>
            </span>
          );
        }}
      </Loaded>
    </Row>
  );
}

interface CountProps {
  /** The page on which staff do this work. */
  href: string;
  label: string;
  /** The tone of a count above zero. */
  tone: Tone;
  query: { data: { pagination: { total?: number } } | undefined; error: unknown; refetch(): unknown };
}

function Count({ href, label, tone, query }: CountProps) {
  return (
    <Row label={label} href={href}>
      <Loaded query={query} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ pagination: { total = 0 } }) => (
          <Badge tone={total > 0 ? tone : 'good'}>{format.number(total)}</Badge>
        )}
      </Loaded>
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
