import { explain } from '../../api/explain.ts';
import { t } from '../../i18n/index.ts';
import { toast } from '../../ui/toast.tsx';

/** Opens the share sheet of the device with a text. A browser without one copies the text. */
export async function shareText(read: () => Promise<string>): Promise<void> {
  try {
    const text = await read();
    if (navigator.share) return await navigator.share({ text });
    await navigator.clipboard.writeText(text);
    toast({ text: t('share.copied') });
  } catch (error) {
    // The user closed the share sheet.
    if (error instanceof DOMException && error.name === 'AbortError') return;
    toast({ tone: 'bad', text: explain(error) });
  }
}
