import { useMutation } from '@tanstack/react-query';
import { Fragment, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { useWrite } from '../../api/write.ts';
import { t } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Form, FormButtons, SelectField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { useLostFocus } from '../../ui/use-lost-focus.ts';
import { outcomeOf } from '../shared/approval.ts';
import { PlanReasonFields, readPlanReason } from '../shared/deferral-fields.tsx';
import { differencesOf, type Effect, EffectTable, showEffect } from '../shared/plan-effect.tsx';
import { useConnection } from '../shared/use-connection.ts';
import { KINDS, type Kind, usePlanChangeFields } from './plan-change-fields.tsx';

type NewPlanChange = Schemas['NewPlanChange'];

interface ChangePlanDialogProps {
  account: Schemas['Account'];
  /** The date of the next instalment that is not due yet. */
  nextUpcoming: string | undefined;
  onClose(): void;
}

/** Asks what should change, shows the effect, and makes the change only after a confirmation of this effect. */
export function ChangePlanDialog({ account, nextUpcoming, onClose }: ChangePlanDialogProps) {
  const path = { id: account.id };
  const [kind, setKind] = useState<Kind>('deferral');
  const { fields, read } = usePlanChangeFields(account, nextUpcoming, kind);
  const connection = useConnection();
  const [asked, setAsked] = useState<NewPlanChange>();
  const [effects, setEffects] = useState<{ shown: Effect; earlier?: Effect }>();
  const form = useLostFocus<HTMLDivElement>(effects === undefined, 'select');
  const preview = useMutation({ mutationFn: (body: NewPlanChange) => showEffect(account.id, body) });
  const change = useWrite('post', '/api/accounts/{id}/plan-changes');
  const isBusy = preview.isPending || change.isSending;
  const lead = t('account.pay.to', { name: account.customer?.name ?? '', number: account.accountNumber });

  async function show(body: NewPlanChange): Promise<Effect | undefined> {
    const effect = await preview.mutateAsync(body).catch(() => undefined);
    if (effect) setAsked(body);
    return effect;
  }

  const isOutdated = change.problem?.fields.some(({ path: field }) => field.startsWith('confirm.')) ?? false;
  // biome-ignore lint/correctness/useExhaustiveDependencies: Runs once for each refusal.
  useEffect(() => {
    if (!isOutdated || !asked || !effects) return;
    void show(asked).then((now) => now && setEffects({ shown: now, earlier: effects.shown }));
  }, [isOutdated]);

  return (
    <Dialog
      title={t('account.changePlan')}
      lead={lead}
      canClose={!isBusy || connection !== 'ok'}
      onClose={() => {
        change.stop();
        onClose();
      }}
    >
      {/* The form stays, so that its fields keep their values. */}
      <div ref={form} hidden={effects !== undefined}>
        <Form
          problem={problemOf(preview.error)}
          isSending={preview.isPending}
          connection={connection}
          onSubmit={async (values) => {
            const terms = read(values);
            const effect = terms && (await show({ kind, ...terms }));
            if (effect) setEffects({ shown: effect });
          }}
        >
          <SelectField
            label={t('changePlan.kind')}
            name="kind"
            value={kind}
            onChange={({ target }) => {
              preview.reset(); // Its problems are about the fields of the other kind.
              setKind(KINDS.find((one) => one === target.value) ?? 'deferral');
            }}
            hint={t(`changePlan.hint.${kind}`)}
            required
            isFirst
          >
            {KINDS.map((one) => (
              <option key={one} value={one}>
                {t(`changePlan.kind.${one}`)}
              </option>
            ))}
          </SelectField>
          <Fragment key={kind}>{fields}</Fragment>
          <FormButtons submit={t('changePlan.show')} sending={t('changePlan.showing')} onCancel={onClose} />
        </Form>
      </div>
      {asked && effects && (
        <Confirmation
          {...effects}
          problem={isOutdated ? problemOf(preview.error) : change.problem}
          isSending={isBusy}
          onStop={change.stop}
          onBack={() => setEffects(undefined)}
          onConfirm={async (reason) => {
            change.describe(`${t('account.changePlan')}: ${lead}`);
            const { version, paid, effectiveOn } = effects.shown;
            const answer = await change.send({
              params: { path },
              body: { ...asked, ...reason, confirm: { version, paid, effectiveOn } },
            });
            if (!answer) return;
            toast({ text: outcomeOf(answer, t('changePlan.done')) });
            onClose();
          }}
        />
      )}
    </Dialog>
  );
}

interface ConfirmationProps {
  shown: Effect;
  /** The effect that was shown before the account has changed. */
  earlier?: Effect;
  problem: Problem | undefined;
  isSending: boolean;
  onStop(): void;
  onBack(): void;
  onConfirm(reason: Pick<NewPlanChange, 'reason' | 'reasonCode'>): void;
}

/** The effect of the change, and the fields to confirm it. */
function Confirmation(props: ConfirmationProps) {
  const { shown, earlier, problem, isSending, onStop, onBack, onConfirm } = props;
  const box = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: Runs for each new effect.
  useLayoutEffect(() => {
    box.current?.focus({ preventScroll: true }); // A screen reader then reads the effect.
    box.current?.closest('dialog')?.scrollTo(0, 0);
  }, [shown]);
  return (
    <>
      <div ref={box} tabIndex={-1} className="effect-box">
        {earlier && (
          <Notice tone="warning" title={t('changePlan.outdated')}>
            {differencesOf(earlier, shown).map(({ name, before, now }) => (
              <p key={name}>
                {t('changePlan.difference', {
                  name: t(name),
                  before: before.join(', '),
                  now: now.join(', '),
                })}
              </p>
            ))}
          </Notice>
        )}
        <EffectTable effect={shown} />
        {shown.after.restructured && !shown.before.restructured && (
          <p className="muted">{t('changePlan.restructured')}</p>
        )}
        {shown.needsApproval && <Notice tone="info">{t('changePlan.needsApproval')}</Notice>}
      </div>
      <Form
        problem={problem}
        isSending={isSending}
        connection={useConnection()}
        onStop={onStop}
        onSubmit={(values) => onConfirm(readPlanReason(values))}
      >
        <PlanReasonFields />
        <FormButtons
          submit={t(shown.needsApproval ? 'changePlan.send' : 'changePlan.submit')}
          onCancel={onBack}
          cancel={t('action.back')}
        />
      </Form>
    </>
  );
}
