import { messageHeaders } from '../../platform/outbound/standard-webhooks.ts';
import type { WebhookDelivery } from './delivery-schema.ts';
import type { StoredDelivery } from './delivery-store.ts';

/** A delivery with the headers that were sent. */
export function toDelivery({ messageId, signature, ...delivery }: StoredDelivery): WebhookDelivery {
  const message = { id: messageId, time: new Date(delivery.createdAt) };
  return { ...delivery, requestHeaders: messageHeaders(message, signature) };
}
