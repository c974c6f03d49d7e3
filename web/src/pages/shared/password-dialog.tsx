import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';

export function PasswordDialog({ onClose }: { onClose(): void }) {
  const change = useWrite('put', '/api/auth/password');
  const isWrong = change.problem?.code === 'AUTH_FAILED';
  const problem =
    change.problem && isWrong
      ? { ...change.problem, fields: [{ path: 'currentPassword', message: t('session.wrongPassword') }] }
      : change.problem;
  return (
    <Dialog title={t('app.changePassword')} canClose={!change.isSending} onClose={onClose}>
      <Form
        problem={problem}
        isSending={change.isSending}
        onSubmit={async (values) => {
          const currentPassword = values.raw('currentPassword');
          const newPassword = values.raw('newPassword');
          if (!(await change.send({ body: { currentPassword, newPassword } }))) return;
          toast({ text: t('session.passwordChanged') });
          onClose();
        }}
      >
        <TextField
          label={t('session.currentPassword')}
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          required
        />
        <TextField
          label={t('session.newPassword')}
          name="newPassword"
          type="password"
          autoComplete="new-password"
          hint={t('session.newPassword.hint')}
          required
        />
        <FormButtons submit={t('app.changePassword')} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
