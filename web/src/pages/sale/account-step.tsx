import { useState } from 'react';
import { explain } from '../../api/explain.ts';
import { settings } from '../../api/settings.ts';
import { format, t } from '../../i18n/index.ts';
import { Empty, Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { DateField, Form, FormButtons } from '../../ui/form.tsx';
import { useIsWaiting } from '../shared/use-is-waiting.ts';
import { describePlan, plansFor, totalOf, useCatalogue } from './catalogue.ts';
import { type FieldName, keepTyped, type StepProps } from './sales.ts';

/** What is sold, and on which terms. */
export function AccountStep({ sale, onDone, onBack }: StepProps) {
  const { typed, parts } = sale;
  const { products, plans } = useCatalogue();
  const [isIncomplete, setIsIncomplete] = useState(false);
  return (
    <Form
      problem={parts.account.problem}
      isSending={false}
      onSubmit={() => {
        const isComplete = typed.productId !== undefined && typed.payplanId !== undefined;
        setIsIncomplete(!isComplete);
        if (isComplete) onDone();
      }}
    >
      <Loaded
        query={products}
        explain={explain}
        skeleton={<Missing text={t('sale.products.notLoaded')} isAsked={isIncomplete} />}
      >
        {({ data }) => (
          <Options
            legend={t('account.product')}
            name="productId"
            chosen={typed.productId}
            onChoose={(productId) => keepTyped(sale.id, { productId, payplanId: undefined })}
            problem={isIncomplete && !typed.productId ? t('sale.product.missing') : undefined}
            options={data.map(({ id, name, description, price }) => ({
              id,
              title: name,
              detail: description,
              value: format.money(price),
            }))}
          />
        )}
      </Loaded>
      {typed.productId && (
        <Loaded
          query={plans}
          explain={explain}
          skeleton={<Missing text={t('sale.plans.notLoaded')} isAsked={isIncomplete} />}
        >
          {({ data }) => (
            <Options
              // Another product has another list of plans.
              key={typed.productId}
              legend={t('account.plan')}
              name="payplanId"
              chosen={typed.payplanId}
              onChoose={(payplanId) => keepTyped(sale.id, { payplanId })}
              problem={isIncomplete ? t('sale.plan.missing') : undefined}
              options={plansFor(data, typed.productId).map((plan) => ({
                id: plan.id,
                title: plan.name,
                detail: describePlan(plan),
                value: format.money(totalOf(plan)),
              }))}
            />
          )}
        </Loaded>
      )}
      <DateField
        label={t('sale.activation')}
        name="activationDate"
        defaultValue={typed.activationDate ?? settings().today}
        hint={t('sale.activation.hint')}
      />
      <FormButtons submit={t('sale.next')} onCancel={onBack} cancel={t('action.back')} />
    </Form>
  );
}

/** In place of choices that were not loaded before the connection was lost. They appear when it is back. */
function Missing({ text, isAsked }: { text: string; isAsked: boolean }) {
  const isWaiting = useIsWaiting();
  return isWaiting || isAsked ? <Notice tone="warning">{text}</Notice> : <Skeleton />;
}

interface OptionsProps {
  legend: string;
  name: FieldName;
  chosen: string | undefined;
  onChoose(id: string): void;
  problem: string | undefined;
  options: readonly { id: number; title: string; detail: string; value: string }[];
}

function Options({ legend, name, chosen, onChoose, problem, options }: OptionsProps) {
  return (
    <fieldset className="sale-options" aria-describedby={problem && `${name}-problem`}>
      <legend>{legend}</legend>
      {options.length === 0 && <Empty>{t('sale.options.none')}</Empty>}
      {options.map(({ id, title, detail, value }) => (
        <label key={id} className="sale-option">
          <input
            type="radio"
            name={name}
            value={id}
            checked={chosen === String(id)}
            onChange={() => onChoose(String(id))}
          />
          <span>
            <strong>{title}</strong>
            <span className="muted">{detail}</span>
          </span>
          <span className="amount">{value}</span>
        </label>
      ))}
      {problem && (
        <p id={`${name}-problem`} className="field-error" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
