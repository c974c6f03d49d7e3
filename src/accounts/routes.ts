import type { ConcurrencyLimit } from '../core/concurrency-limit.ts';
import { type Actor, type Context, today } from '../core/context.ts';
import type { Tx } from '../core/database/db.ts';
import type { SnapshotReads } from '../core/database/snapshot-reads.ts';
import { actorOf, callerOf } from '../core/http/access.ts';
import type { Api } from '../core/http/api.ts';
import { bulkRoute, createMissing } from '../core/http/bulk.ts';
import { Envelope, ListEnvelope, ListWithTotals, ok, okList } from '../core/http/envelope.ts';
import { ifUnchanged } from '../core/http/etags.ts';
import { externalIdRoutes } from '../core/http/external-id-routes.ts';
import { type ChoiceText, IdParams } from '../core/http/fields.ts';
import { answerOnce } from '../core/http/idempotency.ts';
import { totalsOf, withSlowTotals } from '../core/lists/totals.ts';
import { Approval } from '../staff/approvals/schema.ts';
import { SENT_FOR_APPROVAL, sentForApproval } from '../staff/approvals/view.ts';
import { formatAccountNumber } from './account-number-rules.ts';
import { changeAccount } from './change-account.ts';
import { expandAccounts, showAccount } from './expand-view.ts';
import { lockAccounts } from './ledger/store.ts';
import { openAccount, openAccounts } from './open-account.ts';
import {
  Account,
  AccountChanges,
  type AccountExpansion,
  AccountQuery,
  AccountSchedule,
  AccountTotals,
  accountList,
  NewAccount,
  NewAccounts,
  OpenedAccounts,
  StatusChange,
  statusChangeList,
} from './schema.ts';
import { ACCOUNT_STATUSES, needsReason } from './status/rules.ts';
import { listStatusChanges } from './status/store.ts';
import { getAccountRow, getShownAccountRow, listAccounts, type ShownAccountRow } from './store.ts';
import { searchOf, toAccount, toSchedule } from './view.ts';

export interface AccountParts {
  /** For opening many accounts. */
  slots: ConcurrencyLimit;
  /** For totals. */
  summaries: SnapshotReads;
}

export function accountRoutes(api: Api, context: Context, { slots, summaries }: AccountParts): void {
  const toAnswer = (row: ShownAccountRow) => toAccount(row, context.currency, today(context));

  async function read(actor: Actor, id: number, expand?: ChoiceText<AccountExpansion>) {
    const row = await getShownAccountRow(context.db, id);
    return ok(await showAccount(context, actor, row, expand), 'Account found.');
  }

  api.get(
    '/accounts',
    {
      config: { access: 'accounts:read', totalsTimeoutMs: context.config.limits.summaryMs },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccounts',
        summary: 'List accounts',
        querystring: accountList.query,
        response: { 200: ListWithTotals(Account, 'Accounts found.', AccountTotals) },
      },
    },
    async (request) => {
      const day = today(context);
      const search = searchOf(context, actorOf(request), request.query);
      const plan = withSlowTotals(request.query, summaries, callerOf(request));
      const page = await listAccounts(context.db, plan, day, search);
      const rows = await expandAccounts(
        context.db,
        actorOf(request),
        page.rows.map((row) => toAccount(row, context.currency, day)),
        request.query.expand,
      );
      return okList({ ...page, rows, ...totalsOf(page, context.currency) }, 'Accounts found.');
    },
  );

  api.post(
    '/accounts',
    {
      config: { access: 'accounts:create', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'openAccount',
        summary: 'Open an account',
        description:
          'The account is pending until its activation date (default: today), and then active. To repeat the request safely, send an ' +
          'Idempotency-Key or an `externalId`. If an account already has this `externalId`, the answer is DUPLICATE_ENTRY with the id of ' +
          'the account in details. There is no PUT by external id.',
        body: NewAccount,
        response: { 201: Envelope(Account, 'Account created.') },
      },
    },
    async (request, reply) =>
      answerOnce(context, request, reply, async (txContext) => {
        const account = await openAccount(txContext, actorOf(request), request.body);
        reply.status(201);
        return ok(toAnswer(account), 'Account created.');
      }),
  );

  bulkRoute(api, context, slots, '/accounts/bulk', {
    access: 'accounts:create',
    tag: 'Accounts',
    operationId: 'openAccounts',
    summary: 'Open up to 1,000 accounts',
    item: NewAccount,
    body: NewAccounts,
    answer: OpenedAccounts,
    create: (actor, items, key) =>
      createMissing(context, 'account', items, key, async (txContext, bodies) =>
        (await openAccounts(txContext, actor, bodies)).map(toAnswer),
      ),
  });

  api.get(
    '/accounts/:id',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'], editable: AccountChanges },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccount',
        summary: 'Get an account, its balance and lateness',
        params: IdParams,
        querystring: AccountQuery,
        response: { 200: Envelope(Account, 'Account found.') },
      },
    },
    async (request) => read(actorOf(request), request.params.id, request.query.expand),
  );

  api.get(
    '/accounts/:id/schedule',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'getAccountSchedule',
        summary: 'Get the schedule of an account',
        description:
          'The deposit and all instalments, with the paid part of each. Payments are applied in the order of this list.',
        params: IdParams,
        response: { 200: Envelope(AccountSchedule, 'Schedule found.') },
      },
    },
    async (request) => {
      const account = await getShownAccountRow(context.db, request.params.id);
      return ok(toSchedule(account, context.currency, today(context)), 'Schedule found.');
    },
  );

  api.put(
    '/accounts/:id',
    {
      config: {
        access: 'accounts:change-status',
        errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'],
        editable: AccountChanges,
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'updateAccount',
        summary: 'Change an account’s status, external id or metadata',
        description:
          `A reason is required for the statuses ${ACCOUNT_STATUSES.filter(needsReason).join(', ')}. ` +
          'A status change that is not allowed gets VALIDATION_ERROR with details {from, to, allowed}. ' +
          'A write-off or cancellation of a balance above APPROVAL_LIMIT is sent for approval (202).',
        params: IdParams,
        body: AccountChanges,
        response: {
          200: Envelope(Account, 'Account changed.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) => {
      const lock = async (tx: Tx, id: number) => {
        const row = (await lockAccounts(tx, [id])).get(id);
        return row && { ...row, reason: row.status_reason, externalId: row.external_id };
      };
      const outcome = await ifUnchanged(context, request, lock, (txContext) =>
        changeAccount(txContext, actorOf(request), request.params.id, request.body),
      );
      if ('done' in outcome) return ok(toAnswer(outcome.done), 'Account changed.');
      reply.status(202);
      return sentForApproval(actorOf(request), outcome.requested, context.currency, formatAccountNumber);
    },
  );

  api.get(
    '/accounts/:id/history',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccountStatusChanges',
        summary: 'List the status changes of an account',
        description: 'Each change shows who made it, when and why.',
        params: IdParams,
        querystring: statusChangeList.query,
        response: { 200: ListEnvelope(StatusChange, 'Status changes found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      await getAccountRow(context.db, id);
      return okList(await listStatusChanges(context.db, request.query, id), 'Status changes found.');
    },
  );

  externalIdRoutes(api, context, 'account', {
    answer: Account,
    example: 'LOAN-2001',
    access: 'accounts:read',
    editable: AccountChanges,
    query: AccountQuery,
    read: (id, actor, { expand }) => read(actor, id, expand),
  });
}
