import { useQuery } from '@tanstack/react-query';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { format, nameOfKey, t, tValue } from '../../i18n/index.ts';
import { Loaded } from '../../ui/feedback.tsx';
import { Facts } from '../../ui/panel.tsx';
import { EffectTable, showEffect } from '../shared/plan-effect.tsx';
import { describeHarvest, describeRhythm } from '../shared/plan-terms.ts';

type Change = NonNullable<Schemas['Approval']['planChange']>;

interface RequestedPlanChangeProps {
  approval: Schemas['Approval'];
  change: Change;
}

/** The change of a plan that waits for approval: its fields and, for users who may change plans, the account before and after it. */
export function RequestedPlanChange({ approval, change }: RequestedPlanChangeProps) {
  const { accountId, status } = approval;
  return (
    <>
      <Facts rows={rowsOf(change)} />
      {status === 'pending' && accountId !== null && may('accounts:change-plan') && (
        <PresentEffect approval={approval} accountId={accountId} change={change} />
      )}
    </>
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
