import type { ReactNode } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { settings } from '../../api/settings.ts';
import { format, nameOfKey, t, tValue } from '../../i18n/index.ts';
import { ResourceLink } from './resources.tsx';

type Resource = Schemas['Resource'];

/** The kind of resource to which each field refers. */
const REFERENCES: Readonly<Record<string, Resource>> = {
  accountId: 'account',
  approvalId: 'approval',
  customerId: 'customer',
  employeeId: 'employee',
  fromAccountId: 'account',
  paymentId: 'payment',
  paymentMethodId: 'payment_method',
  payplanId: 'payplan',
  productId: 'product',
  providerStatementId: 'provider_statement',
  toAccountId: 'account',
  userId: 'user',
};

/** The group of messages for the statuses of a resource. Default: `auditStatus`. */
const STATUS_GROUPS: Readonly<
  Partial<Record<Resource, 'accountStatus' | 'invoiceStatus' | 'paymentStatus'>>
> = {
  account: 'accountStatus',
  invoice: 'invoiceStatus',
  payment: 'paymentStatus',
};

/** The value of a field in an audit entry: amounts with their currency, formatted dates, references as links. */
export function showValue(field: string, value: unknown, resource: Resource): ReactNode {
  if (value === undefined || value === null) return '–';
  if (typeof value === 'boolean') return t(value ? 'audit.yes' : 'audit.no');
  if (typeof value === 'number') {
    const reference = REFERENCES[field];
    if (reference) return <ResourceLink resource={reference} id={value} />;
    if (field === 'rateBasisPoints') return format.rate(value);
    if (field.endsWith('Minor')) return format.money(value / 10 ** settings().currencyDecimals);
    return field.endsWith('Id') ? value : format.number(value);
  }
  if (typeof value === 'string') return textOf(field, value, resource);
  if (Array.isArray(value)) return value.join(', ') || '–';
  const parts = Object.entries(value).map(([key, part]) => `${nameOfKey(key)}: ${plain(part)}`);
  return parts.join(', ') || '–';
}

function textOf(field: string, value: string, resource: Resource): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(value)) return format.date(value);
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value)) return format.dateTime(value);
  switch (field) {
    case 'status':
    case 'state': {
      const group = STATUS_GROUPS[resource];
      return group ? tValue(group, value) : tValue('auditStatus', value);
    }
    case 'action':
      return tValue('approvalAction', value);
    case 'category':
      return nameOfKey(value);
    case 'disabledReason':
      return tValue('disabledReason', value);
    case 'kycStatus':
      return tValue('kycStatus', value);
    case 'matchMethod':
      return tValue('matchMethod', value);
    case 'period':
      return format.month(value, 'long');
    case 'reason':
      return resource === 'payment_request' ? tValue('paymentRequestReason', value) : value;
    case 'verificationType':
      return tValue('verificationType', value);
    case 'role':
      return tValue('role', value);
    case 'frequency':
      return tValue('frequency', value);
    default:
      return value;
  }
}

function plain(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
