import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { TextAreaField } from '../../ui/form.tsx';
import { outcomeOf, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';
import { BALANCE_REMOVING_MOVES, type Move } from './status-moves.ts';

interface StatusDialogProps {
  account: Schemas['Account'];
  move: Move;
  onClose(): void;
}

export function StatusDialog({ account, move, onClose }: StatusDialogProps) {
  const change = useWrite('put', '/api/accounts/{id}');
  const text = t(`account.status.${move}.text`);
  return (
    <FormDialog
      title={t(`account.status.${move}.title`)}
      lead={BALANCE_REMOVING_MOVES.includes(move) ? withApprovalHint(text, account.balance) : text}
      write={change}
      submit={t(MOVE_BUTTONS[move])}
      kind={move === 'active' ? 'primary' : 'danger'}
      // "Cancel" beside "Cancel sale" would be misread.
      {...(move === 'cancelled' && { cancel: t('account.cancel.not') })}
      onClose={onClose}
      onSubmit={(values) => {
        const reason = values.optional('reason');
        const body = { status: move, ...(reason !== undefined && { reason }) };
        return change.send({ params: { path: { id: account.id } }, body });
      }}
      done={(answer) =>
        outcomeOf(answer, t('account.status.done', { status: tValue('accountStatus', move) }))
      }
    >
      <TextAreaField
        label={t('field.reason')}
        name="reason"
        maxLength={500}
        required={move !== 'active'}
        isFirst
      />
    </FormDialog>
  );
}

export const MOVE_BUTTONS = {
  suspended: 'account.suspend',
  active: 'account.reactivate',
  defaulted: 'account.default',
  repossessed: 'account.repossess',
  written_off: 'account.writeOff',
  cancelled: 'account.cancel',
} as const satisfies Record<Move, string>;
