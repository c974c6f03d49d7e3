import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';

/**
 * What a change did, beside its kind and the change of the price. Examples: "Instalments moved: 3, the first from 15 Dec 2026 to 15 Feb
 * 2027", "Discount, 3 May 2026" for the change that an undo undid.
 */
export function describeOutcome({
  instalments,
  arrearsMoved,
  payplanName,
  undoneChange,
}: Schemas['PlanChangeOutcome']): string {
  const parts: (string | null)[] = [payplanName];
  if (instalments) {
    const { movedFrom, firstDueDate, lastDueDate } = instalments;
    const count = format.number(instalments.count);
    const [first, last] = [format.date(firstDueDate), format.date(lastDueDate)];
    parts.push(
      movedFrom === null
        ? t('planOutcome.made', { count, first, last })
        : t('planOutcome.moved', { count, from: format.date(movedFrom), to: first }),
    );
  }
  if (arrearsMoved > 0) parts.push(t('planOutcome.arrears', { amount: format.money(arrearsMoved) }));
  if (undoneChange)
    parts.push(`${tValue('planChangeKind', undoneChange.kind)}, ${format.date(undoneChange.effectiveOn)}`);
  return parts.filter(Boolean).join(' · ');
}
