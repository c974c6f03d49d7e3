import type { ReactNode } from 'react';
import type { Write } from '../../api/write.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form, FormButtons, type FormValues } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { useConnection } from './use-connection.ts';

interface FormDialogProps<Data> {
  title: string;
  lead?: ReactNode;
  write: Pick<Write<never, unknown>, 'isSending' | 'problem' | 'stop' | 'describe'>;
  /** The text of the submit button. */
  submit: string;
  kind?: 'primary' | 'danger';
  /** The text of the button that closes the dialog. Default: "Cancel". */
  cancel?: string;
  /** The message after success. */
  done?: string | ((data: Data) => string);
  /** Resolves to undefined if the change failed. */
  onSubmit(values: FormValues): Promise<Data | undefined>;
  /** Called after success, instead of closing the dialog. */
  onDone?: (data: Data) => void;
  onClose(): void;
  children?: ReactNode;
}

/** A dialog with a form. It closes after success. */
export function FormDialog<Data>(props: FormDialogProps<Data>) {
  const { title, lead, write, submit, kind = 'primary', cancel, done, onSubmit, onClose, children } = props;
  const connection = useConnection();
  // Without a connection, the user can leave. The layout then shows the change as not confirmed.
  const canClose = !write.isSending || connection !== 'ok';
  return (
    <Dialog
      title={title}
      lead={lead}
      canClose={canClose}
      onClose={() => {
        write.stop();
        onClose();
      }}
    >
      <Form
        problem={write.problem}
        isSending={write.isSending}
        connection={connection}
        onStop={write.stop}
        onSubmit={async (values) => {
          write.describe(typeof lead === 'string' ? `${title}: ${lead}` : title);
          const data = await onSubmit(values);
          if (data === undefined) return;
          if (done !== undefined) toast({ text: typeof done === 'string' ? done : done(data) });
          (props.onDone ?? onClose)(data);
        }}
      >
        {children}
        <FormButtons submit={submit} kind={kind} onCancel={onClose} {...(cancel && { cancel })} />
      </Form>
    </Dialog>
  );
}
