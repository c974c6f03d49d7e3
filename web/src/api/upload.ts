import { sendSignedIn } from './client.ts';
import { isErrorBody } from './problem.ts';

interface Upload {
  method?: 'POST' | 'PUT';
  path: string;
  file: Blob;
  contentType: string;
  signal: AbortSignal;
  /** @param share - how much of the file was sent, from 0 to 1. */
  onProgress(share: number): void;
}

/**
 * Sends a file, and sends it again if no answer comes or the service is busy. The service must recognize a file that it already has.
 * @returns the data of the answer.
 * @throws the abort reason of the signal, or the error body if the service refuses.
 */
export async function upload<Data>({
  method = 'POST',
  path,
  file,
  contentType,
  signal,
  onProgress,
}: Upload): Promise<Data> {
  const request = new Request(new URL(path, location.origin), {
    method,
    headers: { 'content-type': contentType },
    signal,
  });
  const response = await sendSignedIn(request, true, (signed) => sendFile(signed, file, onProgress));
  const answer: unknown = await response.json();
  if (isErrorBody(answer)) throw answer;
  return (answer as { data: Data }).data;
}

/** Uses XMLHttpRequest, because fetch does not report how much was sent. */
function sendFile(
  { method, url, headers, signal }: Request,
  file: Blob,
  onProgress: (share: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted(); // The user may have stopped the upload while the access token was renewed.
    const exchange = new XMLHttpRequest();
    const abort = () => exchange.abort();
    exchange.open(method, url);
    headers.forEach((value, name) => {
      exchange.setRequestHeader(name, value);
    });
    exchange.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    exchange.onload = () => {
      const wait = exchange.getResponseHeader('retry-after');
      const answerHeaders = new Headers(wait === null ? [] : [['retry-after', wait]]);
      resolve(new Response(exchange.responseText, { status: exchange.status, headers: answerHeaders }));
    };
    exchange.onerror = () => reject(new TypeError('The connection was lost.'));
    exchange.onabort = () => reject(signal.reason);
    exchange.onloadend = () => signal.removeEventListener('abort', abort);
    signal.addEventListener('abort', abort);
    exchange.send(file);
  });
}
