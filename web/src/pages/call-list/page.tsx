import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { useWrite } from '../../api/write.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { SelectField } from '../../ui/form.tsx';
import type { Column } from '../../ui/table.tsx';
import { CallTabs } from '../shared/call-tabs.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { moneyColumn, rowFilter, statusColumn, statusFilter } from '../shared/columns.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { type Filter, ResourcePage, useList } from '../shared/list.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';

type Entry = Schemas['CallListEntry'];

/** The late accounts whose customers have to be called now. */
export function Page() {
  const officers = useOfficers();
  // A link from Today has its day, which is later than that of the settings after midnight.
  const [parameters] = useSearchParams();
  const dueDay = parameters.get('due') || settings().today;
  const list = useList({ name: 'nextDueDate', isDescending: false }, [
    {
      name: 'shown',
      label: t('calls.shown'),
      unset: t('calls.shown.to_call'),
      choices: [
        ['hidden', t('calls.shown.hidden')],
        ['all', t('calls.shown.all')],
      ],
      query: (shown) => ({ shown: shown || 'to_call' }),
    },
    {
      name: 'due',
      label: t('calls.due'),
      choices: [[dueDay, t('calls.due.until', { day: format.dayAndMonth(dueDay) })]],
      query: (day) => ({ 'filter[hiddenUntil][lte]': day }),
    },
    {
      name: 'daysFrom',
      label: t('calls.daysFrom'),
      type: 'number',
      query: (days) => ({ 'filter[daysPastDue][gte]': days }),
    },
    {
      name: 'daysTo',
      label: t('calls.daysTo'),
      type: 'number',
      query: (days) => ({ 'filter[daysPastDue][lte]': days }),
    },
    rowFilter('productId', t('field.product'), useProducts()),
    statusFilter(ACCOUNT_TONES, (status) => tValue('accountStatus', status)),
    rowFilter('employeeId', t('field.employee'), useEmployees()),
    assigneeFilter(officers),
    {
      name: 'called',
      label: t('calls.called'),
      choices: [
        ['yes', t('calls.called.yes')],
        ['never', t('calls.called.never')],
      ],
      query: (called) => ({ 'filter[lastCalledAt][isnull]': String(called === 'never') }),
    },
    { name: 'metadata', label: t('calls.metadata'), type: 'text', query: metadataCondition },
  ]);
  const entries = api.useQuery('get', '/api/call-list', { params: { query: list.query } }, KEEPS_LAST);
  const shown = entries.data?.data ?? [];
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const canAssign = may('calls:manage');
  const choose = (ids: readonly number[], isChosen: boolean) =>
    setChosen((last) => new Set([...[...last].filter((id) => !ids.includes(id)), ...(isChosen ? ids : [])]));
  const columns: Column<Entry>[] = [
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'title',
      show: ({ id, customer }) => <Link href={`/call-list/${id}`}>{customer.name}</Link>,
    },
    ...(canAssign
      ? [
          {
            name: 'accountNumber',
            label: t('field.account'),
            onPhone: 'plain' as const,
            show: ({ id, accountNumber }: Entry) => (
              <label className="check">
                <input
                  type="checkbox"
                  checked={chosen.has(id)}
                  onChange={({ target }) => choose([id], target.checked)}
                />
                <span className="mono">{accountNumber}</span>
              </label>
            ),
          },
        ]
      : [
          {
            name: 'accountNumber',
            label: t('field.account'),
            onPhone: 'plain' as const,
            show: ({ accountNumber }: Entry) => <span className="mono">{accountNumber}</span>,
          },
        ]),
    {
      name: 'phone',
      label: t('field.phone'),
      onPhone: 'plain',
      show: ({ customer }) => <span className="nowrap">{customer.phone}</span>,
    },
    {
      name: 'nextDueDate',
      label: t('calls.days'),
      isNumber: true,
      onPhone: 'plain',
      canSort: true,
      show: ({ daysPastDue }) => format.number(daysPastDue),
    },
    {
      name: 'lastCalledAt',
      label: t('calls.called'),
      onPhone: 'plain',
      canSort: true,
      show: ({ lastCall }) =>
        lastCall && `${tValue('callResult', lastCall.result)}, ${format.relativeTime(lastCall.createdAt)}`,
    },
    {
      name: 'assignee',
      label: t('calls.assignee'),
      onPhone: 'hidden',
      show: ({ assignee, lease }) =>
        lease && !lease.isOwn ? (
          <Badge tone="info">{t('calls.inUse', { name: lease.officer })}</Badge>
        ) : (
          assignee?.officer
        ),
    },
    statusColumn(ACCOUNT_TONES, (status) => tValue('accountStatus', status), { onPhone: 'hidden' }),
    moneyColumn('arrears', t('account.arrears'), ({ arrears }) => arrears),
  ];
  return (
    <ResourcePage
      title={t('nav.callList')}
      list={list}
      query={entries}
      columns={columns}
      none={t('calls.none')}
      file={{ path: '/api/call-list.csv' }}
      head={
        canAssign && (
          <Chosen
            ids={[...chosen]}
            officers={officers}
            onPage={() =>
              choose(
                shown.map(({ id }) => id),
                true,
              )
            }
            onNone={() => setChosen(new Set())}
          />
        )
      }
    >
      <CallTabs />
      {list.state.sort.name === 'lastCalledAt' && list.state.filters.called !== 'never' && (
        <Notice tone="info">{t('calls.onlyCalled')}</Notice>
      )}
    </ResourcePage>
  );
}

