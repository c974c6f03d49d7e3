import { type Context, today } from '../../core/context.ts';
import { actorOf } from '../../core/http/access.ts';
import type { Api } from '../../core/http/api.ts';
import { Envelope, ListEnvelope, ok } from '../../core/http/envelope.ts';
import { IdParams } from '../../core/http/fields.ts';
import { answerOnce } from '../../core/http/idempotency.ts';
import { Approval } from '../../staff/approvals/schema.ts';
import { SENT_FOR_APPROVAL, sentForApproval } from '../../staff/approvals/view.ts';
import { formatAccountNumber } from '../account-number-rules.ts';
import { getAccountRow } from '../store.ts';
import { changePlan } from './change-plan.ts';
import { NewPlanChange, PlanChange, planChangeList, ShownPlanChange } from './schema.ts';
import { listPlanChanges } from './store.ts';
import { planChangesFound, toPlanChange, toShownPlanChange } from './view.ts';

export function planChangeRoutes(api: Api, context: Context): void {
  const { db, currency } = context;

  api.post(
    '/accounts/:id/plan-changes',
    {
      config: { access: 'accounts:change-plan', errors: ['NOT_FOUND', 'DUPLICATE_ENTRY'], repeatable: true },
      schema: {
        tags: ['Accounts'],
        operationId: 'changePlan',
        summary: 'Show or make a change of a plan',
        description:
          'Without `confirm`, nothing is changed: the answer (200) shows the account before and after the change, with `version` and `paid`. ' +
          'The same request with these two in `confirm` makes the change (201). If another change was made in between, or money was posted ' +
          'on which the effect depends, the answer is VALIDATION_ERROR with status 409, and nothing is done. ' +
          'A change takes effect today. If the price changes by more than APPROVAL_LIMIT or, for a change that keeps the price, the unpaid ' +
          'balance is above it, the request is sent for approval (202), and takes effect on the day of the approval.',
        params: IdParams,
        body: NewPlanChange,
        response: {
          200: Envelope(ShownPlanChange, 'Effect of the change.'),
          201: Envelope(PlanChange, 'Plan changed.'),
          202: Envelope(Approval, SENT_FOR_APPROVAL),
        },
      },
    },
    async (request, reply) => {
      const answer = async (txContext: Context) => {
        const actor = actorOf(request);
        const outcome = await changePlan(txContext, actor, request.params.id, request.body);
        if ('shown' in outcome) {
          const { account, effect } = outcome.shown;
          return ok(toShownPlanChange(account, effect, currency, today(context)), 'Effect of the change.');
        }
        reply.status('done' in outcome ? 201 : 202);
        return 'done' in outcome
          ? ok(toPlanChange(actor, outcome.done, currency), 'Plan changed.')
          : sentForApproval(actor, outcome.requested, currency, formatAccountNumber);
      };
      // What a change would do depends on the account, so a stored answer would be wrong.
      return request.body.confirm ? answerOnce(context, request, reply, answer) : answer(context);
    },
  );

  api.get(
    '/accounts/:id/plan-changes',
    {
      config: { access: 'accounts:read', errors: ['NOT_FOUND'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'listAccountPlanChanges',
        summary: 'List the changes of an account’s plan',
        description: 'Each change has the terms before and after it, and who made it, when and why.',
        params: IdParams,
        querystring: planChangeList.query,
        response: { 200: ListEnvelope(PlanChange, 'Changes of plans found.') },
      },
    },
    async (request) => {
      const { id } = request.params;
      await getAccountRow(db, id);
      return planChangesFound(actorOf(request), await listPlanChanges(db, request.query, id), currency);
    },
  );

  api.get(
    '/plan-changes',
    {
      config: { access: 'accounts:read' },
      schema: {
        tags: ['Accounts'],
        operationId: 'listPlanChanges',
        summary: 'List the changes of plans',
        description:
          'To list the deferrals of a day, use `filter[kind]=deferral` and `filter[effectiveOn]`. `undone` is true for changes that are undone.',
        querystring: planChangeList.query,
        response: { 200: ListEnvelope(PlanChange, 'Changes of plans found.') },
      },
    },
    async (request) => planChangesFound(actorOf(request), await listPlanChanges(db, request.query), currency),
  );
}
