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
import { AccountsTable } from '../shared/accounts-table.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { metadataFacts } from '../shared/metadata.tsx';
import { KYC_TONES, PAYMENT_TONES } from '../shared/tones.ts';
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
        {kycReviewPending && kycStatus !== 'pending' && (
          <Badge tone="warning">{t('customer.kyc.review')}</Badge>
        )}
      </PageHead>
      <Columns
        main={<Accounts customerId={id} />}
        side={
          <>
            <Panel title={t('customer.contact')}>
              <Facts
                rows={[
                  [
                    t('field.phone'),
                    <a key="phone" href={`tel:${phone}`}>
                      {phone}
                    </a>,
                  ],
                  [t('field.email'), email],
                  [t('customer.nationalId'), nationalId && <span className="mono">{nationalId}</span>],
                  [t('field.externalId'), customer.externalId],
                  ...metadataFacts(customer.metadata),
                  [t('customer.since'), format.dayOf(customer.createdAt)],
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
  const ids = accounts.data?.data.map(({ id }) => id) ?? [];
  return (
    <>
      <Panel title={t('nav.accounts')} isFlush>
        <Loaded query={accounts} explain={explain} skeleton={<Skeleton lines={3} />}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty>{t('customer.accounts.none')}</Empty>
            ) : (
              <AccountsTable
                caption={t('nav.accounts')}
                named={{
                  name: 'productId',
                  label: t('field.product'),
                  show: ({ product }) => product?.name,
                }}
                rows={data}
              />
            )
          }
        </Loaded>
      </Panel>
      {may('payments:read') && ids.length > 0 && <Payments accountIds={ids} />}
    </>
  );
}

const PAYMENTS_SHOWN = 10;

/** The last payments on all accounts of the customer. */
function Payments({ accountIds }: { accountIds: readonly number[] }) {
  const payments = api.useQuery('get', '/api/payments', {
    params: {
      query: {
        'filter[accountId]': { in: accountIds.join(',') },
        sort: 'paymentDate:desc,id:desc',
        limit: PAYMENTS_SHOWN,
      },
    },
  });
  const columns: Column<Schemas['Payment']>[] = [
    {
      name: 'paymentDate',
      label: t('field.date'),
      show: ({ paymentDate }) => format.date(paymentDate),
    },
    {
      name: 'transactionRef',
      label: t('field.reference'),
      onPhone: 'plain',
      show: ({ transactionRef }) => transactionRef && <span className="mono">{transactionRef}</span>,
    },
    {
      name: 'accountId',
      label: t('field.account'),
      onPhone: 'plain',
      show: ({ accountNumber }) => <span className="mono">{accountNumber}</span>,
    },
    {
      name: 'status',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ status }) => <Badge tone={PAYMENT_TONES[status]}>{tValue('paymentStatus', status)}</Badge>,
    },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: ({ amount, status }) =>
        status === 'reversed' ? <s>{format.money(amount)}</s> : format.money(amount),
    },
  ];
  return (
    <Panel title={t('customer.payments')} isFlush>
      <Loaded query={payments} explain={explain} skeleton={<Skeleton lines={5} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>{t('customer.payments.none')}</Empty>
          ) : (
            <Table
              caption={t('customer.payments')}
              columns={columns}
              rows={data}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/payments/${id}`}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
