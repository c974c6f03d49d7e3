import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { format, t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded, Skeleton } from '../../ui/feedback.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { usePreview } from './catalogue.ts';
import type { Sale } from './sales.ts';

type Item = Schemas['PayPlanPreview']['items'][number];

interface ScheduleDialogProps {
  typed: Sale['typed'];
  planName: string;
  onClose(): void;
}

/** The deposit and all instalments of the account, before it is sold. */
export function ScheduleDialog({ typed, planName, onClose }: ScheduleDialogProps) {
  const preview = usePreview(typed, true);
  const columns: Column<Item>[] = [
    { name: 'number', label: t('sale.schedule.what'), show: nameOf },
    {
      name: 'dueDate',
      label: t('field.date'),
      onPhone: 'plain',
      show: ({ dueDate }) => format.date(dueDate),
    },
    {
      name: 'amount',
      label: t('field.amount'),
      isNumber: true,
      onPhone: 'value',
      show: ({ amount }) => format.money(amount),
    },
  ];
  return (
    <Dialog title={t('sale.schedule')} lead={planName} onClose={onClose}>
      <Loaded query={preview} explain={explain} skeleton={<Skeleton lines={8} />}>
        {({ items }) => (
          <Table caption={t('sale.schedule')} columns={columns} rows={items} keyOf={({ number }) => number} />
        )}
      </Loaded>
    </Dialog>
  );
}

function nameOf({ number }: Item): string {
  return number === 0 ? t('field.deposit') : t('sale.schedule.item', { number });
}
