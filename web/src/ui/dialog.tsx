import { type ReactNode, useEffect, useId, useLayoutEffect, useRef } from 'react';
import { t } from '../i18n/index.ts';
import { IconButton } from './button.tsx';
import { rememberFocus } from './return-focus.ts';
import { markUnsaved, mayDiscard } from './unsaved.ts';

interface DialogProps {
  title: string;
  /** The text below the title. */
  lead?: ReactNode;
  /** False while the request of the dialog runs: there is no close button, and Escape does nothing. */
  canClose?: boolean;
  onClose(): void;
  children: ReactNode;
}

/**
 * Opens when it is mounted, and closes when it is unmounted. At first the focus is on the element with `data-first`, or else on the
 * first input or select. Afterwards it is where it was before.
 */
export function Dialog({ title, lead, canClose = true, onClose, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element || element.open) return;
    const returnFocus = rememberFocus();
    element.showModal();
    // React's autoFocus is lost when showModal() moves the focus.
    const body = element.querySelector('.dialog-body');
    const first =
      body?.querySelector<HTMLElement>('[data-first]') ?? body?.querySelector<HTMLElement>('input, select');
    first?.focus();
    return () => {
      element.close(); // While the dialog is open, no element outside it can get the focus.
      returnFocus();
    };
  }, []);
  const release = useRef<() => void>(undefined);
  useEffect(() => () => release.current?.(), []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={id}
      onInput={() => {
        release.current ??= markUnsaved();
      }}
      onCancel={(event) => {
        event.preventDefault();
        // On Android, Back also comes here. What was sent is not lost: the layout shows the change as not confirmed.
        const isSent = event.currentTarget.querySelector('.form-fields:disabled') !== null;
        if (canClose && (!release.current || isSent || mayDiscard())) onClose();
      }}
    >
      <header className="dialog-head">
        <div>
          <h2 id={id}>{title}</h2>
          {lead && <p className="muted">{lead}</p>}
        </div>
        {canClose && <IconButton icon="close" label={t('action.close')} onClick={onClose} />}
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}
