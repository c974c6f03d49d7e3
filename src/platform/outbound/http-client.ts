/** Requests to addresses that the operator configured. For addresses that users entered, use `createSender`. */

interface HttpRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** The time limit for the connection and the whole answer. */
  timeoutMs: number;
  maxBytes: number;
}

export interface HttpAnswer {
  status: number;
  text: string;
  /** The header Retry-After in seconds. Null if it is missing or a date. */
  retryAfterSeconds: number | null;
}

/** The answer is larger than `maxBytes`. */
export class AnswerTooLarge extends Error {}

/**
 * Sends a request and reads the whole answer. Does not follow redirects, because a redirect could send a secret to another host.
 * @throws AnswerTooLarge, or the error of the connection. The error message contains no header and no body.
 */
export async function sendRequest(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer> {
  const { method, url, headers, body, timeoutMs, maxBytes } = request;
  const limit = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'error',
    signal: signal ? AbortSignal.any([limit, signal]) : limit,
    ...(body !== undefined && { body }),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw new AnswerTooLarge(`The answer is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return {
    status: response.status,
    text: Buffer.concat(chunks).toString('utf8'),
    retryAfterSeconds: secondsOf(response.headers.get('retry-after')),
  };
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) : null;
}
