import { createHmac, randomBytes } from 'node:crypto';

/** Signed messages as specified by https://www.standardwebhooks.com, version 1.0, with symmetric signatures. */

const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';

export interface Message {
  /**
   * The id is the same for every attempt to deliver the message, so that the receiver can recognize a repeat. It must not contain
   * a dot.
   */
  id: string;
  /** The time of sending. */
  time: Date;
  body: string;
}

export function newSigningSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The form in which the standard shows a secret. */
export function secretText(secret: Buffer): string {
  return `${SECRET_PREFIX}${secret.toString('base64')}`;
}

/** @param secrets one signature is made with each secret. The receiver accepts a message if one signature is correct. */
export function signatureOf({ id, time, body }: Message, secrets: readonly Buffer[]): string {
  const signed = `${id}.${unixSeconds(time)}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
    .join(' ');
}

export function messageHeaders({ id, time }: Omit<Message, 'body'>, signature: string) {
  return {
    'content-type': 'application/json',
    'user-agent': 'account-management-service',
    'webhook-id': id,
    'webhook-timestamp': String(unixSeconds(time)),
    'webhook-signature': signature,
  };
}

function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
