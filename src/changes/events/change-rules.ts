import type { Actor } from '../../core/context.ts';
import type { Resource } from '../../core/http/errors.ts';
import { type EventData, type EventType, versionOf } from './catalogue-schema.ts';
import type { AuditAction } from './change-schema.ts';

// Every change is published as one event. A change that does not follow from another change is also recorded by one audit entry.

/** An event to publish. Make it with `event`. */
export interface NewEvent {
  type: EventType;
  data: object;
  /** Set for a change of an account's money or status. Without `version`, the ledger sets the version. */
  account?: { id: number; version?: number };
}

export function event<T extends EventType>(
  type: T,
  data: EventData<T>,
  account?: NewEvent['account'],
): NewEvent {
  return { type, data, ...(account && { account }) };
}

/** The subject of a derived event. All other events have the subject of their audit entry. */
export interface Subject {
  resource: Resource;
  resourceId: number | null;
}

/** A change to write: its event, and its audit entry if it has one. */
export interface ChangeRow {
  actor_user_id: number | null;
  api_key_id: number | null;
  actor: string;
  /** Null for a derived event. */
  action: AuditAction | null;
  resource: Resource;
  resource_id: number | null;
  before: object | null;
  after: object | null;
  request_id: string | null;
  type: EventType;
  version: number;
  account_id: number | null;
  account_version: number | null;
  data: object;
}

/** The row of a derived event. */
export function eventRow(
  actor: Pick<Actor, 'userId' | 'apiKey' | 'name' | 'requestId'>,
  { resource, resourceId }: Subject,
  { type, data, account }: NewEvent,
): ChangeRow {
  return {
    actor_user_id: actor.userId,
    api_key_id: actor.apiKey?.id ?? null,
    actor: actor.name,
    action: null,
    resource,
    resource_id: resourceId,
    before: null,
    after: null,
    request_id: actor.requestId,
    type,
    version: versionOf(type),
    account_id: account?.id ?? null,
    account_version: account?.version ?? null,
    data,
  };
}

export interface NewAuditEntry {
  action: AuditAction;
  resource: Resource;
  resourceId: number | null;
  /** The fields before the change; absent for a new resource. Only fields that are also in `after` are stored. */
  before?: object;
  after: object;
  /** The event that publishes the change. */
  event: NewEvent;
}

/** The row of a change that has an audit entry. */
export function auditRow(
  actor: Actor,
  { action, resource, resourceId, before, after, event }: NewAuditEntry,
): ChangeRow {
  const { approval } = actor;
  return {
    ...eventRow(actor, { resource, resourceId }, event),
    action,
    before: before ? partOf(before, after) : null,
    after: approval ? { ...after, approvalId: approval.id, requestedBy: approval.requestedBy } : after,
  };
}

/** The fields of `whole` that `keys` also has. */
function partOf(whole: object, keys: object): object {
  const values = new Map(Object.entries(whole));
  return Object.fromEntries(Object.keys(keys).map((key) => [key, values.get(key)]));
}
