import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Permission, Schemas } from '../../api/paths.ts';
import { may } from '../../api/session.ts';
import { tValue } from '../../i18n/index.ts';

type Resource = Schemas['Resource'];
/** The resources that have no audit entries. */
type Unaudited =
  | 'balance_gap'
  | 'configuration'
  | 'identity'
  | 'identity_provider'
  | 'promise'
  | 'proof'
  | 'provider'
  | 'refund'
  | 'request'
  | 'webhook_delivery';

interface ResourcePage {
  permission: Permission;
  hrefOf(id: number): string;
}

const detail = (path: string, permission: Permission): ResourcePage => ({
  permission,
  hrefOf: (id) => `${path}/${id}`,
});
/** The dialog of a row in a list. */
const dialog = (path: string, permission: Permission): ResourcePage => ({
  permission,
  hrefOf: (id) => `${path}?open=${id}`,
});

/** The page or dialog of each resource; null if the console has neither. */
const PAGES: Record<Exclude<Resource, Unaudited>, ResourcePage | null> = {
  account: detail('/accounts', 'accounts:read'),
  api_key: dialog('/api-keys', 'api-keys:administer'),
  approval: dialog('/approvals', 'approvals:read'),
  bulk_deferral: detail('/plan-changes/many', 'accounts:read'),
  cash_count: null,
  cash_handover: null,
  cash_settlement: null,
  call: null,
  commission: dialog('/commissions', 'commissions:read-own'),
  commission_rule: null,
  customer: detail('/customers', 'customers:read'),
  employee: dialog('/employees', 'catalogue:write'),
  import: detail('/imports', 'imports:run'),
  invitation: dialog('/invitations', 'users:administer'),
  invoice: detail('/invoices', 'invoices:read'),
  list: null,
  note: null,
  notification: null,
  payment: detail('/payments', 'payments:read'),
  payment_method: dialog('/payment-methods', 'catalogue:write'),
  payment_request: null,
  payplan: dialog('/pay-plans', 'catalogue:write'),
  product: detail('/products', 'catalogue:read'),
  provider_statement: detail('/statements', 'reconciliations:read'),
  reconciliation: null,
  status_query: null,
  user: dialog('/users', 'users:administer'),
  webhook_endpoint: detail('/webhook-endpoints', 'webhook-endpoints:administer'),
};

export const AUDITED = Object.keys(PAGES) as (keyof typeof PAGES)[];

/** The name and the id of a resource, as a link if the user may open its page or dialog. */
export function ResourceLink({ resource, id }: { resource: Resource; id: number | null }): ReactNode {
  const text = `${tValue('resource', resource)} ${id ?? ''}`;
  const page = resource in PAGES ? PAGES[resource as keyof typeof PAGES] : null;
  if (!page || id === null || !may(page.permission)) return text;
  return <Link href={page.hrefOf(id)}>{text}</Link>;
}
