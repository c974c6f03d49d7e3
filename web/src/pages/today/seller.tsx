import { Link } from 'wouter';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { Columns, Panel } from '../../ui/panel.tsx';
import { COMMISSION_TONES } from '../shared/tones.ts';
import { OwnCash, type WorkQuery } from './attention.tsx';
import { LatePanel } from './late-panel.tsx';

type WorkOfSeller = Schemas['WorkOfSeller'];

/** The late customers, the commission and the cash of a seller. */
export function SellerDay({ work }: { work: WorkQuery }) {
  return (
    <Loaded query={work} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <Parts work={work} {...data} />}
    </Loaded>
  );
}

function Parts({ work, own, cash }: { work: WorkQuery } & Schemas['TodayWork']) {
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
        <Notice tone="info" title={t('today.seller.unlinked')}>
          {t('today.seller.unlinked.text')}
        </Notice>
        {waiting}
      </>
    );
  return (
    <Columns
      main={
        <LatePanel
          work={work}
          title={t('today.seller.late')}
          late={own.lateAccounts}
          all={
            <Link href={`/accounts?late=1%2B&employeeId=${own.employeeId}`}>
              {t('today.seller.late.all')}
            </Link>
          }
          none={t('today.seller.late.none')}
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
      title={t('today.commission')}
      actions={<Link href="/commissions">{t('today.commission.all')}</Link>}
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
        {!commission && <span className="muted">{t('today.commission.none')}</span>}
        {unclaimed.count > 0 && (
          <span className="muted">
            {tCount('today.commission.more', unclaimed.count)}{' '}
            {t('today.commission.expected', { amount: format.money(unclaimed.expected) })}
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
