import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, createdColumn } from '../shared/columns.tsx';
import { type Filter, ResourcePage, searchFilter, useList } from '../shared/list.tsx';
import { KYC_TONES } from '../shared/tones.ts';

type Customer = Schemas['Customer'];

/** A key for each problem, so that the compiler reports a missing one. */
const PHONE_PROBLEMS: Record<NonNullable<Customer['phoneProblem']>, true> = {
  invalid: true,
  other_customer: true,
  other_account: true,
};

export function Page() {
  const list = useList({ name: 'createdAt', isDescending: true }, [
    searchFilter(t('customers.search')),
    kycFilter(),
    reviewFilter(),
    phoneFilter(),
  ]);
  const customers = api.useQuery('get', '/api/customers', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Customer>[] = [
    {
      name: 'firstName',
      label: t('field.name'),
      canSort: true,
      show: ({ firstName, lastName }) => `${firstName} ${lastName}`,
    },
    {
      name: 'phone',
      label: t('field.phone'),
      onPhone: 'plain',
      show: ({ phone, phoneProblem }) => (
        <span className="badges">
          {phone}
          {phoneProblem && <Badge tone="warning">{tValue('phoneProblem', phoneProblem)}</Badge>}
        </span>
      ),
    },
    {
      name: 'kycStatus',
      label: t('customer.kyc'),
      onPhone: 'value',
      show: ({ kycStatus, kycReviewPending }) => (
        <span className="badges">
          <Badge tone={kycStatus ? KYC_TONES[kycStatus] : 'neutral'}>
            {tValue('kycStatus', kycStatus ?? 'none')}
          </Badge>
          {kycReviewPending && kycStatus !== 'pending' && (
            <Badge tone="warning">{t('customer.kyc.review')}</Badge>
          )}
        </span>
      ),
    },
    {
      name: 'externalId',
      label: t('field.externalId'),
      onPhone: 'hidden',
      show: ({ externalId }) => externalId,
    },
    createdColumn(),
  ];
  return (
    <ResourcePage
      title={t('nav.customers')}
      list={list}
      query={customers}
      file={{ path: '/api/customers.csv' }}
      columns={columns}
      hrefOf={({ id }) => `/customers/${id}`}
    />
  );
}

function kycFilter(): Filter {
  return {
    name: 'kycStatus',
    label: t('customer.kyc'),
    choices: [...Object.keys(KYC_TONES), 'none'].map((value) => [value, tValue('kycStatus', value)]),
    query: (value): Record<string, string> =>
      value === 'none' ? { 'filter[kycStatus][isnull]': 'true' } : { 'filter[kycStatus]': value },
  };
}

function reviewFilter(): Filter {
  return {
    name: 'kycReviewPending',
    label: t('customers.review'),
    choices: [['true', t('customer.kyc.review')]],
  };
}

function phoneFilter(): Filter {
  return choiceFilter('phoneProblem', t('field.phone'), Object.keys(PHONE_PROBLEMS), (problem) =>
    tValue('phoneProblem', problem),
  );
}
