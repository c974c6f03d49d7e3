import { useState } from 'react';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { problemOf } from '../../api/problem.ts';
import { settings } from '../../api/settings.ts';
import { format, nameOfKey, t, tCount } from '../../i18n/index.ts';
import { Empty, Loaded, Notice, Skeleton } from '../../ui/feedback.tsx';
import { DateField, Form, FormButtons } from '../../ui/form.tsx';
import { useConnection } from '../shared/use-connection.ts';
import {
  ACTIVATION_DATES,
  choosesFirstDue,
  describePlan,
  plansFor,
  useCatalogue,
  useDates,
  usePreview,
} from './catalogue.ts';
import { type FieldName, keepTyped, type StepProps } from './sales.ts';

/** What is sold, and on which terms. */
export function AccountStep({ sale, onDone, onBack }: StepProps) {
  const { typed, parts } = sale;
  const { products, plans } = useCatalogue();
  const datesOf = useDates(typed.activationDate);
  const [isIncomplete, setIsIncomplete] = useState(false);
  const plan = plans.data?.find(({ id }) => String(id) === typed.payplanId);
  const preview = usePreview(typed, choosesFirstDue(typed, plan));
  const chosenDates = typed.firstDueDate &&
    preview.data && {
      activationDate: preview.data.activationDate,
      firstInstalment: preview.data.firstDueDate,
    };
  const wrongDate = problemOf(preview.error)?.fields.find(({ path }) => path === 'firstDueDate')?.message;
  return (
    <Form
      problem={parts.account.problem}
      isSending={false}
      onSubmit={() => {
        const isComplete = typed.productId !== undefined && typed.payplanId !== undefined;
        setIsIncomplete(!isComplete);
        if (isComplete && wrongDate === undefined) onDone();
      }}
    >
      <Loaded
        query={products}
        explain={explain}
        skeleton={<NotLoaded text={t('sale.products.notLoaded')} isIncomplete={isIncomplete} />}
      >
        {(rows) => (
          <Options
            legend={t('field.product')}
            name="productId"
            chosen={typed.productId}
            onChoose={(productId) => keepTyped(sale.id, { productId, payplanId: undefined })}
            problem={isIncomplete && !typed.productId ? t('sale.product.missing') : undefined}
            options={rows.map(({ id, sku, name, category, description, price }) => ({
              id,
              title: name,
              detail: description,
              value: format.money(price),
              group: category,
              searched: [name, description, category, sku].join(' ').toLowerCase(),
            }))}
          />
        )}
      </Loaded>
      {typed.productId && (
        <Loaded
          query={plans}
          explain={explain}
          skeleton={<NotLoaded text={t('sale.plans.notLoaded')} isIncomplete={isIncomplete} />}
        >
          {(rows) => (
            <Options
              // Clears the search text when another product is chosen.
              key={typed.productId}
              legend={t('account.plan')}
              name="payplanId"
              chosen={typed.payplanId}
              onChoose={(payplanId) => {
                const { harvest } = rows.find(({ id }) => String(id) === payplanId) ?? {};
                keepTyped(sale.id, { payplanId, ...(harvest && { firstDueDate: undefined }) });
              }}
              problem={isIncomplete ? t('sale.plan.missing') : undefined}
              options={plansFor(rows, typed.productId).map((one) => ({
                id: one.id,
                title: one.name,
                detail: describePlan(one),
                value: `${t('field.total')}: ${format.money(one.total)}`,
                note: noteOf(one === plan && chosenDates ? chosenDates : datesOf(one.id)),
              }))}
            />
          )}
        </Loaded>
      )}
      <DateField
        label={t('sale.activation')}
        name="activationDate"
        {...ACTIVATION_DATES}
        defaultValue={typed.activationDate ?? settings().today}
        hint={t('sale.activation.hint')}
      />
      {plan && !plan.harvest && (
        <details className="sale-more" open={Boolean(typed.firstDueDate)}>
          <summary>{t('sale.firstDue')}</summary>
          <DateField
            label={t('field.firstDueDate')}
            name="firstDueDate"
            max={ACTIVATION_DATES.max}
            defaultValue={typed.firstDueDate}
            hint={
              wrongDate === undefined ? (
                t('sale.firstDue.hint')
              ) : (
                <span className="field-error" role="alert">
                  {wrongDate}
                </span>
              )
            }
          />
        </details>
      )}
      <FormButtons submit={t('sale.next')} onCancel={onBack} cancel={t('action.back')} />
    </Form>
  );
}

