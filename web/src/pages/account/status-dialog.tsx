import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormButtons, TextAreaField } from '../../ui/form.tsx';
import { toastOutcome, withApprovalHint } from '../shared/approval.ts';
import { type Move, REMOVE_BALANCE } from './status-moves.ts';

interface StatusDialogProps {
  account: Schemas['Account'];
  move: Move;
  onClose(): void;
}

export function StatusDialog({ account, move, onClose }: StatusDialogProps) {
  const change = useWrite('put', '/api/accounts/{id}');
  const text = t(`account.status.${move}.text`);
  return (
    <Dialog
      title={t(`account.status.${move}.title`)}
      lead={REMOVE_BALANCE.includes(move) ? withApprovalHint(text, account.balance) : text}
      canClose={!change.isSending}
      onClose={onClose}
    >
      <Form
        problem={change.problem}
        isSending={change.isSending}
        onSubmit={async (values) => {
          const reason = values.optional('reason');
          const body = { status: move, ...(reason !== undefined && { reason }) };
          const changed = await change.send({ params: { path: { id: account.id } }, body });
          if (!changed) return;
          toastOutcome(changed, t('account.status.done', { status: tValue('accountStatus', move) }));
          onClose();
        }}
      >
        <TextAreaField
          label={t('field.reason')}
          name="reason"
          maxLength={500}
          required={move !== 'active'}
          isFirst
        />
        <FormButtons
          submit={t(MOVE_BUTTONS[move])}
          kind={move === 'active' ? 'primary' : 'danger'}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
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
