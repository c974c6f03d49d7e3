import { auditRow, event } from '../../changes/events/change-rules.ts';
import { writeChanges } from '../../changes/events/change-store.ts';
import type { Actor, Context } from '../../core/context.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { invalidField, notFound } from '../../core/http/errors.ts';
import { mayDo } from '../../rights.ts';
import { findUser } from '../../staff/users/store.ts';
import type { NewAssignment } from './schema.ts';
import { assign, findMissingAccounts } from './store.ts';

/** Assigns accounts to the user who is to call their customers. @returns the number of accounts whose assignee changed. */
export async function assignAccounts(context: Context, actor: Actor, { accountIds, userId }: NewAssignment) {
  return inTransaction(context.db, async (tx) => {
    if (userId !== null) {
      const user = await findUser(tx, userId);
      if (!user) throw notFound('user', userId, 'userId');
      if (!user.active || !mayDo({ role: user.role }, 'calls:record')) {
        throw invalidField('userId', 'must be an active user who may record calls');
      }
    }
    const [missing] = await findMissingAccounts(tx, accountIds);
    if (missing !== undefined) throw notFound('account', missing, 'accountIds');
    const changed = await assign(tx, accountIds, userId);
    await writeChanges(
      tx,
      changed.map(({ id, before }) =>
        auditRow(actor, {
          action: 'account.assign',
          resource: 'account',
          resourceId: id,
          before: { assigneeId: before },
          after: { assigneeId: userId },
          event: event('account.assigned', { userId }),
        }),
      ),
    );
    return { changed: changed.length };
  });
}
