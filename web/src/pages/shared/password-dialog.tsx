import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { TextField } from '../../ui/form.tsx';
import { FormDialog } from './form-dialog.tsx';

export function PasswordDialog({ onClose }: { onClose(): void }) {
  const change = useWrite('put', '/api/auth/password');
  const isWrong = change.problem?.code === 'AUTH_FAILED';
  const problem =
    change.problem && isWrong
      ? { ...change.problem, fields: [{ path: 'currentPassword', message: t('session.wrongPassword') }] }
      : change.problem;
  return (
    <FormDialog
      title={t('app.changePassword')}
      write={{ ...change, problem }}
      submit={t('app.changePassword')}
      done={t('session.passwordChanged')}
      onClose={onClose}
      onSubmit={(values) =>
        change.send({
          body: { currentPassword: values.raw('currentPassword'), newPassword: values.raw('newPassword') },
        })
      }
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
    </FormDialog>
  );
}
