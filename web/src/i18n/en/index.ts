import { account } from './account.ts';
import { accounts } from './accounts.ts';
import { apiKeys } from './api-keys.ts';
import { approvals } from './approvals.ts';
import { audit } from './audit.ts';
import { calls } from './calls.ts';
import { cash } from './cash.ts';
import { commissionRules } from './commission-rules.ts';
import { commissions } from './commissions.ts';
import { core } from './core.ts';
import { customer } from './customer.ts';
import { customers } from './customers.ts';
import { employees } from './employees.ts';
import { find } from './find.ts';
import { imports } from './imports.ts';
import { invoice } from './invoice.ts';
import { invoices } from './invoices.ts';
import { payPlans } from './pay-plans.ts';
import { payment } from './payment.ts';
import { paymentMethods } from './payment-methods.ts';
import { payments } from './payments.ts';
import { planChanges } from './plan-changes.ts';
import { portfolio } from './portfolio.ts';
import { products } from './products.ts';
import { providerStatements } from './provider-statements.ts';
import { sale } from './sale.ts';
import { seller } from './seller.ts';
import { today } from './today.ts';
import { unmatched } from './unmatched.ts';
import { users } from './users.ts';
import { webhooks } from './webhooks.ts';

/** All messages. Only types and tests use this object. For each file of this folder, ../sw has a file with the same name. */
export const en = {
  ...core,
  ...account,
  ...accounts,
  ...apiKeys,
  ...approvals,
  ...audit,
  ...cash,
  ...calls,
  ...commissionRules,
  ...commissions,
  ...customer,
  ...customers,
  ...employees,
  ...find,
  ...imports,
  ...invoice,
  ...invoices,
  ...payPlans,
  ...payment,
  ...paymentMethods,
  ...payments,
  ...planChanges,
  ...portfolio,
  ...products,
  ...providerStatements,
  ...sale,
  ...seller,
  ...today,
  ...unmatched,
  ...users,
  ...webhooks,
} as const;

/** The messages of one language. */
export type Catalogue = Readonly<Record<keyof typeof en, string>>;
