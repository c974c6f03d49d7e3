import { useRef, useState } from 'react';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/feedback.tsx';

interface SecretDialogProps {
  title: string;
  lead?: string;
  secret: string;
  onClose(): void;
}

/** Shows a secret that the service returns once. The secret is only in the state of the caller, never in storage or in the URL. */
export function SecretDialog({ title, lead, secret, onClose }: SecretDialogProps) {
  const input = useRef<HTMLInputElement>(null);
  const [isCopied, setIsCopied] = useState(false);

  async function copy() {
    input.current?.select();
    // Without https://, there is no `clipboard`, and a browser can refuse the write. Users then copy the selected text by keyboard.
    await navigator.clipboard?.writeText(secret).then(
      () => setIsCopied(true),
      () => undefined,
    );
  }

  return (
    <Dialog title={title} lead={lead} onClose={onClose}>
      <Notice tone="warning">{t('secret.once')}</Notice>
      <div className="secret">
        <input
          ref={input}
          className="input mono"
          aria-label={title}
          value={secret}
          readOnly
          autoComplete="off"
          spellCheck={false}
          onFocus={(event) => event.target.select()}
        />
        <Button icon={isCopied ? 'check' : 'copy'} onClick={copy}>
          {t(isCopied ? 'action.copied' : 'action.copy')}
        </Button>
      </div>
      <div className="form-buttons">
        <Button kind="primary" onClick={onClose}>
          {t('secret.done')}
        </Button>
      </div>
    </Dialog>
  );
}
