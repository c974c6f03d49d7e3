import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { codeColumn, moneyColumn, statusColumn } from './columns.tsx';
import { ACCOUNT_TONES } from './tones.ts';

type Account = Schemas['Account'];

/** The columns of a list of accounts on the page of a customer or a product. */
export function accountColumns(secondColumn: Column<Account>): Column<Account>[] {
  return [
    codeColumn('id', t('account.number'), ({ accountNumber }) => accountNumber, { onPhone: 'title' }),
    { onPhone: 'plain', isOneLine: true, ...secondColumn },
    statusColumn(ACCOUNT_TONES, (status) => tValue('accountStatus', status)),
    {
      name: 'nextDueDate',
      label: t('account.nextDue'),
      show: ({ nextDueDate }) => (nextDueDate === null ? '–' : format.date(nextDueDate)),
    },
    moneyColumn('balance', t('account.balance'), ({ balance }) => balance),
  ];
}
