import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t, tValue } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormButtons, TextAreaField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';

export type Move = 'suspended' | 'active' | 'cancelled';

/** The changes that are offered. The service decides; it lists the allowed ones if it refuses. */
const MOVES: Partial<Record<Schemas['AccountStatus'], readonly Move[]>> = {
  pending: ['suspended', 'cancelled'],
  active: ['suspended', 'cancelled'],
  suspended: ['active', 'cancelled'],
  defaulted: ['active'],
  repossessed: ['active'],
};

export function movesOf(status: Schemas['AccountStatus']): readonly Move[] {
  return MOVES[status] ?? [];
}

interface StatusDialogProps {
  account: Schemas['Account'];
  move: Move;
  onClose(): void;
}

export function StatusDialog({ account, move, onClose }: StatusDialogProps) {
  const change = useWrite('put', '/api/accounts/{id}');
  return (
    <Dialog
      title={t(`account.status.${move}.title`)}
      lead={t(`account.status.${move}.text`)}
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
          toast({ text: t('account.status.done', { status: tValue('accountStatus', changed.status) }) });
          onClose();
        }}
      >
        <TextAreaField
          label={t('account.status.reason')}
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

const MOVE_BUTTONS = {
  suspended: 'account.suspend',
  active: 'account.reactivate',
  cancelled: 'account.cancel',
} as const;
