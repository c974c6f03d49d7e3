import { useState } from 'react';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, LANGUAGES, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Columns, Facts, PageHead, Panel } from '../../ui/panel.tsx';
import { accountColumns } from '../shared/account-columns.tsx';
import { customerTextFacts } from '../shared/customer-fields.tsx';
import { History } from '../shared/history.tsx';
import { LatestVersion } from '../shared/latest-version.tsx';
import { metadataFacts } from '../shared/metadata.ts';
import { TablePanel } from '../shared/table-panel.tsx';
import { KYC_TONES } from '../shared/tones.ts';
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
  const { id, firstName, lastName, phone, phoneProblem, kycStatus, kycReviewPending } = customer;
  const [isEditing, setIsEditing] = useState(false);
  const close = () => setIsEditing(false);
  return (
    <>
      <PageHead
        eyebrow={t('customer.title')}
        title={`${firstName} ${lastName}`}
        tabTitle={`${t('customer.title')} ${id}`}
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
                  [t('customer.phoneProblem'), phoneProblem && tValue('phoneProblem', phoneProblem)],
                  ...customerTextFacts(customer),
                  [t('field.language'), customer.language && LANGUAGES[customer.language]],
                  [t('field.externalId'), customer.externalId],
                  ...metadataFacts(customer.metadata),
                  [t('customer.since'), format.dayOf(customer.createdAt)],
                ]}
              />
            </Panel>
            {may('kyc:read') && <Verifications customerId={id} isReviewPending={kycReviewPending} />}
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
  return (
    <>
      <TablePanel
        title={t('nav.accounts')}
        query={accounts}
        lines={3}
        columns={accountColumns({
          name: 'productId',
          label: t('field.product'),
          show: ({ product }) => product?.name,
        })}
        hrefOf={({ id }) => `/accounts/${id}`}
        none={t('customer.accounts.none')}
      />
      <History customerId={customerId} />
    </>
  );
}
