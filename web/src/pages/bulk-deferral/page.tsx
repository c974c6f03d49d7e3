import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, KEEPS_LAST } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { useWrite } from '../../api/write.ts';
import { currentLanguage, format, t, tCount, tValue } from '../../i18n/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { CheckField, type FormValues, SelectField, TextAreaField, TextField } from '../../ui/form.tsx';
import { PageHead, Panel, Stat, Stats } from '../../ui/panel.tsx';
import type { Column } from '../../ui/table.tsx';
import { nameOfActor } from '../shared/actor.ts';
import { outcomeOf } from '../shared/approval.ts';
import { BulkDeferralFacts, usePayPlans } from '../shared/bulk-deferral-facts.tsx';
import { useEmployees, useProducts } from '../shared/catalogue.ts';
import { choiceFilter, codeColumn, createdColumn, moneyColumn, statusColumn } from '../shared/columns.tsx';
import {
  DeferralFields,
  PlanReasonFields,
  readDeferral,
  readPlanReason,
} from '../shared/deferral-fields.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';
import { ListPanel, ResourcePage, useList } from '../shared/list.tsx';
import { ACCOUNT_TONES } from '../shared/tones.ts';

type BulkDeferral = Schemas['BulkDeferral'];
type Counts = Schemas['BulkDeferralCounts'];

const TONES: Record<BulkDeferral['status'], Tone> = {
  previewing: 'info',
  draft: 'warning',
  expired: 'neutral',
  running: 'info',
  done: 'good',
  undoing: 'info',
  undone: 'neutral',
  failed: 'bad',
};
const STATES = ['waiting', 'deferred', 'refused', 'skipped', 'undone', 'not_undone'] as const;
const REFRESH_MS = 1_000;

/** How many accounts a job has still to work on. */
const LEFT_OF: Partial<Record<BulkDeferral['status'], (counts: Counts) => number>> = {
  previewing: ({ selected }) => selected,
  running: ({ waiting }) => waiting,
  undoing: ({ deferred }) => deferred,
};

const isAtWork = ({ status }: Pick<BulkDeferral, 'status'>) => status in LEFT_OF;

/** The deferrals of many accounts, or one of them. */
export function Page({ id }: { id?: string }) {
  return id === undefined ? <BulkDeferrals /> : <Opened id={Number(id)} />;
}

function BulkDeferrals() {
  const list = useList({ name: 'createdAt', isDescending: true });
  const query = api.useQuery(
    'get',
    '/api/plan-changes/bulk-deferrals',
    { params: { query: list.query } },
    KEEPS_LAST,
  );
  const columns: Column<BulkDeferral>[] = [
    {
      name: 'reason',
      label: t('field.reason'),
      onPhone: 'title',
      isOneLine: true,
      show: ({ reason }) => reason,
    },
    statusColumn(TONES, (status) => tValue('bulkDeferral', status), { onPhone: 'value' }),
    {
      name: 'accounts',
      label: t('deferMany.accounts'),
      isNumber: true,
      show: ({ selectedCount }) => format.number(selectedCount),
    },
    {
      name: 'createdBy',
      label: t('planChanges.by'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ createdBy }) => nameOfActor(createdBy),
    },
    createdColumn(),
  ];
  return (
    <ResourcePage
      title={t('deferMany.title')}
      list={list}
      query={query}
      permission="accounts:change-plan"
      create={{ label: t('deferMany.new'), dialog: (close) => <NewDialog onClose={close} /> }}
      columns={columns}
      hrefOf={({ id }) => `/plan-changes/many/${id}`}
    />
  );
}

interface Named {
  id: number;
  name: string;
}

