import { amountOf, type Currency } from '../../core/context.ts';
import { shownName } from './rules.ts';
import type { Event } from './schema.ts';
import type { EventRow } from './store.ts';

/** An event as the feed shows it. Amounts are stored in minor units, under names that end with `Minor`. */
export function toEvent(row: EventRow, currency: Currency): Event {
  return {
    id: row.id,
    type: row.type,
    version: row.version,
    resource: row.resource,
    resourceId: row.resource_id,
    accountId: row.account_id,
    accountVersion: row.account_version,
    actor: row.actor,
    userId: row.actor_user_id,
    apiKeyId: row.api_key_id,
    requestId: row.request_id,
    createdAt: row.created_at,
    data: inUnits(row.data as object, currency),
  };
}

function inUnits(data: object, currency: Currency): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]: [string, unknown]) =>
      name.endsWith('Minor')
        ? [shownName(name), typeof value === 'number' ? amountOf(value, currency) : null]
        : [name, value],
    ),
  );
}
