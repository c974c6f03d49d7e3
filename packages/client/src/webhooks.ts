import { WebhookVerificationError } from './errors.ts';

/** Headers of a request, in any of the forms in which servers hand them over. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now. Default: 300. */
  toleranceSeconds?: number;
}

/**
 * Verifies a delivery (https://www.standardwebhooks.com) and returns its parsed body.
 * @param body the bytes or the text as they were received: parsing and writing JSON again changes them.
 * @param secrets `whsec_…`; several while a secret is being replaced.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook<Payload = unknown>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<Payload> {
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature').split(' ');
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError(`webhook-timestamp is not within ${toleranceSeconds} s of now.`);

  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${timestamp}.`), ...bytes]);
  for (const secret of [secrets].flat()) {
    const raw = fromBase64(secret.replace(/^whsec_/, ''));
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of signatures.filter((one) => one.startsWith('v1,'))) {
      // subtle.verify compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, fromBase64(signature.slice('v1,'.length)), signed))
        return JSON.parse(text) as Payload;
    }
  }
  throw new WebhookVerificationError('No signature in webhook-signature fits a secret.');
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} must be sent exactly once.`);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array(1); // Fits no signature.
  }
}
