import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { choiceFilter, createdColumn } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { ApprovalDialog } from './approval-dialog.tsx';
import { ACTION_PERMISSIONS } from './permissions.ts';

type Approval = Schemas['Approval'];

const TONES: Record<Schemas['ApprovalStatus'], Tone> = {
  pending: 'warning',
  approved: 'good',
  rejected: 'bad',
  withdrawn: 'neutral',
  obsolete: 'neutral',
};

/** The requests that wait for a second user, and the outcomes of earlier requests. */
export function Page() {
  // In the order of the statuses, pending requests are first.
  const list = useList({ name: 'status', isDescending: false }, [
    choiceFilter('status', t('field.status'), Object.keys(TONES), (status) =>
      tValue('approvalStatus', status),
    ),
    choiceFilter('action', t('approvals.action'), Object.keys(ACTION_PERMISSIONS), (action) =>
      tValue('approvalAction', action),
    ),
  ]);
  const approvals = api.useQuery('get', '/api/approvals', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Approval>[] = [
    {
      name: 'action',
      label: t('approvals.action'),
      show: ({ action }) => tValue('approvalAction', action),
    },
    {
      name: 'accountId',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customerName }) => customerName,
    },
    {
      name: 'amount',
      label: t('field.amount'),
      canSort: true,
      isNumber: true,
      onPhone: 'value',
      show: ({ amount }) => format.money(amount),
    },
    {
      name: 'requestedByUserId',
      label: t('approvals.requestedBy'),
      onPhone: 'hidden',
      isOneLine: true,
      show: ({ requestedBy }) => requestedBy,
    },
    {
      name: 'status',
      label: t('field.status'),
      canSort: true,
      onPhone: 'plain',
      show: ({ status }) => <Badge tone={TONES[status]}>{tValue('approvalStatus', status)}</Badge>,
    },
    { ...createdColumn(), onPhone: 'hidden' },
  ];
  return (
    <ResourcePage
      title={t('nav.approvals')}
      list={list}
      query={approvals}
      columns={columns}
      none={t('approvals.none')}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/approvals', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(approval, close) => <ApprovalDialog key={approval.id} approval={approval} onClose={close} />}
    />
  );
}
