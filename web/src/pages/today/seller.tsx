import type { ComponentProps } from 'react';
import { Link } from 'wouter';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Columns, PageHead, Panel } from '../../ui/panel.tsx';
import { COMMISSION_TONES } from '../shared/tones.ts';
import { OwnCash, type WorkQuery } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';

type WorkOfSeller = Schemas['WorkOfSeller'];

interface SellerDayProps {
  head: ComponentProps<typeof PageHead>;
  work: WorkQuery;
}

/** What a seller begins a visit with: the late customers, the commission and the cash of the seller. */
export function SellerDay({ head, work }: SellerDayProps) {
  return (
    <>
      <PageHead
        {...head}
        actions={
          <>
            <Link className="button secondary" href="/find">
              <Icon name="search" />
              {t('nav.find')}
            </Link>
            <Link className="button primary" href="/sales/new">
              <Icon name="plus" />
              {t('nav.sale')}
            </Link>
          </>
        }
      />
      <Loaded query={work} explain={explain} skeleton={<Skeleton lines={8} />}>
        {({ data }) => <WorkOfSeller work={work} {...data} />}
      </Loaded>
    </>
  );
}

function WorkOfSeller({ work, own, cash }: { work: WorkQuery } & Schemas['TodayWork']) {
  const waiting = cash && (
    <Panel title={t('today.attention')}>
      <ul className="rows">
        <OwnCash own={cash.own} />
      </ul>
    </Panel>
  );
  if (!own)
    return (
      <>
        <Notice tone="info" title={t('seller.unlinked')}>
          {t('seller.unlinked.text')}
        </Notice>
        {waiting}
      </>
    );
  return (
    <Columns
      main={
        <LatePanel
          work={work}
          title={t('seller.late')}
          late={own.lateAccounts}
          all={<Link href={`/accounts?late=1%2B&employeeId=${own.employeeId}`}>{t('seller.late.all')}</Link>}
          none={t('seller.late.none')}
        />
      }
      side={
        <>
          <OwnCommission months={own.commissions} />
          {waiting}
        </>
      }
    />
  );
}

function OwnCommission({ months }: { months: WorkOfSeller['commissions'] }) {
  return (
    <Panel
      title={t('seller.commission')}
      actions={<Link href="/commissions">{t('seller.commission.all')}</Link>}
    >
      <ul className="rows">
        {months.map((month) => (
          <Month key={month.period} {...month} />
        ))}
      </ul>
    </Panel>
  );
}

function Month({ period, commission, unclaimed }: Schemas['CommissionOfSeller']) {
  return (
    <li>
      <span>
        <span>{format.month(period, 'long')}</span>
        {!commission && <span className="muted">{t('seller.commission.none')}</span>}
        {unclaimed.count > 0 && (
          <span className="muted">
            {tCount('seller.commission.more', unclaimed.count)}{' '}
            {t('seller.commission.expected', { amount: format.money(unclaimed.expected) })}
          </span>
        )}
      </span>
      {commission && (
        <span className="row-end">
          <strong className="amount">{format.money(commission.total)}</strong>
          <Badge tone={COMMISSION_TONES[commission.status]}>
            {tValue('commissionStatus', commission.status)}
          </Badge>
        </span>
      )}
    </li>
  );
}
