import { useState } from 'react';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Columns, Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { metadataFacts } from '../shared/metadata.tsx';
import { ACCOUNT_TONES, KYC_TONES } from '../shared/tones.ts';
import { EditDialog } from './edit-dialog.tsx';
import { Verifications } from './verifications.tsx';

type Customer = Schemas['Customer'];

export function Page({ id }: { id: string }) {
  const customer = api.useQuery('get', '/api/customers/{id}', { params: { path: { id: Number(id) } } });
  return (
    <Loaded query={customer} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <CustomerPage customer={data} />}
    </Loaded>
  );
}

function CustomerPage({ customer }: { customer: Customer }) {
  const { id, firstName, lastName, phone, email, nationalId, kycStatus, kycReviewPending } = customer;
  const [isEditing, setIsEditing] = useState(false);
  const close = () => setIsEditing(false);
  return (
    <>
      <PageHead
        eyebrow={t('customer.title')}
        title={`${firstName} ${lastName}`}
        actions={
          may('customers:change') && <Button onClick={() => setIsEditing(true)}>{t('action.edit')}</Button>
        }
      >
        <Badge tone={kycStatus ? KYC_TONES[kycStatus] : 'neutral'}>
          {`${t('customer.kyc')}: ${tValue('kycStatus', kycStatus ?? 'none')}`}
        </Badge>
        {kycReviewPending && <Badge tone="warning">{t('customer.kyc.review')}</Badge>}
      </PageHead>
      <Columns
        main={<Accounts customerId={id} />}
        side={
          <>
            <Panel title={t('customer.contact')}>
              <Facts
                rows={[
                  [
                    t('customer.phone'),
                    <a key="phone" href={`tel:${phone}`}>
                      {phone}
                    </a>,
                  ],
                  [t('customer.email'), email],
                  [t('customer.nationalId'), nationalId && <span className="mono">{nationalId}</span>],
                  [t('customer.externalId'), customer.externalId],
                  ...metadataFacts(customer.metadata),
                  [t('customer.since'), format.dateTime(customer.createdAt)],
                ]}
              />
            </Panel>
            {may('kyc:read') && <Verifications customerId={id} />}
          </>
        }
      />
      {isEditing && (
        <LatestVersion
          title={t('customer.edit')}
          read={() => client.GET('/api/customers/{id}', { params: { path: { id } } })}
          onClose={close}
        >
          {(latest, etag) => <EditDialog customer={latest} etag={etag} onClose={close} />}
        </LatestVersion>
      )}
    </>
  );
}

function Accounts({ customerId }: { customerId: number }) {
  const query = { customerId, expand: ['product' as const], limit: 100, sort: 'id:desc' };
  const accounts = api.useQuery('get', '/api/accounts', { params: { query } });
  const columns: Column<Schemas['Account']>[] = [
    {
      name: 'id',
      label: t('account.number'),
      show: (row) => <span className="mono">{row.accountNumber}</span>,
    },
    { name: 'productId', label: t('account.product'), onPhone: 'plain', show: (row) => row.product?.name },
    {
      name: 'status',
      label: t('account.payment.status'),
      onPhone: 'plain',
      show: (row) => <Badge tone={ACCOUNT_TONES[row.status]}>{tValue('accountStatus', row.status)}</Badge>,
    },
    {
      name: 'nextDueDate',
      label: t('account.nextDue'),
      show: (row) => (row.nextDueDate === null ? '–' : format.date(row.nextDueDate)),
    },
    {
      name: 'balance',
      label: t('account.balance'),
      isNumber: true,
      onPhone: 'value',
      show: (row) => format.money(row.balance),
    },
  ];
  return (
    <Panel title={t('customer.accounts')} isFlush>
      <Loaded query={accounts} explain={explain} skeleton={<Skeleton lines={3} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{t('customer.accounts.none')}</Empty>
          ) : (
            <Table
              caption={t('customer.accounts')}
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/accounts/${id}`}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
