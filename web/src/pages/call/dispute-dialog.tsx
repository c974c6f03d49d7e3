import { useState } from 'react';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { TextAreaField } from '../../ui/form.tsx';
import { FormDialog } from '../shared/form-dialog.tsx';

/** The button that closes a dispute, and its dialog. */
export function CloseDisputeButton({ id }: { id: number }) {
  const [isOpen, setIsOpen] = useState(false);
  const close = useWrite('post', '/api/calls/{id}/close-dispute');
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{t('calls.closeDispute')}</Button>
      {isOpen && (
        <FormDialog
          title={t('calls.closeDispute')}
          write={close}
          submit={t('calls.closeDispute')}
          onClose={() => setIsOpen(false)}
          onSubmit={(values) =>
            close.send({ params: { path: { id } }, body: { reason: values.text('reason') } })
          }
        >
          <TextAreaField
            label={t('calls.closeDispute.reason')}
            name="reason"
            maxLength={500}
            required
            isFirst
          />
        </FormDialog>
      )}
    </>
  );
}
