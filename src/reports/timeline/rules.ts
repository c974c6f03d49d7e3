import type { Resource } from '../../core/http/errors.ts';
import { mayDo, type Permission, type Rights } from '../../rights.ts';

/**
 * The kinds of entries of a timeline: the permissions that a reader needs to see them, and the resource to which they refer. A new kind
 * needs a line here, a branch in store.ts, and a name in the console.
 */
export const TIMELINE_KINDS = {
  payment: { needs: ['payments:read'], resource: 'payment' },
  reversal: { needs: ['payments:read'], resource: 'payment' },
  payment_request: { needs: ['payment-requests:read'], resource: 'payment_request' },
  credit_move: { needs: ['accounts:read'], resource: 'account' },
  status: { needs: ['accounts:read'], resource: 'account' },
  plan_change: { needs: ['accounts:read'], resource: 'account' },
  approval_request: { needs: ['approvals:read'], resource: 'approval' },
  approval_end: { needs: ['approvals:read'], resource: 'approval' },
  invoice: { needs: ['invoices:read'], resource: 'invoice' },
  invoice_void: { needs: ['invoices:read'], resource: 'invoice' },
  call: { needs: ['calls:read'], resource: 'call' },
  note: { needs: ['notes:read'], resource: 'note' },
  identity_check: { needs: ['kyc:read'], resource: 'customer' },
  // The old and new values of fields are for those who may change the fields.
  customer_change: { needs: ['customers:read', 'customers:change'], resource: 'customer' },
  account_change: { needs: ['accounts:change-status'], resource: 'account' },
} as const satisfies Record<string, { needs: readonly Permission[]; resource: Resource }>;

export type TimelineKind = keyof typeof TIMELINE_KINDS;

export const KIND_NAMES = Object.keys(TIMELINE_KINDS) as TimelineKind[];

/** The kinds that the reader may see. */
export function visibleKinds(reader: Rights): TimelineKind[] {
  return KIND_NAMES.filter((kind) => TIMELINE_KINDS[kind].needs.every((needed) => mayDo(reader, needed)));
}

export interface FieldChange {
  field: string;
  before: string | null;
  after: string | null;
}

/** Not fields of the resource: an audit entry has them if another user approved the change. */
const NOT_FIELDS = ['approvalId', 'requestedBy'];

/** The fields that an audit entry changed. Values that are no text are written as JSON. */
export function changesOf(
  before: Readonly<Record<string, unknown>> | null,
  after: Readonly<Record<string, unknown>> | null,
): FieldChange[] {
  return Object.keys(after ?? {})
    .filter((field) => !NOT_FIELDS.includes(field))
    .map((field) => ({ field, before: asText(before?.[field]), after: asText(after?.[field]) }))
    .filter((change) => change.before !== change.after);
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
