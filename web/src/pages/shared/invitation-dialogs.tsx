import { useState } from 'react';
import { invitationLink } from '../../api/invitation.ts';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { TextField } from '../../ui/form.tsx';
import { FormDialog } from './form-dialog.tsx';
import { SecretDialog } from './secret-dialog.tsx';

const DAYS = 7;

/** Shows the link for the invited person. The link is shown only once. */
export function LinkDialog({
  invitation,
  onClose,
}: {
  invitation: Schemas['IssuedInvitation'];
  onClose(): void;
}) {
  return (
    <SecretDialog
      title={t('invitations.link')}
      lead={t('invitations.link.lead', { email: invitation.email })}
      secret={invitationLink(invitation)}
      onClose={onClose}
    />
  );
}

/** Invites an existing user to link an identity, so that the user can sign in through an identity provider. */
export function IdentityDialog({
  userId,
  email,
  onClose,
}: {
  userId: number;
  email: string;
  onClose(): void;
}) {
  const invite = useWrite('post', '/api/users/{id}/invitations', { isRepeatable: false });
  const [issued, setIssued] = useState<Schemas['IssuedInvitation']>();
  if (issued) return <LinkDialog invitation={issued} onClose={onClose} />;
  return (
    <FormDialog
      title={t('invitations.identity')}
      lead={t('invitations.identity.lead', { email })}
      write={invite}
      submit={t('invitations.submit')}
      onClose={onClose}
      onSubmit={(values) =>
        invite.send({
          params: { path: { id: userId } },
          body: { expiresInDays: values.number('expiresInDays') },
        })
      }
      onDone={setIssued}
    >
      <DaysField />
    </FormDialog>
  );
}

export function DaysField() {
  return (
    <TextField
      label={t('invitations.days')}
      name="expiresInDays"
      type="number"
      min={1}
      max={30}
      defaultValue={DAYS}
      required
    />
  );
}