/** Asks which accounts, and by how much. The effect is shown before anything changes. */
function NewDialog({ onClose }: { onClose(): void }) {
  const create = useWrite('post', '/api/plan-changes/bulk-deferrals');
  const [, navigate] = useLocation();
  const choice = (name: string, label: string, rows: readonly Named[]) => (
    <SelectField label={label} name={name} defaultValue="">
      <option value="">{t('list.all')}</option>
      {rows.map((row) => (
        <option key={row.id} value={row.id}>
          {row.name}
        </option>
      ))}
    </SelectField>
  );
  return (
    <FormDialog
      title={t('deferMany.new')}
      lead={t('deferMany.lead')}
      write={create}
      submit={t('changePlan.show')}
      onClose={onClose}
      onSubmit={(values) =>
        create.send({
          body: {
            filter: readFilter(values),
            ...readDeferral(values),
            ...(values.isChecked('behind') && { arrears: 'behind' as const }),
            ...readPlanReason(values),
          },
        })
      }
      onDone={({ id }) => navigate(`/plan-changes/many/${id}`)}
    >
      <SelectField label={t('field.status')} name="status" defaultValue="active" isFirst>
        <option value="">{t('list.all')}</option>
        {Object.keys(ACCOUNT_TONES).map((status) => (
          <option key={status} value={status}>
            {tValue('accountStatus', status)}
          </option>
        ))}
      </SelectField>
      {choice('productId', t('field.product'), useProducts())}
      {choice('payplanId', t('account.plan'), usePayPlans())}
      {choice('employeeId', t('field.employee'), useEmployees())}
      <TextField label={t('deferMany.late')} name="daysPastDue" type="number" min={1} max={100_000} />
      <DetailFields />
      <DeferralFields hasHarvests />
      <CheckField label={t('deferMany.behind')} name="behind" />
      <PlanReasonFields />
    </FormDialog>
  );
}

/** The name and the value of a detail of the customers. Each is required if the other one is given. */
function DetailFields() {
  const [detail, setDetail] = useState({ key: '', value: '' });
  return (
    <>
      <TextField
        label={t('deferMany.key')}
        name="key"
        maxLength={40}
        hint={t('deferMany.key.hint')}
        required={detail.value.trim() !== ''}
        onChange={({ target }) => setDetail({ ...detail, key: target.value })}
      />
      <TextField
        label={t('deferMany.value')}
        name="value"
        maxLength={500}
        required={detail.key.trim() !== ''}
        onChange={({ target }) => setDetail({ ...detail, value: target.value })}
      />
    </>
  );
}

function readFilter(values: FormValues): Schemas['BulkDeferralFilter'] {
  const key = values.optional('key');
  const status = values.optional('status');
  const late = values.optional('daysPastDue');
  const chosen = ['productId', 'payplanId', 'employeeId'].filter((name) => values.optional(name));
  return {
    ...Object.fromEntries(chosen.map((name) => [name, { eq: values.number(name) }])),
    ...(status && { status: { eq: status as Schemas['AccountStatus'] } }),
    ...(late && { daysPastDue: { gte: Number(late) } }),
    ...(key && { customerMetadata: { [key]: values.text('value') } }),
  };
}

function Opened({ id }: { id: number }) {
  const query = api.useQuery(
    'get',
    '/api/plan-changes/bulk-deferrals/{id}',
    { params: { path: { id } } },
    // No event reports the progress of a preview.
    { refetchInterval: ({ state }) => (state.data && isAtWork(state.data.data) ? REFRESH_MS : false) },
  );
  return (
    <Loaded query={query} explain={explain} skeleton={<Skeleton lines={8} />}>
      {({ data }) => <Shown deferral={data} />}
    </Loaded>
  );
}

