import {
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { nameOfField } from '../api/words.ts';
import { currentLanguage, format, t } from '../i18n/index.ts';
import { Button } from './button.tsx';
import { Notice } from './feedback.tsx';

/** The fields of `Problem` (api/problem.ts) that a form needs. */
interface FormProblem {
  /** CONNECTION: no answer came. The service may have done the work. */
  code: string;
  message: string;
  fields: readonly { path: string; message: string }[];
}

interface FormProps {
  onSubmit(values: FormValues): void;
  problem: FormProblem | undefined;
  isSending: boolean;
  /** What the request waits for, see `Connection` (api/connection.ts). */
  connection?: 'ok' | 'lost' | 'silent' | 'limited' | 'busy';
  onStop?: () => void;
  children: ReactNode;
}

interface FormState {
  errors: Readonly<Record<string, string>>;
  isSending: boolean;
  forget(name: string): void;
}

const FormContext = createContext<FormState>({ errors: {}, isSending: false, forget() {} });

/** The problem of a list as a whole, which `<GroupField>` shows. */
export const useProblemOf = (name: string) => useContext(FormContext).errors[name];

/** @returns a function that removes the problems of a field, or of all elements of a list such as `items`. */
export const useForgetProblems = () => useContext(FormContext).forget;

/** The values of the fields, by name. */
export class FormValues {
  readonly #data: FormData;
  constructor(form: HTMLFormElement) {
    this.#data = new FormData(form);
  }

  text(name: string): string {
    return this.raw(name).trim();
  }

  /** The value, not trimmed: a password can begin or end with a space. */
  raw(name: string): string {
    return String(this.#data.get(name) ?? '');
  }

  /** Undefined for an empty field. */
  optional(name: string): string | undefined {
    return this.text(name) || undefined;
  }

  number(name: string): number {
    return Number(this.text(name));
  }

  isChecked(name: string): boolean {
    return this.#data.has(name);
  }

  /** The non-empty lines of a text area. */
  lines(name: string): string[] {
    return this.text(name)
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
  }

  /** The values of the checked boxes of a group. */
  all(name: string): string[] {
    return this.#data.getAll(name).map(String);
  }
}

/**
 * A form whose fields are named like the fields of the request body. Each wrong field shows its problem, and the first of them gets
 * the focus. While the form is sent, nothing can be changed or sent again.
 */
export function Form({ onSubmit, problem, isSending, connection = 'ok', onStop, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [shownProblem, setShownProblem] = useState<FormProblem>();
  if (problem !== shownProblem) {
    setShownProblem(problem);
    setErrors(Object.fromEntries((problem?.fields ?? []).map(({ path, message }) => [path, message])));
  }
  const submittedFrom = useRef<Element>(null);
  useLayoutEffect(() => {
    // The fields are disabled while the form is sent, so the focus is lost. Afterwards the user must be able to type at once.
    if (!isSending && document.activeElement === document.body)
      (submittedFrom.current as HTMLElement | null)?.focus();
  }, [isSending]);
  useEffect(() => {
    if (Object.keys(errors).length === 0) return;
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);

  const forget = (name: string) =>
    setErrors((last) => {
      const others = Object.entries(last).filter(([path]) => path !== name && listOf(path) !== name);
      return others.length < Object.keys(last).length ? Object.fromEntries(others) : last;
    });

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isSending) return;
    submittedFrom.current = document.activeElement;
    const wrong = wrongFieldsOf(event.currentTarget);
    setErrors(wrong);
    if (Object.keys(wrong).length === 0) onSubmit(new FormValues(event.currentTarget));
  }

  return (
    <form
      ref={form}
      className="form"
      noValidate
      onSubmit={submit}
      onInput={({ target }) => forget((target as HTMLInputElement).name)}
    >
      <FormContext value={{ errors, isSending, forget }}>
        <fieldset className="form-fields" disabled={isSending}>
          {children}
        </fieldset>
        {isSending && connection !== 'ok' && (
          <Notice tone="warning" title={t(`connection.${connection}`)}>
            <p>{t('form.waiting')}</p>
            {onStop && <Button onClick={onStop}>{t('form.stop')}</Button>}
          </Notice>
        )}
        {problem && !isSending && <FormNotice problem={problem} form={form.current} />}
      </FormContext>
    </form>
  );
}

/** Says that no answer came, and that the change may have been made. */
export function UnconfirmedNotice() {
  return (
    <Notice tone="warning" title={t('form.unconfirmed')}>
      {t('form.unknown')}
    </Notice>
  );
}

/** A problem that no field of the form shows. */
function FormNotice({ problem, form }: { problem: FormProblem; form: HTMLFormElement | null }) {
  if (problem.code === 'CONNECTION') return <UnconfirmedNotice />;
  const unplaced = problem.fields.filter(
    ({ path }) => !form?.elements.namedItem(path) && !form?.elements.namedItem(listOf(path)),
  );
  if (problem.fields.length > 0 && unplaced.length === 0) return null;
  if (unplaced.some(({ path }) => path === 'If-Match'))
    return (
      <Notice tone="warning" title={t('form.failed')}>
        {t('form.changed')}
      </Notice>
    );
  return (
    <Notice tone="bad" title={t('form.failed')}>
      {unplaced.length > 0
        ? unplaced.map(({ path, message }) => (
            <p key={path}>
              {SENTENCES.includes(problem.code) && currentLanguage() === 'en'
                ? message
                : `${nameOfField(path)}: ${message}`}
            </p>
          ))
        : problem.message}
    </Notice>
  );
}

/** The codes whose message is a sentence. Other messages continue the name of a field, such as "amount: must be positive". */
const SENTENCES = ['DUPLICATE_ENTRY', 'NOT_FOUND'];

/** The path of a list, from the path of one of its elements: `types` for `types[0]`. */
function listOf(path: string): string {
  return path.replace(/\[\d+\].*$/, '');
}

function wrongFieldsOf(form: HTMLFormElement): Record<string, string> {
  const fields = [...form.elements].filter(
    (element) => 'validity' in element && 'name' in element,
  ) as HTMLInputElement[];
  return Object.fromEntries(
    fields
      .filter((field) => !field.validity.valid || isBlank(field))
      .map((field) => [field.name, brokenRuleOf(field)]),
  );
}

/** Whether a field that must be filled in contains only spaces. */
function isBlank({ required, type, value }: HTMLInputElement): boolean {
  return required && type !== 'password' && value.trim() === '';
}

/** The message of the browser is in the language of the browser, which the user may not have chosen. */
function brokenRuleOf(field: HTMLInputElement): string {
  const { validity, type, minLength, maxLength, min, max } = field;
  const limit = (text: string) => (type === 'date' ? format.date(text) : text);
  if (validity.valueMissing || isBlank(field)) return t('form.required');
  if (validity.tooShort) return t('rule.tooShort', { limit: minLength });
  if (validity.tooLong) return t('rule.tooLong', { limit: maxLength });
  if (validity.rangeUnderflow) return t('rule.tooLow', { limit: limit(min) });
  if (validity.rangeOverflow) return t('rule.tooHigh', { limit: limit(max) });
  if (validity.stepMismatch) return t('rule.step');
  if (validity.typeMismatch && type === 'email') return t('rule.email');
  return t('rule.unreadable');
}

interface FormButtonsProps {
  submit: string;
  kind?: 'primary' | 'danger';
  onCancel?: (() => void) | undefined;
  /** The text of the button that cancels. */
  cancel?: string;
  /** The text of the submit button while the form is sent. */
  sending?: string;
}

/** The buttons at the end of a form: cancel and submit. */
export function FormButtons({
  submit,
  kind = 'primary',
  onCancel,
  cancel = t('action.cancel'),
  sending = t('form.sending'),
}: FormButtonsProps) {
  const { isSending } = useContext(FormContext);
  return (
    <div className="form-buttons">
      {onCancel && <Button onClick={onCancel}>{cancel}</Button>}
      <Button type="submit" kind={kind} isBusy={isSending}>
        {isSending ? sending : submit}
      </Button>
    </div>
  );
}

interface FieldProps {
  label: string;
  name: string;
  hint?: ReactNode;
  /** Gets the focus when the dialog or the step opens. */
  isFirst?: boolean;
}

/** The attributes that connect a control with its label, hint and problem. */
interface ControlProps {
  id: string;
  name: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
  'data-first'?: true;
}

function Field({
  label,
  name,
  hint,
  isFirst,
  isOptional,
  children,
}: FieldProps & { isOptional: boolean; children(control: ControlProps): ReactNode }) {
  const id = useId();
  const { errors } = useContext(FormContext);
  const error = errors[name] ?? Object.entries(errors).find(([path]) => listOf(path) === name)?.[1];
  const describedBy = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span className="muted"> {t('form.optional')}</span>}
      </label>
      {children({
        id,
        name,
        ...(describedBy && { 'aria-describedby': describedBy }),
        ...(error && { 'aria-invalid': true as const }),
        ...(isFirst && { 'data-first': true as const }),
      })}
      {hint && (
        <div className="field-hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type InputProps = FieldProps & Omit<ComponentProps<'input'>, keyof FieldProps | 'className' | 'id'>;

/** A labelled input for typed text. `type` can be `text`, `number`, `email` or another type of text input. */
export function TextField({ label, name, hint, isFirst, ...input }: InputProps) {
  return (
    <Field {...{ label, name, hint, isFirst }} isOptional={!input.required}>
      {(control) => <input className="input" {...input} {...control} />}
    </Field>
  );
}

type DateProps = Omit<InputProps, 'type' | 'value'>;

/** A field for a day. Its hint shows the day with the name of the month, because 03/04 may be 3 April or 4 March. */
export function DateField({ hint, defaultValue, onChange, ...input }: DateProps) {
  const [date, setDate] = useState(String(defaultValue ?? ''));
  return (
    <TextField
      {...input}
      type="date"
      defaultValue={defaultValue}
      onChange={(event) => {
        setDate(event.target.value);
        onChange?.(event);
      }}
      hint={
        date === '' ? (
          hint
        ) : (
          <>
            <strong className="date-text">{format.date(date)}</strong>
            {hint}
          </>
        )
      }
    />
  );
}

/** An amount in the currency of the business. It has no spin buttons, and scrolling does not change it. */
export function AmountField({ label, name, hint, isFirst, ...input }: InputProps) {
  return (
    <Field {...{ label, name, hint, isFirst }} isOptional={!input.required}>
      {(control) => (
        <div className="input-unit">
          <span aria-hidden="true">{format.currency()}</span>
          <input
            className="input"
            type="number"
            inputMode="decimal"
            min="0"
            step={format.smallestAmount()}
            autoComplete="off"
            onWheel={(event) => event.currentTarget.blur()}
            {...input}
            {...control}
          />
        </div>
      )}
    </Field>
  );
}

type SelectProps = FieldProps & Omit<ComponentProps<'select'>, keyof FieldProps | 'className' | 'id'>;

export function SelectField({ label, name, hint, isFirst, children, ...select }: SelectProps) {
  return (
    <Field {...{ label, name, hint, isFirst }} isOptional={!select.required}>
      {(control) => (
        <select className="input" {...select} {...control}>
          {children}
        </select>
      )}
    </Field>
  );
}

type TextAreaProps = FieldProps & Omit<ComponentProps<'textarea'>, keyof FieldProps | 'className' | 'id'>;

export function TextAreaField({ label, name, hint, isFirst, ...textarea }: TextAreaProps) {
  return (
    <Field {...{ label, name, hint, isFirst }} isOptional={!textarea.required}>
      {(control) => <textarea className="input" rows={3} {...textarea} {...control} />}
    </Field>
  );
}

type CheckProps = { label: ReactNode } & Omit<ComponentProps<'input'>, 'className' | 'type'>;

export function CheckField({ label, ...input }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" {...input} />
      <span>{label}</span>
    </label>
  );
}
