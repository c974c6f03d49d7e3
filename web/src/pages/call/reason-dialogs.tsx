import { useState } from 'react';
import { useWrite, type Write } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { TextAreaField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

/** The button that closes a dispute, and its dialog. */
export function CloseDisputeButton({ id }: { id: number }) {
  const close = useWrite('post', '/api/calls/{id}/close-dispute');
  const label = t('calls.closeDispute');
  return <ReasonButton id={id} label={label} reason={t('calls.closeDispute.reason')} write={close} />;
}

/** The button that hides the note of a call, and its dialog. */
export function HideNoteButton({ id }: { id: number }) {
  const hide = useWrite('post', '/api/calls/{id}/hide-note');
  return (
    <ReasonButton
      id={id}
      label={t('calls.hideNote')}
      lead={t('calls.hideNote.text')}
      reason={t('calls.hideNote.reason')}
      write={hide}
    />
  );
}

interface ReasonButtonProps<Data> {
  id: number;
  label: string;
  lead?: string;
  /** The label of the field for the reason. */
  reason: string;
  write: Write<{ params: { path: { id: number } }; body: { reason: string } }, Data>;
}

function ReasonButton<Data>({ id, label, lead, reason, write }: ReasonButtonProps<Data>) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{label}</Button>
      {isOpen && (
        <FormDialog
          title={label}
          {...(lead !== undefined && { lead })}
          write={write}
          submit={label}
          onClose={() => setIsOpen(false)}
          onSubmit={(values) =>
            write.send({ params: { path: { id } }, body: { reason: values.text('reason') } })
          }
        >
          <TextAreaField label={reason} name="reason" maxLength={500} required isFirst />
        </FormDialog>
      )}
    </>
  );
}