function Shown({ deferral }: { deferral: Schemas['BulkDeferralWithProblems'] }) {
  const { id, status, counts, selectedCount, deferrableCount, problems, failure, pendingApprovalId } =
    deferral;
  const [opened, setOpened] = useState<'confirm' | 'undo' | Ending>();
  const close = () => setOpened(undefined);
  const canChange = may('accounts:change-plan');
  const statusText = tValue('bulkDeferral', status);
  const figures: [label: string, value: string][] =
    deferral.startedAt === null
      ? [
          [t('deferMany.accounts'), format.number(selectedCount)],
          [t('deferMany.possible'), deferrableCount === null ? '–' : format.number(deferrableCount)],
          [t('account.balance'), deferral.balance === null ? '–' : format.money(deferral.balance)],
          [t('deferMany.moved'), deferral.arrearsMoved === null ? '–' : format.money(deferral.arrearsMoved)],
        ]
      : [
          [tValue('bulkState', 'waiting'), format.number(counts.waiting)],
          [tValue('bulkState', 'deferred'), format.number(counts.deferred + counts.notUndone)],
          [tValue('bulkState', 'skipped'), format.number(counts.refused + counts.skipped)],
          [tValue('bulkState', 'undone'), format.number(counts.undone)],
        ];
  const left = LEFT_OF[status]?.(counts);
  return (
    <>
      <PageHead
        eyebrow={<Link href="/plan-changes/many">{t('deferMany.title')}</Link>}
        title={deferral.reason}
        tabTitle={t('deferMany.title')}
        actions={
          canChange && (
            <>
              {deferral.allowedMoves.includes('running') && (
                <Button kind="primary" onClick={() => setOpened('confirm')}>
                  {t('deferMany.confirm')}
                </Button>
              )}
              {deferral.allowedMoves.includes('undoing') && (
                <Button onClick={() => setOpened('undo')}>{t('deferMany.undo')}</Button>
              )}
              {ENDINGS.filter(([move]) => deferral.allowedMoves.includes(move)).map(([, ending]) => (
                <Button key={ending} onClick={() => setOpened(ending)}>
                  {t(`deferMany.${ending}`)}
                </Button>
              ))}
            </>
          )
        }
      >
        <Badge tone={TONES[status]}>{statusText}</Badge>
      </PageHead>
      {left !== undefined && (
        <Notice tone="info" title={statusText}>
          <progress
            className="progress"
            aria-label={statusText}
            max={selectedCount}
            value={selectedCount - left}
          />
        </Notice>
      )}
      {failure !== null && <Notice tone="bad">{failure}</Notice>}
      {pendingApprovalId !== null && (
        <Notice tone="info">
          {may('approvals:read') ? (
            <Link href={`/approvals?open=${pendingApprovalId}`}>{t('approval.waits')}</Link>
          ) : (
            t('approval.waits')
          )}
        </Notice>
      )}
      <Stats>
        {figures.map(([label, value]) => (
          <Stat key={label} label={label} value={value} />
        ))}
      </Stats>
      {problems.length > 0 && (
        <Notice tone="warning" title={t('deferMany.problems')}>
          {[...countByText(problems)].map(([text, count]) => (
            <p key={text}>
              {format.number(count)} × {text}
            </p>
          ))}
        </Notice>
      )}
      <Panel title={t('field.details')}>
        <BulkDeferralFacts deferral={deferral} />
      </Panel>
      {status !== 'expired' && status !== 'failed' && <Accounts deferral={deferral} />}
      {opened === 'confirm' && <ConfirmDialog deferral={deferral} onClose={close} />}
      {opened === 'undo' && <UndoDialog id={id} onClose={close} />}
      {(opened === 'discard' || opened === 'stop') && <EndDialog id={id} ending={opened} onClose={close} />}
    </>
  );
}

/** The number of accounts by the text that is shown: the text of the service can differ where the shown one does not. */
function countByText(problems: Schemas['BulkDeferralWithProblems']['problems']): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { state, code, text, count } of problems) {
    const shown = problemText(state, code, text);
    counts.set(shown, (counts.get(shown) ?? 0) + count);
  }
  return counts;
}

/** The state of an account, and why. The text of the service, which is English, says more than these codes. */
function problemText(state: string, code: string, text: string): string {
  const says = code === 'not_possible' || code === 'status';
  const details = says && currentLanguage() === 'en' ? [text] : [];
  return [tValue('bulkState', state), tValue('bulkProblem', code), ...details].join(': ');
}

