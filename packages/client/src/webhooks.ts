import { ClientError, WebhookVerificationError } from './errors.ts';

/** Headers of a request, as Node.js or a `Request` has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now. Default: 300. */
  toleranceSeconds?: number;
}

/**
 * Verifies a delivery (https://www.standardwebhooks.com) and returns its parsed body.
 * @param body the bytes or the text as received. JSON that was parsed and written again can differ from it.
 * @param secrets one secret (`whsec_…`), or several while a secret is being replaced.
 * @throws WebhookVerificationError for a delivery that must be refused; another ClientError for a secret in a wrong format.
 */
export async function verifyWebhook<Payload = unknown>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<Payload> {
  const keys = await Promise.all([secrets].flat().map(importSecret));
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature')
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .flatMap((one) => decodeBase64(one.slice('v1,'.length)) ?? []);
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError(`webhook-timestamp is not within ${toleranceSeconds} s of now.`);

  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${timestamp}.`), ...bytes]);
  for (const key of keys) {
    for (const signature of signatures) {
      // subtle.verify compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(text) as Payload;
    }
  }
  throw new WebhookVerificationError('No signature in webhook-signature matches a secret.');
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} must be sent exactly once.`);
}

/** The standard requires at least 192 bits. */
const MIN_SECRET_BYTES = 24;

/** A placeholder or a truncated secret must not verify anything: its key could be guessed. */
async function importSecret(secret: string) {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
  if (!bytes || bytes.length < MIN_SECRET_BYTES)
    throw new ClientError(
      `A webhook secret must be whsec_ followed by base64 of at least ${MIN_SECRET_BYTES} bytes, as the service returned it.`,
    );
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** @returns undefined if the text is not base64 with padding. atob alone would also accept base64 without padding. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
