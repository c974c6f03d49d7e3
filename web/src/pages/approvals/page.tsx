import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { currentSession } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import type { Tone } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { nameOfActor } from '../shared/actor.ts';
import { choiceFilter, moneyColumn, statusColumn, statusFilter } from '../shared/columns.tsx';
import { type Filter, ResourcePage, useList } from '../shared/list.tsx';
import { ApprovalDialog, nameOfRequest } from './approval-dialog.tsx';

type Approval = Schemas['Approval'];

const TONES: Record<Schemas['ApprovalStatus'], Tone> = {
  pending: 'warning',
  approved: 'good',
  rejected: 'bad',
  withdrawn: 'neutral',
  obsolete: 'neutral',
};

/** A key for each action, so that the compiler reports a missing one. */
const ACTIONS: Record<Approval['action'], true> = {
  reverse_payment: true,
  correct_payment: true,
  unassign_payment: true,
  refund_credit: true,
  transfer_credit: true,
  write_off_account: true,
  cancel_account: true,
  change_plan: true,
  start_bulk_deferral: true,
  undo_bulk_deferral: true,
};

/** The requests that wait for approval, and earlier requests with their outcome. */
export function Page() {
  // This shows pending requests first: `pending` is the first status in the order of the database type.
  const list = useList({ name: 'status', isDescending: false }, [
    statusFilter(TONES, (status) => tValue('approvalStatus', status)),
    choiceFilter('action', t('approvals.action'), Object.keys(ACTIONS), (action) =>
      tValue('approvalAction', action),
    ),
    ownFilter(),
  ]);
  const approvals = api.useQuery('get', '/api/approvals', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Approval>[] = [
    {
      name: 'action',
      label: t('approvals.action'),
      show: nameOfRequest,
    },
    {
      name: 'accountId',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customerName }) => customerName,
    },
    moneyColumn('amount', t('field.amount'), ({ amount }) => amount, { canSort: true }),
    statusColumn(TONES, (status) => tValue('approvalStatus', status), { canSort: true }),
    {
      name: 'createdAt',
      label: t('approvals.requestedBy'),
      onPhone: 'hidden',
      canSort: true,
      show: ({ requestedBy, createdAt }) => (
        <>
          {nameOfActor(requestedBy)}
          <div className="muted">{format.dateTime(createdAt)}</div>
        </>
      ),
    },
    {
      name: 'endedAt',
      label: t('approvals.endedAt'),
      canSort: true,
      show: ({ endedAt, decidedBy, decisionReason }) =>
        [endedAt && format.dateTime(endedAt), decidedBy, decisionReason].filter(Boolean).join(' · '),
    },
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

/** The requests that the user has sent, with their decisions. */
function ownFilter(): Filter {
  return {
    name: 'requestedBy',
    label: t('approvals.requestedBy'),
    choices: [['me', t('approvals.me')]],
    query: () => ({ 'filter[requestedByUserId]': String(currentSession()?.user.id ?? 0) }),
  };
}