/** The accounts, which a job changes: they are read while it works, and once more after its end. */
function Accounts({ deferral: { id, status, arrears } }: { deferral: BulkDeferral }) {
  const list = useList({ name: 'id', isDescending: false }, [
    choiceFilter('state', t('field.status'), STATES, (state) => tValue('bulkState', state)),
  ]);
  const query = api.useQuery(
    'get',
    '/api/plan-changes/bulk-deferrals/{id}/accounts',
    { params: { path: { id }, query: list.query } },
    { ...KEEPS_LAST, refetchInterval: isAtWork({ status }) ? REFRESH_MS : false },
  );
  const { refetch } = query;
  // biome-ignore lint/correctness/useExhaustiveDependencies: at each change of the status
  useEffect(() => void refetch(), [refetch, status]);
  const columns: Column<Schemas['BulkDeferralAccount']>[] = [
    codeColumn('accountId', t('field.account'), ({ accountNumber }) => accountNumber, {
      onPhone: 'title',
    }),
    {
      name: 'customer',
      label: t('field.customer'),
      onPhone: 'plain',
      isOneLine: true,
      show: ({ customerName }) => customerName ?? '–',
    },
    {
      name: 'state',
      label: t('field.status'),
      onPhone: 'plain',
      show: ({ state, problem }) =>
        problem === null ? tValue('bulkState', state) : problemText(state, problem.code, problem.text),
    },
    moneyColumn('balance', t('account.balance'), ({ balance }) => balance),
    ...(arrears === 'behind'
      ? [
          moneyColumn<Schemas['BulkDeferralAccount']>(
            'arrearsMoved',
            t('deferMany.moved'),
            ({ arrearsMoved }) => arrearsMoved,
            { onPhone: 'detail' },
          ),
        ]
      : []),
  ];
  return (
    <ListPanel
      caption={t('deferMany.accounts')}
      list={list}
      query={query}
      hrefOf={({ accountId }) => `/accounts/${accountId}`}
      columns={columns}
    />
  );
}

function ConfirmDialog({
  deferral,
  onClose,
}: {
  deferral: Schemas['BulkDeferralWithProblems'];
  onClose(): void;
}) {
  const confirm = useWrite('post', '/api/plan-changes/bulk-deferrals/{id}/confirm');
  const { id, deferrableCount, needsApproval, restructuredCount } = deferral;
  return (
    <FormDialog
      title={t('deferMany.confirm')}
      lead={tCount('deferMany.confirm.lead', deferrableCount ?? 0)}
      write={confirm}
      submit={t(needsApproval ? 'changePlan.send' : 'deferMany.confirm')}
      done={(answer: object) => outcomeOf(answer, t('deferMany.started'))}
      onClose={onClose}
      onSubmit={() => confirm.send({ params: { path: { id } }, body: {} })}
    >
      {restructuredCount ? (
        <Notice tone="warning">
          {t('deferMany.recent')}: {format.number(restructuredCount)}
        </Notice>
      ) : null}
      {needsApproval && <Notice tone="info">{t('changePlan.needsApproval')}</Notice>}
    </FormDialog>
  );
}

const ENDINGS = [
  ['expired', 'discard'],
  ['done', 'stop'],
] as const;
type Ending = (typeof ENDINGS)[number][1];

/** Discards a preview, or stops the job, as the dialog says. The dialog keeps its meaning if the status changes. */
function EndDialog({ id, ending, onClose }: { id: number; ending: Ending; onClose(): void }) {
  const end = useWrite('post', `/api/plan-changes/bulk-deferrals/{id}/${ending}`);
  const name = t(`deferMany.${ending}`);
  return (
    <FormDialog
      title={name}
      lead={t(`deferMany.${ending}.lead`)}
      write={end}
      submit={name}
      kind="danger"
      onClose={onClose}
      onSubmit={() => end.send({ params: { path: { id } } })}
    />
  );
}

function UndoDialog({ id, onClose }: { id: number; onClose(): void }) {
  const undo = useWrite('post', '/api/plan-changes/bulk-deferrals/{id}/undo');
  return (
    <FormDialog
      title={t('deferMany.undo')}
      lead={t('deferMany.undo.lead')}
      write={undo}
      submit={t('deferMany.undo')}
      kind="danger"
      done={(answer: object) => outcomeOf(answer, t('deferMany.started'))}
      onClose={onClose}
      onSubmit={(values) => undo.send({ params: { path: { id } }, body: { reason: values.text('reason') } })}
    >
      <TextAreaField
        label={t('field.reason')}
        name="reason"
        maxLength={500}
        hint={t('changePlan.reason.hint')}
        required
      />
    </FormDialog>
  );
}
