import { api } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useUsers } from '../shared/catalogue.ts';
import { choiceFilter } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';

type Entry = Schemas['AuditEntry'];

const RESOURCES = [
  ...['account', 'api_key', 'commission', 'commission_rule', 'configuration', 'customer', 'employee'],
  ...['identity', 'identity_provider', 'invitation', 'invoice', 'notification', 'payment', 'payment_method'],
  ...['payplan', 'product', 'provider_statement', 'reconciliation', 'refund', 'user', 'webhook_endpoint'],
];

export function Page() {
  const users = useUsers(may('users:administer'));
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('resource', t('audit.resource'), RESOURCES, (value) => tValue('resource', value)),
    { name: 'resourceId', label: t('audit.resourceId'), type: 'number' },
    // A filter by id, because an e-mail must not be in the URL.
    {
      name: 'userId',
      label: t('field.user'),
      choices: users.map(({ id, firstName, lastName }) => [String(id), `${firstName} ${lastName}`]),
    },
    { daysOf: 'createdAt' },
  ]);
  const entries = api.useQuery('get', '/api/audit', { params: { query: list.query } });
  const columns: Column<Entry>[] = [
    {
      name: 'id',
      label: t('field.date'),
      canSort: true,
      show: ({ createdAt }) => <span className="nowrap">{format.dateTime(createdAt)}</span>,
    },
    { name: 'actor', label: t('audit.actor'), onPhone: 'plain', show: ({ actor }) => actor },
    {
      name: 'action',
      label: t('audit.action'),
      onPhone: 'plain',
      show: ({ action }) => <span className="mono">{action}</span>,
    },
    { name: 'resource', label: t('audit.resource'), onPhone: 'plain', show: resourceOf },
  ];
  return (
    <ResourcePage
      title={t('nav.audit')}
      list={list}
      query={entries}
      columns={columns}
      dialogOf={(entry, close) => <EntryDialog entry={entry} onClose={close} />}
    />
  );
}

function EntryDialog({ entry, onClose }: { entry: Entry; onClose(): void }) {
  const before = fieldsOf(entry.before);
  const after = fieldsOf(entry.after);
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
    name,
    before: before[name],
    after: after[name],
  }));
  const columns: Column<(typeof changes)[number]>[] = [
    { name: 'name', label: t('audit.field'), show: ({ name }) => <span className="mono">{name}</span> },
    { name: 'before', label: t('audit.before'), show: (change) => textOf(change.before) },
    { name: 'after', label: t('audit.after'), show: (change) => textOf(change.after) },
  ];
  return (
    <Dialog title={entry.action} lead={resourceOf(entry)} onClose={onClose}>
      <Facts
        rows={[
          [t('audit.actor'), entry.actor],
          [t('field.date'), format.dateTime(entry.createdAt)],
          [t('audit.request'), entry.requestId && <span className="mono">{entry.requestId}</span>],
        ]}
      />
      {changes.length > 0 && (
        <Table caption={t('audit.changes')} columns={columns} rows={changes} keyOf={({ name }) => name} />
      )}
    </Dialog>
  );
}

function resourceOf({ resource, resourceId }: Entry): string {
  return `${tValue('resource', resource)} ${resourceId ?? ''}`;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
