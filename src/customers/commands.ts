import { event } from '../changes/events/change-rules.ts';
import { audit } from '../changes/events/change-store.ts';
import type { Actor, Context } from '../core/context.ts';
import { settleAll } from '../core/database/batching.ts';
import { inTransaction } from '../core/database/transactions.ts';
import { namesWith, newValuesOf } from '../core/declared-fields.ts';
import { notFound } from '../core/http/errors.ts';
import { externalFieldsOf, upsertByExternalId } from '../core/http/external-ids.ts';
import { refuseSpreadsheetChange, requireChangedPhone } from '../core/http/validation.ts';
import { withTrimmed } from '../core/values/text.ts';
import { requireAll } from '../rights.ts';
import { isOtherIdentity } from './rules.ts';
import { type CustomerChanges, type CustomerUpsert, customerFields, type NewCustomer } from './schema.ts';
import {
  forgetPhone,
  insertCustomer,
  lockCustomer,
  requireFree,
  setKycStatus,
  updateCustomer,
} from './store.ts';

export async function createCustomer(context: Context, actor: Actor, body: NewCustomer) {
  const fields = fieldsOf(context, body);
  return inTransaction(context.db, async (tx) => {
    const customer = await insertCustomer(tx, fields);
    await forgetPhone(tx, customer.phone, customer.id);
    await audit(tx, actor, {
      action: 'customer.create',
      resource: 'customer',
      resourceId: customer.id,
      after: fields,
      event: event('customer.created', {}),
    });
    return customer;
  });
}

function fieldsOf({ config }: Context, sent: NewCustomer) {
  const body = withTrimmed(sent, ...namesWith(customerFields, 'trimmed'));
  // The body of a PUT by external id also allows a stored national id.
  refuseSpreadsheetChange('nationalId', body.nationalId, null);
  return {
    ...newValuesOf(customerFields, body),
    email: body.email ?? null,
    phone: requireChangedPhone(body.phone, null, config.PHONE_REGION),
    secondPhone: secondPhoneOf(body.secondPhone, null, config.PHONE_REGION),
    nationalId: body.nationalId ?? null,
    externalId: null,
    metadata: {},
    ...externalFieldsOf(body),
  };
}

function secondPhoneOf(
  sent: string | null | undefined,
  stored: string | null,
  region: string,
): string | null {
  return sent === undefined || sent === null
    ? null
    : requireChangedPhone(sent, stored, region, 'secondPhone');
}

/**
 * Checks whether the customer could be created now.
 * @returns the fields as they would be stored.
 */
export async function checkCustomer(context: Context, body: NewCustomer) {
  const fields = fieldsOf(context, body);
  await requireFree(context.db, fields);
  return fields;
}

/** Creates customers in one transaction. If one is refused, none is created. */
export function createCustomers(context: Context, actor: Actor, bodies: readonly NewCustomer[]) {
  return inTransaction(context.db, (tx) =>
    settleAll(bodies.map((body) => createCustomer({ ...context, db: tx }, actor, body))),
  );
}

/** Changes only the given fields. Null removes an e-mail, a national id or an external id. */
export async function changeCustomer(context: Context, actor: Actor, id: number, sent: CustomerChanges) {
  const body = withTrimmed(sent, ...namesWith(customerFields, 'trimmed'));
  return inTransaction(context.db, async (tx) => {
    const before = await lockCustomer(tx, id);
    if (!before) throw notFound('customer', id);
    refuseSpreadsheetChange('nationalId', body.nationalId, before.nationalId);
    refuseSpreadsheetChange('externalId', body.externalId, before.externalId);
    const changes = {
      ...body,
      ...externalFieldsOf(body),
      ...(body.phone !== undefined && {
        phone: requireChangedPhone(body.phone, before.phone, context.config.PHONE_REGION),
      }),
      ...(body.secondPhone !== undefined && {
        secondPhone: secondPhoneOf(body.secondPhone, before.secondPhone, context.config.PHONE_REGION),
      }),
    };
    const after = { ...before, ...changes };
    // The documents prove the earlier name and national id.
    const needsReview = before.kycStatus === 'verified' && isOtherIdentity(before, after);
    if (needsReview) await setKycStatus(tx, id, { kycStatus: 'verified', kycReviewPending: true });
    const customer = await updateCustomer(tx, id, after);
    if (customer.phone !== before.phone) {
      await forgetPhone(tx, before.phone, null);
      await forgetPhone(tx, customer.phone, id);
    }
    await audit(tx, actor, {
      action: 'customer.change',
      resource: 'customer',
      resourceId: id,
      before,
      after: { ...changes, ...(needsReview && { kycReviewPending: true }) },
      event: event('customer.updated', { changedFields: Object.keys(body) }),
    });
    return customer;
  });
}

/**
 * Creates the customer with an external id, or changes the given fields if the customer exists.
 * @throws AppError FORBIDDEN if the customer does not exist and the actor is not allowed to create customers.
 */
export function upsertCustomer(context: Context, actor: Actor, externalId: string, body: CustomerUpsert) {
  return upsertByExternalId(context.db, 'customer', externalId, {
    create: (tx) => {
      requireAll(actor, ['customers:create']);
      return createCustomer({ ...context, db: tx }, actor, { ...body, externalId });
    },
    change: (tx, id) => changeCustomer({ ...context, db: tx }, actor, id, body),
  });
}
