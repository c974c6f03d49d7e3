import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { TextAreaField } from '../../ui/form.tsx';
import { outcomeOf, withApprovalHint } from '../shared/approval.ts';
import { FormDialog } from '../shared/form-dialog.tsx';

type OfferedMove = Schemas['AccountOverview']['moves'][number];
export type Move = OfferedMove & { status: keyof typeof MOVE_BUTTONS };

interface StatusDialogProps {
  account: Schemas['Account'];
  move: Move;
  onClose(): void;
}

export function StatusDialog({ account, move: { status, givesUp }, onClose }: StatusDialogProps) {
  const change = useWrite('put', '/api/accounts/{id}');
  return (
    <FormDialog
      title={t(`account.status.${status}.title`)}
      lead={withApprovalHint(t(`account.status.${status}.text`), givesUp)}
      write={change}
      submit={t(MOVE_BUTTONS[status])}
      kind={status === 'active' ? 'primary' : 'danger'}
      // "Cancel" beside "Cancel sale" would be misread.
      {...(status === 'cancelled' && { cancel: t('account.cancel.not') })}
      onClose={onClose}
      onSubmit={(values) => {
        const reason = values.optional('reason');
        const body = { status, ...(reason !== undefined && { reason }) };
        return change.send({ params: { path: { id: account.id } }, body });
      }}
      done={(answer) =>
        outcomeOf(answer, t('account.status.done', { status: tValue('accountStatus', status) }))
      }
    >
      <TextAreaField
        label={t('field.reason')}
        name="reason"
        maxLength={500}
        required={status !== 'active'}
        isFirst
      />
    </FormDialog>
  );
}

/** Only the service sets `pending` and `completed`. */
export const MOVE_BUTTONS = {
  suspended: 'account.suspend',
  active: 'account.reactivate',
  defaulted: 'account.default',
  repossessed: 'account.repossess',
  written_off: 'account.writeOff',
  cancelled: 'account.cancel',
} as const satisfies Record<Exclude<Schemas['AccountStatus'], 'pending' | 'completed'>, string>;

/** Whether this version of the console knows the status. */
export function isKnownMove(move: OfferedMove): move is Move {
  return move.status in MOVE_BUTTONS;
}
