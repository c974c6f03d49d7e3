import { fetchFile } from '../../api/download.ts';
import { explain } from '../../api/explain.ts';
import { currentLanguage, t } from '../../i18n/index.ts';
import { toast } from '../../ui/toast.tsx';
import { downloadOrSay } from './download-button.tsx';

const pathOf = (paymentId: number) => `/api/payments/${paymentId}/receipt`;

export function printReceipt(paymentId: number, paper: 'roll' | 'a4'): Promise<void> {
  return downloadOrSay(pathOf(paymentId), { paper, lang: currentLanguage() });
}

/** Opens the share sheet of the device with the receipt as text. A browser without one copies the text. */
export async function shareReceipt(paymentId: number): Promise<void> {
  try {
    const response = await fetchFile(pathOf(paymentId), { paper: 'text', lang: currentLanguage() });
    const text = await response.text();
    if (navigator.share) return await navigator.share({ text });
    await navigator.clipboard.writeText(text);
    toast({ text: t('receipt.copied') });
  } catch (error) {
    // The user closed the share sheet.
    if (error instanceof DOMException && error.name === 'AbortError') return;
    toast({ tone: 'bad', text: explain(error) });
  }
}
