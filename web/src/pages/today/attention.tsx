import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { may } from '../../api/session.ts';
import { format, t } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';

/** A provider that sends nothing for so long may have lost the way to the service. */
const SILENT_AFTER_HOURS = 24;

/** What waits for somebody, and what broke. */
export function Attention() {
  return (
    <Panel title={t('today.attention')}>
      <ul className="rows">
        {may('payments:read') && <Unmatched />}
        {may('payers:read') && <Conflicts />}
        {may('payers:read') && <Rejected />}
        {may('payers:read') && <LastNotification />}
        {may('webhook-endpoints:administer') && <FailingWebhooks />}
      </ul>
    </Panel>
  );
}

function Unmatched() {
  const query = { 'filter[status]': { eq: 'unmatched' as const }, limit: 1 };
  const payments = api.useQuery('get', '/api/payments', { params: { query } });
  return <Count label={t('today.unmatched')} tone="warning" query={payments} />;
}

function Conflicts() {
  const query = { 'filter[outcome]': { eq: 'conflict' as const }, limit: 1 };
  const notifications = api.useQuery('get', '/api/notifications', { params: { query } });
  return <Count label={t('today.conflicts')} tone="warning" query={notifications} />;
}

function Rejected() {
  const query = { 'filter[status]': { eq: 'rejected' as const }, limit: 1 };
  const notifications = api.useQuery('get', '/api/notifications', { params: { query } });
  return <Count label={t('today.rejected')} tone="bad" query={notifications} />;
}

function FailingWebhooks() {
  const query = { 'filter[failingSince]': { isnull: false }, limit: 1 };
  const endpoints = api.useQuery('get', '/api/webhook-endpoints', { params: { query } });
  return <Count label={t('today.webhooks')} tone="bad" query={endpoints} />;
}

function LastNotification() {
  const query = { sort: 'id:desc', limit: 1 };
  const notifications = api.useQuery('get', '/api/notifications', { params: { query } });
  return (
    <Row label={t('today.lastNotification')}>
      <Loaded query={notifications} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ data: [last] }) => {
          if (!last) return <span className="muted">{t('today.lastNotification.none')}</span>;
          const hours = (Date.now() - Date.parse(last.createdAt)) / 3_600_000;
          return (
            <Badge tone={hours > SILENT_AFTER_HOURS ? 'warning' : 'good'}>
              {format.relativeTime(last.createdAt)}
            </Badge>
          );
        }}
      </Loaded>
    </Row>
  );
}

interface CountProps {
  label: string;
  /** If there are any. */
  tone: Tone;
  query: { data: { pagination: { total?: number } } | undefined; error: unknown; refetch(): unknown };
}

function Count({ label, tone, query }: CountProps) {
  return (
    <Row label={label}>
      <Loaded query={query} explain={explain} skeleton={<Skeleton lines={1} />}>
        {({ pagination: { total = 0 } }) => (
          <Badge tone={total > 0 ? tone : 'good'}>{format.number(total)}</Badge>
        )}
      </Loaded>
    </Row>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }) {
  return (
    <li>
      <span>{label}</span>
      {children}
    </li>
  );
}