/** The parameter for a text such as `region=Embu`. None until the text has a key and a value. */
function metadataCondition(text: string): Record<string, string> {
  const [key = '', ...rest] = text.split('=');
  const value = rest.join('=').trim();
  return key.trim() && value ? { [`filter[metadata][${key.trim()}]`]: value } : {};
}

type Officer = Schemas['Officer'];

function useOfficers(): readonly Officer[] {
  return api.useQuery('get', '/api/call-list/officers').data?.data ?? [];
}

const NOBODY = 'nobody';

function assigneeFilter(officers: readonly Officer[]): Filter {
  return {
    name: 'assigneeId',
    label: t('calls.assignee'),
    choices: [
      [NOBODY, t('calls.assignee.nobody')],
      ...officers.map(({ userId, officer }) => [String(userId), officer] as const),
    ],
    query: (id): Record<string, string> =>
      id === NOBODY ? { 'filter[assigneeId][isnull]': 'true' } : { 'filter[assigneeId]': id },
  };
}

interface ChosenProps {
  ids: readonly number[];
  officers: readonly Officer[];
  onPage(): void;
  onNone(): void;
}

/** How many accounts are chosen, and the button that assigns them. */
function Chosen({ ids, officers, onPage, onNone }: ChosenProps) {
  const [isOpen, setIsOpen] = useState(false);
  const assign = useWrite('put', '/api/call-list/assignments');
  const count = format.number(ids.length);
  return (
    <div className="chosen-bar">
      <span role="status">{ids.length === 0 ? t('calls.choose') : t('calls.chosen', { count })}</span>
      <Actions>
        {ids.length > 0 && <Button onClick={onNone}>{t('calls.chooseNone')}</Button>}
        <Button onClick={onPage}>{t('calls.choosePage')}</Button>
        <Button kind="primary" disabled={ids.length === 0} onClick={() => setIsOpen(true)}>
          {t('calls.assign')}
        </Button>
      </Actions>
      {isOpen && (
        <FormDialog
          title={t('calls.assign.title')}
          lead={t('calls.assign.lead', { count })}
          write={assign}
          submit={t('calls.assign')}
          done={({ changed }: { changed: number }) => t('calls.assigned', { count: format.number(changed) })}
          onSubmit={(values) => {
            const chosen = values.text('userId');
            return assign.send({
              body: { accountIds: [...ids], userId: chosen === NOBODY ? null : Number(chosen) },
            });
          }}
          onDone={() => {
            onNone();
            setIsOpen(false);
          }}
          onClose={() => setIsOpen(false)}
        >
          <SelectField label={t('calls.assignee')} name="userId" defaultValue="" required>
            <option value="" disabled hidden />
            {officers.map(({ userId, officer }) => (
              <option key={userId} value={userId}>
                {officer}
              </option>
            ))}
            <option value={NOBODY}>{t('calls.assignee.nobody')}</option>
          </SelectField>
        </FormDialog>
      )}
    </div>
  );
}
