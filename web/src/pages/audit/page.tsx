import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { labelOf } from '../../api/words.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/panel.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { nameOfActor } from '../shared/actor.ts';
import { useUsers } from '../shared/catalogue.ts';
import { choiceFilter, timeColumn } from '../shared/columns.tsx';
import { ResourcePage, useList } from '../shared/list.tsx';
import { AUDITED, ResourceLink } from './resources.tsx';
import { showValue } from './value.tsx';

type Entry = Schemas['AuditEntry'];

export function Page() {
  const users = useUsers(may('users:administer'));
  const list = useList({ name: 'id', isDescending: true }, [
    choiceFilter('resource', t('audit.resource'), AUDITED, (value) => tValue('resource', value)),
    { name: 'resourceId', label: t('audit.resourceId'), type: 'number' },
    // By user id, not by `actor`: the actor can be an e-mail address, which must not be in the URL.
    {
      name: 'userId',
      label: t('field.user'),
      choices: users.map(({ id, firstName, lastName }) => [String(id), `${firstName} ${lastName}`]),
    },
    { daysOf: 'createdAt' },
  ]);
  const entries = api.useQuery('get', '/api/audit', { params: { query: list.query } }, KEEPS_LAST);
  const columns: Column<Entry>[] = [
    timeColumn('id', t('field.date'), ({ createdAt }) => createdAt),
    {
      name: 'actor',
      label: t('audit.actor'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ actor }) => nameOfActor(actor),
    },
    {
      name: 'action',
      label: t('audit.action'),
      onPhone: 'plain',
      show: ({ action }) => tValue('auditAction', action),
    },
    {
      name: 'resource',
      label: t('audit.resource'),
      onPhone: 'plain',
      show: ({ resource, resourceId }) => <ResourceLink resource={resource} id={resourceId} />,
    },
  ];
  return (
    <ResourcePage
      title={t('nav.audit')}
      list={list}
      query={entries}
      columns={columns}
      rowQuery={(id) =>
        api.queryOptions('get', '/api/audit', { params: { query: { 'filter[id]': { eq: id } } } })
      }
      dialogOf={(entry, close) => <EntryDialog entry={entry} onClose={close} />}
    />
  );
}

function EntryDialog({ entry, onClose }: { entry: Entry; onClose(): void }) {
  const { action, resource, resourceId } = entry;
  const before = fieldsOf(entry.before);
  const after = fieldsOf(entry.after);
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
    name,
    before: before[name],
    after: after[name],
  }));
  const columns: Column<(typeof changes)[number]>[] = [
    {
      name: 'name',
      label: t('audit.field'),
      show: ({ name }) => labelOf(name) ?? tValue('auditField', name),
    },
    {
      name: 'before',
      label: t('audit.before'),
      show: (change) => showValue(change.name, change.before, resource),
    },
    {
      name: 'after',
      label: t('audit.after'),
      show: (change) => showValue(change.name, change.after, resource),
    },
  ];
  const isNew = entry.before === null;
  return (
    <Dialog
      title={tValue('auditAction', action)}
      lead={<ResourceLink resource={resource} id={resourceId} />}
      onClose={onClose}
    >
      <Facts
        rows={[
          [t('audit.actor'), nameOfActor(entry.actor)],
          [t('field.date'), format.dateTime(entry.createdAt)],
          [t('audit.request'), entry.requestId && <span className="mono">{entry.requestId}</span>],
        ]}
      />
      {changes.length > 0 && (
        <Table
          caption={t('audit.changes')}
          columns={isNew ? columns.filter(({ name }) => name !== 'before') : columns}
          rows={changes}
          keyOf={({ name }) => name}
        />
      )}
    </Dialog>
  );
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
