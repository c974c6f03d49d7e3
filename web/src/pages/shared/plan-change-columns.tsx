import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/table.tsx';
import { nameOfActor } from './actor.ts';
import { dateColumn } from './columns.tsx';
import { describeOutcome } from './plan-outcome.ts';

/** What changes of plans did, since when, why, and who made them. */
export function planChangeColumns(): Column<Schemas['PlanChange']>[] {
  return [
    dateColumn('effectiveOn', t('planChanges.effective'), ({ effectiveOn }) => effectiveOn, {
      onPhone: 'value',
    }),
    {
      name: 'kind',
      label: t('planChanges.kind'),
      onPhone: 'plain',
      show: (change) => (
        <>
          {tValue('planChangeKind', change.kind)}{' '}
          {change.undoneBy !== null && <Badge>{t('planChanges.undone')}</Badge>}
          <div className="muted">{describeOutcome(change)}</div>
        </>
      ),
    },
    {
      name: 'priceChange',
      label: t('planChanges.price'),
      isNumber: true,
      show: ({ priceChange }) => priceChange !== 0 && format.amount(priceChange),
    },
    {
      name: 'reason',
      label: t('field.reason'),
      onPhone: 'plain',
      show: ({ reason, actor }) => (
        <>
          {reason}
          <div className="muted">{nameOfActor(actor)}</div>
        </>
      ),
    },
  ];
}
