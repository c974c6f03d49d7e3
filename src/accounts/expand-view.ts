import { findExpandedProducts } from '../catalogue/products/store.ts';
import { type Actor, type Context, today } from '../core/context.ts';
import type { Db } from '../core/database/db.ts';
import { type ChoiceText, choicesOf } from '../core/http/fields.ts';
import { findExpandedCustomers } from '../customers/store.ts';
import { mayDo, type Permission, requireAll } from '../rights.ts';
import { findPendingApprovals } from '../staff/approvals/store.ts';
import { pendingApprovalsOf } from '../staff/approvals/view.ts';
import { formatAccountNumber } from './account-number-rules.ts';
import type { AccountExpansion, AccountOrCustomer, ExpandedAccount } from './schema.ts';
import { findExpandableAccounts, type ShownAccountRow } from './store.ts';
import { toAccount } from './view.ts';

// Finds the resources that `expand` adds to answers, with at most one SQL statement for each kind of resource.

const NEEDED: Record<AccountExpansion | AccountOrCustomer, Permission> = {
  account: 'accounts:read',
  customer: 'customers:read',
  product: 'catalogue:read',
};

/** @throws AppError FORBIDDEN if the actor is not allowed to read one of the chosen resources. */
function permittedChoices<T extends keyof typeof NEEDED>(
  actor: Actor,
  expand: ChoiceText<T> | undefined,
): ReadonlySet<T> {
  const wanted = choicesOf(expand);
  requireAll(
    actor,
    [...wanted].map((kind) => NEEDED[kind]),
  );
  return wanted;
}

/** Adds customers and products to accounts. @throws AppError FORBIDDEN if the actor is not allowed to read them. */
export async function expandAccounts<A extends { customerId: number; productId: number }>(
  db: Db,
  actor: Actor,
  accounts: readonly A[],
  expand: ChoiceText<AccountExpansion> | undefined,
) {
  const wanted = permittedChoices(actor, expand);
  if (wanted.size === 0) return [...accounts];
  const [customers, products] = await Promise.all([
    wanted.has('customer')
      ? findExpandedCustomers(db, idsOf(accounts.map(({ customerId }) => customerId)))
      : undefined,
    wanted.has('product')
      ? findExpandedProducts(db, idsOf(accounts.map(({ productId }) => productId)))
      : undefined,
  ]);
  return accounts.map((account) => {
    const customer = customers?.get(account.customerId);
    const product = products?.get(account.productId);
    return { ...account, ...(customer && { customer }), ...(product && { product }) };
  });
}

/** One account as the answer that reads it by its id: with its pending approvals, if the actor may read them. */
export async function showAccount(
  context: Context,
  actor: Actor,
  row: ShownAccountRow,
  expand: ChoiceText<AccountExpansion> | undefined,
) {
  const { db, currency } = context;
  const account = toAccount(row, currency, today(context));
  const [[expanded = account], approvals] = await Promise.all([
    expandAccounts(db, actor, [account], expand),
    mayDo(actor, 'approvals:read') ? findPendingApprovals(db, { accountId: row.id }) : [],
  ]);
  return { ...expanded, ...pendingApprovalsOf(approvals) };
}

/**
 * Adds the account and the customer of each row. Both are null for a row without an account.
 * @throws AppError FORBIDDEN if the actor is not allowed to read accounts or customers.
 */
export async function expandAccountsOf<R extends { accountId: number | null }>(
  db: Db,
  actor: Actor,
  rows: readonly R[],
  expand: ChoiceText<AccountOrCustomer> | undefined,
) {
  const wanted = permittedChoices(actor, expand);
  if (wanted.size === 0) return [...rows];
  const ids = idsOf(rows.flatMap(({ accountId }) => accountId ?? []));
  const found = new Map((await findExpandableAccounts(db, ids)).map((row) => [row.id, row]));
  return rows.map((row) => {
    const account = row.accountId === null ? undefined : found.get(row.accountId);
    return {
      ...row,
      ...(wanted.has('account') && { account: account ? accountOf(account) : null }),
      ...(wanted.has('customer') && { customer: account ? customerOf(account) : null }),
    };
  });
}

type ExpandableAccount = Awaited<ReturnType<typeof findExpandableAccounts>>[number];

function accountOf(row: ExpandableAccount): ExpandedAccount {
  return {
    id: row.id,
    accountNumber: formatAccountNumber(row.id),
    status: row.status,
    customerId: row.customer_id,
    productId: row.product_id,
    externalId: row.external_id,
  };
}

function customerOf(row: ExpandableAccount) {
  return { id: row.customer_id, name: row.customer_name, phone: row.customer_phone };
}

function idsOf(ids: readonly number[]): number[] {
  return [...new Set(ids)];
}