function noteOf(dates: Omit<Schemas['PayPlan']['dates'], 'lastInstalment'> | undefined): string | undefined {
  if (!dates) return undefined;
  return t('sale.plan.first', {
    first: format.date(dates.firstInstalment),
    start: format.date(dates.activationDate),
  });
}

/** Shown until the options are loaded. Shows the text if the service does not answer, or if the user has tried to continue. */
function NotLoaded({ text, isIncomplete }: { text: string; isIncomplete: boolean }) {
  const isRetrying = useConnection() !== 'ok';
  return isRetrying || isIncomplete ? <Notice tone="warning">{text}</Notice> : <Skeleton />;
}

/** A list with more options gets a search box. */
const MOST_WITHOUT_SEARCH = 8;

interface Option {
  id: number;
  title: string;
  detail: string;
  value: string;
  /** Below the value. */
  note?: string | undefined;
  /** Options of one group are shown together. */
  group?: string;
  /** The text in which a search looks, in lower case. Default: the title. */
  searched?: string;
}

interface OptionsProps {
  legend: string;
  name: FieldName;
  chosen: string | undefined;
  onChoose(id: string): void;
  problem: string | undefined;
  options: readonly Option[];
}

/** Radio buttons, with a search box if there are many. */
function Options({ legend, name, chosen, onChoose, problem, options }: OptionsProps) {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  const found = options.filter(({ title, searched = title.toLowerCase() }) =>
    words.every((word) => searched.includes(word)),
  );
  const isChosen = ({ id }: Option) => chosen === String(id);
  // The chosen option stays visible, even if the search does not find it.
  const shown = options.filter((option) => found.includes(option) || isChosen(option));
  const groups = [...new Set(shown.map(({ group }) => group))].sort();
  return (
    <fieldset className="sale-options" aria-describedby={problem && `${name}-problem`}>
      <legend>{legend}</legend>
      {options.length === 0 && <Empty>{t('sale.options.none')}</Empty>}
      {options.length > MOST_WITHOUT_SEARCH && (
        <OptionSearch
          name={name}
          text={search}
          count={found.length}
          onChange={setSearch}
          onEnter={() => {
            const [only, ...others] = found;
            if (only && others.length === 0) onChoose(String(only.id));
          }}
        />
      )}
      {groups.map((group) => {
        const members = shown.filter((option) => option.group === group);
        const cards = members.map((option) => (
          <OptionCard
            key={option.id}
            name={name}
            option={option}
            isChosen={isChosen(option)}
            onChoose={onChoose}
          />
        ));
        // The elements around a card must not change while the user searches, because the card would lose the focus.
        return group === undefined ? (
          <div key={group} className="sale-cards">
            {cards}
          </div>
        ) : (
          <fieldset key={group} className="sale-group">
            <legend>{nameOfKey(group)}</legend>
            <div className="sale-cards">{cards}</div>
          </fieldset>
        );
      })}
      {problem && (
        <p id={`${name}-problem`} className="field-error" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}

interface OptionCardProps {
  name: FieldName;
  option: Option;
  isChosen: boolean;
  onChoose(id: string): void;
}

function OptionCard({ name, option, isChosen, onChoose }: OptionCardProps) {
  const { id, title, detail, value, note } = option;
  return (
    <label className={`sale-option ${note ? 'with-note' : ''}`}>
      <input type="radio" name={name} value={id} checked={isChosen} onChange={() => onChoose(String(id))} />
      <span>
        <strong>{title}</strong>
        <span className="muted detail">{detail}</span>
      </span>
      <span className="amount">{value}</span>
      {note && <span className="muted note">{note}</span>}
    </label>
  );
}

interface OptionSearchProps {
  name: FieldName;
  text: string;
  /** The number of options that match. */
  count: number;
  onChange(text: string): void;
  onEnter(): void;
}

/** The input has no name, so its text is not kept as a field of the sale. */
function OptionSearch({ name, text, count, onChange, onEnter }: OptionSearchProps) {
  return (
    <div className="field">
      <label htmlFor={`${name}-search`}>{t('sale.options.search')}</label>
      <input
        id={`${name}-search`}
        className="input"
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={100}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text === '') return;
          event.preventDefault();
          onEnter();
        }}
        aria-describedby={`${name}-found`}
      />
      <p id={`${name}-found`} className="field-hint" role="status">
        {text.trim() === '' ? '' : tCount('sale.options.found', count)}
      </p>
    </div>
  );
}
