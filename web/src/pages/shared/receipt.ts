import { fetchFile } from '../../api/download.ts';
import { currentLanguage } from '../../i18n/index.ts';
import { downloadOrSay } from './download-button.tsx';

const pathOf = (paymentId: number) => `/api/payments/${paymentId}/receipt`;

export function printReceipt(paymentId: number, paper: 'roll' | 'a4'): Promise<void> {
  return downloadOrSay(pathOf(paymentId), { paper, lang: currentLanguage() });
}

export async function readReceipt(paymentId: number): Promise<string> {
  const response = await fetchFile(pathOf(paymentId), { paper: 'text', lang: currentLanguage() });
  return response.text();
}
