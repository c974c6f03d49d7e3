import { useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { CheckField, TextAreaField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { FormDialog } from './form-dialog.tsx';
import { WriteNotice } from './write-notice.tsx';

const MAX_TEXT = 2000;

interface NoteDialogProps {
  customerId: number;
  accountId?: number;
  onClose(): void;
}

export function NoteDialog({ customerId, accountId, onClose }: NoteDialogProps) {
  const add = useWrite('post', '/api/customers/{id}/notes');
  return (
    <FormDialog
      title={t('history.note.write')}
      lead={t('history.note.write.text')}
      write={add}
      submit={t('action.save')}
      done={t('list.saved')}
      onClose={onClose}
      onSubmit={(values) =>
        add.send({
          params: { path: { id: customerId } },
          body: {
            text: values.text('text'),
            accountId: accountId ?? null,
            pinned: values.isChecked('pinned'),
          },
        })
      }
    >
      <TextAreaField
        label={t('history.note.text')}
        name="text"
        maxLength={MAX_TEXT}
        rows={5}
        required
        isFirst
      />
      <CheckField label={t('history.note.pin')} name="pinned" />
    </FormDialog>
  );
}

/** Buttons for what the service allows the user to do with a note. */
export function NoteActions({ note }: { note: Schemas['Note'] }) {
  const [opened, setOpened] = useState<'correct' | 'hide'>();
  const change = useWrite('put', '/api/customers/{id}/notes/{noteId}');
  const hide = useWrite('post', '/api/customers/{id}/notes/{noteId}/hide');
  const path = { id: note.customerId, noteId: note.id };
  const close = () => setOpened(undefined);
  const mayDo = (action: Schemas['NoteAction']) => note.allowedActions.includes(action);
  async function pin() {
    const saved = await change.send({ params: { path }, body: { pinned: !note.pinned } });
    if (saved) toast({ text: t('list.saved') });
  }
  if (note.allowedActions.length === 0) return null;
  return (
    <>
      {opened === undefined && <WriteNotice problem={change.problem} />}
      <Actions>
        {mayDo('correct') && (
          <Button kind="quiet" onClick={() => setOpened('correct')}>
            {t('history.note.correct')}
          </Button>
        )}
        {mayDo('pin') && (
          <Button kind="quiet" isBusy={change.isSending} onClick={() => void pin()}>
            {note.pinned ? t('history.note.unpin') : t('history.note.pin')}
          </Button>
        )}
        {mayDo('hide') && (
          <Button kind="quiet" onClick={() => setOpened('hide')}>
            {t('history.note.hide')}
          </Button>
        )}
      </Actions>
      {opened === 'correct' && (
        <FormDialog
          title={t('history.note.correct')}
          lead={t('history.note.correct.text')}
          write={change}
          submit={t('action.save')}
          done={t('list.saved')}
          onClose={close}
          onSubmit={(values) => change.send({ params: { path }, body: { text: values.text('text') } })}
        >
          <TextAreaField
            label={t('history.note.text')}
            name="text"
            maxLength={MAX_TEXT}
            rows={5}
            defaultValue={note.text ?? ''}
            required
            isFirst
          />
        </FormDialog>
      )}
      {opened === 'hide' && (
        <FormDialog
          title={t('history.note.hide')}
          lead={t('history.note.hide.text')}
          kind="danger"
          write={hide}
          submit={t('history.note.hide')}
          done={t('list.saved')}
          onClose={close}
          onSubmit={(values) => hide.send({ params: { path }, body: { reason: values.text('reason') } })}
        >
          <TextAreaField label={t('field.reason')} name="reason" maxLength={500} required isFirst />
        </FormDialog>
      )}
    </>
  );
}
