import { type ReactNode, useRef, useState } from 'react';
import { client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import { t } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

export interface Sharing {
  share(): Promise<void>;
  /** While it runs, another call of `share` does nothing. */
  isRunning: boolean;
  /** Shows the text if the browser has neither shared nor copied it. The page must contain it. */
  dialog: ReactNode;
}

/** Opens the share sheet of the device with a text, or copies the text. @param title - of the dialog. */
export function useSharing(title: string, read: () => Promise<string>): Sharing {
  const [isRunning, setIsRunning] = useState(false);
  const [text, setText] = useState<string>();
  const running = useRef(false); // A second tap can come before the button is drawn again.
  const run = async (action: () => Promise<void>) => {
    if (running.current) return;
    running.current = true;
    setIsRunning(true);
    await action();
    running.current = false;
    setIsRunning(false);
  };
  const offer = async (offered: string) => setText((await shareOrCopy(offered)) ? undefined : offered);
  return {
    share: () =>
      run(async () => {
        try {
          await offer(await read());
        } catch (error) {
          toast({ tone: 'bad', text: explain(error) });
        }
      }),
    isRunning,
    dialog: text !== undefined && (
      <Dialog title={title} lead={t('share.copyYourself')} onClose={() => setText(undefined)}>
        <p className="note-text">{text}</p>
        {('share' in navigator || 'clipboard' in navigator) && (
          <div className="form-buttons">
            <Button kind="primary" data-first isBusy={isRunning} onClick={() => void run(() => offer(text))}>
              {t('share' in navigator ? 'share.share' : 'action.copy')}
            </Button>
          </div>
        )}
      </Dialog>
    ),
  };
}

/** Shares how to pay for an account, in the language of the customer. */
export function useSharingAccount(accountId: number): Sharing {
  return useSharing(t('share.account'), async () => {
    const params = { path: { id: accountId } };
    const { data, error } = await client.GET('/api/accounts/{id}/payment-instructions', { params });
    if (!data) throw error;
    return data.data.text;
  });
}

/**
 * A browser opens its share sheet only soon after a tap, and refuses after a slow read. Then the text is copied.
 * @returns false if the browser does neither, as without https://.
 */
async function shareOrCopy(text: string): Promise<boolean> {
  if (navigator.share) {
    try {
      await navigator.share({ text });
      return true;
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') return true; // The user closed the share sheet.
    }
  }
  if (!navigator.clipboard) return false;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return false; // After a slow read, some browsers refuse this, too.
  }
  toast({ text: t('share.copied') });
  return true;
}
