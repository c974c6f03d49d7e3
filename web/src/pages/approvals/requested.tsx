import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, nameOfKey, t, tValue } from '../../i18n/index.ts';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { Facts } from '../../ui/panel.tsx';
import { BulkDeferralFacts } from '../shared/bulk-deferral-facts.tsx';
import { EffectTable, showEffect, TermsTable } from '../shared/plan-effect.tsx';
import { describeOutcome } from '../shared/plan-outcome.ts';
import { describeHarvest, describeRhythm } from '../shared/plan-terms.ts';

type Change = NonNullable<Schemas['Approval']['planChange']>;

/** What a request for approval asks for, if it is a change of one plan or of many. */
export function Requested({ approval }: { approval: Schemas['Approval'] }) {
  const { planChange, bulkDeferralId } = approval;
  return (
    <>
      {planChange && <RequestedPlanChange approval={approval} change={planChange} />}
      {bulkDeferralId !== null && <RequestedBulkDeferral id={bulkDeferralId} />}
    </>
  );
}

interface RequestedPlanChangeProps {
  approval: Schemas['Approval'];
  change: Change;
}

/**
 * The change of a plan for which somebody asked: its fields, and the account before and after it. Users who may change plans see the effect
 * that it would have now.
 */
function RequestedPlanChange({ approval, change }: RequestedPlanChangeProps) {
  const { accountId, status } = approval;
  return (
    <>
      <Facts rows={rowsOf(change)} />
      {status === 'pending' && accountId !== null && may('accounts:change-plan') && (
        <PresentEffect approval={approval} accountId={accountId} change={change} />
      )}
      {status === 'approved' && accountId !== null && (
        <MadeChange accountId={accountId} version={Number(approval.facts.planVersion) + 1} />
      )}
    </>
  );
}

/** The effect of an approved change. Its version follows that of the request, because others would have made the request obsolete. */
function MadeChange({ accountId, version }: { accountId: number; version: number }) {
  const made = api.useQuery('get', '/api/plan-changes', {
    params: { query: { 'filter[accountId]': { eq: accountId }, 'filter[version]': { eq: version } } },
  });
  return (
    <Loaded query={made} explain={explain}>
      {({ data }) =>
        data.map((change) => (
          <div key={change.id} className="effect-box">
            {describeOutcome(change)}
            <TermsTable {...change} />
          </div>
        ))
      }
    </Loaded>
  );
}

function PresentEffect({ approval, accountId, change }: RequestedPlanChangeProps & { accountId: number }) {
  const { payplanName, ...body } = change;
  const effect = useQuery({
    // With the present facts, so that the effect is read again when they change.
    queryKey: ['effect of approval', approval.id, approval.currentFacts],
    queryFn: () => showEffect(accountId, body),
    retry: false,
  });
  return (
    <Loaded query={effect} explain={explain}>
      {(shown) => <EffectTable effect={shown} />}
    </Loaded>
  );
}

/** The fields of a request with the labels of the form. */
function rowsOf(change: Change) {
  const { kind, from, periods, days, arrears, firstDueDate, instalmentCount, instalmentAmount } = change;
  const { frequency, every = 1, monthsWithoutDues = [], harvest, amount, consent, dues } = change;
  const number = (value: number | undefined) => value && format.number(value);
  const money = (value: number | undefined) => value && format.money(value);
  const date = (value: string | undefined) => value && format.date(value);
  return [
    [t('planChanges.kind'), t(`changePlan.kind.${kind}`)],
    [t('changePlan.from'), date(from)],
    [t('field.periods'), number(periods)],
    [t('field.days'), number(days)],
    [t('field.firstDueDate'), date(firstDueDate)],
    [t('field.instalmentCount'), number(instalmentCount)],
    [t('field.instalmentAmount'), money(instalmentAmount)],
    [t('field.frequency'), frequency && describeRhythm({ frequency, every, monthsWithoutDues })],
    [t('field.harvest.entries'), harvest && describeHarvest(harvest)],
    [t('planField.harvest.cycles'), number(harvest?.cycles)],
    [t('account.arrears'), arrears && tValue('arrearsChoice', arrears)],
    [t('field.amount.price'), money(amount)],
    [t('field.payplan'), change.payplanName],
    [t('field.consent'), consent],
    [
      t('changePlan.dues'),
      dues?.map((due) => (
        <div key={due.date}>
          {format.date(due.date)} · {format.money(due.amount)}
        </div>
      )),
    ],
    [t('field.reasonCode'), change.reasonCode && nameOfKey(change.reasonCode)],
  ] as const;
}

/** The deferral of many accounts whose start or undo waits for approval. */
function RequestedBulkDeferral({ id }: { id: number }) {
  const query = api.useQuery('get', '/api/plan-changes/bulk-deferrals/{id}', { params: { path: { id } } });
  return (
    <Loaded query={query} explain={explain} skeleton={<Skeleton lines={4} />}>
      {({ data }) => (
        <BulkDeferralFacts
          deferral={data}
          rows={[
            [
              t('deferMany.accounts'),
              <Link key={id} href={`/plan-changes/many/${id}`}>
                {format.number(data.deferrableCount ?? 0)}
              </Link>,
            ],
            [t('deferMany.moved'), data.arrears === 'behind' ? format.money(data.arrearsMoved ?? 0) : null],
          ]}
        />
      )}
    </Loaded>
  );
}
