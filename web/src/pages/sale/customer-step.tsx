import { useLayoutEffect, useRef, useState } from 'react';
import { api, client } from '../../api/client.ts';
import { explain } from '../../api/explain.ts';
import type { Schemas } from '../../api/paths.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { t, tCount } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';
import { toast } from '../../ui/toast.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { CustomerTextFields, LanguageField } from '../shared/customer-fields.tsx';
import { chooseCustomer, customerOf, keepTyped, type Sale, type StepProps } from './sales.ts';

const SHORTEST_TEXT = 2;
/** With fewer digits, the search would also find other phone numbers that contain these digits. */
const SHORTEST_PHONE = 9;
const TYPING_MS = 300;
const MOST_RESULTS = 6;

/** Finds a customer, or takes the data of a new one. */
export function CustomerStep({ sale, onDone }: StepProps) {
  const { typed, customer } = sale;
  const hasTyped = Boolean(typed.firstName || typed.lastName || typed.phone);
  const [isNew, setIsNew] = useState(hasTyped);
  async function choose(id: number) {
    const { data, error } = await client.GET('/api/customers/{id}', { params: { path: { id } } });
    if (!data) return toast({ tone: 'bad', text: explain(error) });
    chooseCustomer(sale.id, data.data);
    onDone();
  }
  if (customer)
    return (
      <>
        <ChosenCustomer customer={customer} />
        <div className="form-buttons">
          <Button
            onClick={() => {
              chooseCustomer(sale.id, undefined);
              setIsNew(hasTyped);
            }}
          >
            {t('sale.customer.other')}
          </Button>
          <Button kind="primary" onClick={onDone}>
            {t('sale.next')}
          </Button>
        </div>
      </>
    );
  if (isNew)
    return <NewCustomer sale={sale} onDone={onDone} onChoose={choose} onBack={() => setIsNew(false)} />;
  return (
    <FindCustomer
      onChoose={choose}
      onNew={(text) => {
        keepTyped(sale.id, fieldsOf(text));
        setIsNew(true);
      }}
    />
  );
}

function ChosenCustomer({ customer }: { customer: NonNullable<Sale['customer']> }) {
  return (
    <p className="sale-chosen">
      <strong>{`${customer.firstName} ${customer.lastName}`}</strong>
      <span className="muted">{customer.phone}</span>
    </p>
  );
}

interface FindCustomerProps {
  onChoose(id: number): Promise<void>;
  onNew(text: string): void;
}

function FindCustomer({ onChoose, onNew }: FindCustomerProps) {
  const [text, setText] = useState('');
  const { results, isLoaded } = useCustomerSearch(text.trim(), SHORTEST_TEXT);
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        const [only, ...others] = results;
        if (only && others.length === 0) void onChoose(only.id);
        else if (!only) onNew(text);
      }}
    >
      <div className="field">
        <label htmlFor="sale-find">{t('sale.customer.find')}</label>
        <input
          id="sale-find"
          className="input"
          type="search"
          data-first
          autoComplete="off"
          autoCorrect="off"
          spellCheck={false}
          maxLength={100}
          value={text}
          onChange={(event) => setText(event.target.value)}
          aria-describedby="sale-found"
        />
      </div>
      <ul className="sale-results">
        {results.map((result) => (
          <li key={result.id}>
            <button type="button" className="sale-option" onClick={() => void onChoose(result.id)}>
              <strong>{result.title}</strong>
              <span className="muted">{result.subtitle}</span>
            </button>
          </li>
        ))}
      </ul>
      <p id="sale-found" className="field-hint" role="status">
        {isLoaded ? tCount('sale.customer.found', results.length) : t('sale.customer.hint')}
      </p>
      <div className="form-buttons">
        <Button kind={results.length === 0 ? 'primary' : 'secondary'} icon="plus" onClick={() => onNew(text)}>
          {t('sale.customer.new')}
        </Button>
      </div>
    </form>
  );
}

interface NewCustomerProps extends StepProps {
  onChoose(id: number): Promise<void>;
  onBack(): void;
}

function NewCustomer({ sale, onDone, onChoose, onBack }: NewCustomerProps) {
  const { typed, parts } = sale;
  const check = useCheck(typed, onDone);
  const digits = (typed.phone ?? '').replace(/\D/g, '');
  const { results } = useCustomerSearch(digits, SHORTEST_PHONE);
  const fieldProps = (name: 'firstName' | 'lastName' | 'phone') => ({
    name,
    defaultValue: typed[name],
    autoComplete: 'off',
  });
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>('input:invalid')?.focus(), []);
  return (
    <div ref={box}>
      <Form
        problem={check.problem ?? parts.customer.problem}
        isSending={check.isChecking}
        onSubmit={() => void check.run()}
      >
        <div className="sale-pair">
          <TextField label={t('field.firstName')} {...fieldProps('firstName')} maxLength={100} required />
          <TextField label={t('field.lastName')} {...fieldProps('lastName')} maxLength={100} required />
        </div>
        <TextField
          label={t('field.phone')}
          {...fieldProps('phone')}
          type="tel"
          inputMode="tel"
          maxLength={30}
          hint={t('sale.phone.hint')}
          required
        />
        <SamePhone results={results} onChoose={onChoose} />
        <div className="sale-pair">
          <CustomerTextFields values={typed} />
          <LanguageField defaultValue={typed.language} />
        </div>
        <FormButtons
          submit={t('sale.next')}
          onCancel={onBack}
          cancel={t('action.back')}
          sending={t('sale.checking')}
        />
      </Form>
    </div>
  );
}

/** Without an answer the sale goes on, because the service checks the customer again when the sale is saved. */
const CHECK_MS = 4_000;
/** Without a connection, the service cannot check the phone, so what cannot be a phone number is refused here. */
const PHONE = /^[+\d\s()./-]*$/;
const FEWEST_DIGITS = 6;

const PHONES = ['phone', 'secondPhone'] as const;

function isPhone(text: string): boolean {
  return PHONE.test(text) && text.replace(/\D/g, '').length >= FEWEST_DIGITS;
}

/** Checks a new customer by the rules of the service. */
function useCheck(typed: Sale['typed'], onDone: () => void) {
  const [problem, setProblem] = useState<Problem>();
  const [isChecking, setIsChecking] = useState(false);
  async function run() {
    const given = PHONES.filter((path) => path === 'phone' || typed[path]);
    const wrong = given.filter((path) => !isPhone(typed[path] ?? ''));
    if (wrong.length > 0) {
      const fields = wrong.map((path) => ({ path, message: t('sale.phone.wrong') }));
      return setProblem({ code: 'VALIDATION_ERROR', message: '', fields, details: {} });
    }
    setIsChecking(true);
    const found = await problemWith(typed);
    setIsChecking(false);
    setProblem(found);
    if (!found) onDone();
  }
  return { problem, isChecking, run };
}

async function problemWith(typed: Sale['typed']): Promise<Problem | undefined> {
  if (!navigator.onLine) return undefined;
  const signal = AbortSignal.timeout(CHECK_MS);
  const body = customerOf(typed);
  const check = client.POST('/api/customers/check', { body, signal }).catch((error: unknown) => ({ error }));
  // The signal does not end the renewal of the session, which comes before the request.
  const { error } = await Promise.race([check, aborted(signal)]);
  const problem = problemOf(error);
  return problem && problem.fields.length > 0 ? problem : undefined;
}

async function aborted(signal: AbortSignal): Promise<{ error: unknown }> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  return { error: signal.reason };
}

/** Offers the customer who already has this phone number, because this is often the same person. */
function SamePhone({
  results,
  onChoose,
}: Pick<NewCustomerProps, 'onChoose'> & { results: readonly Found[] }) {
  const [same] = results;
  if (!same) return null;
  return (
    <Notice tone="info" title={t('sale.customer.samePhone', { name: same.title })}>
      <Button onClick={() => void onChoose(same.id)}>{t('sale.customer.use')}</Button>
    </Notice>
  );
}

type Found = Schemas['SearchResult'];
const NONE: readonly Found[] = [];

function useCustomerSearch(text: string, shortest: number) {
  const wanted = useDebounced(text, TYPING_MS);
  const query = { q: wanted, types: ['customer' as const], limit: MOST_RESULTS };
  const search = api.useQuery(
    'get',
    '/api/search',
    { params: { query } },
    { enabled: wanted.length >= shortest, gcTime: 60_000 },
  );
  const isLoaded = search.data !== undefined && wanted === text && text.length >= shortest;
  return { results: isLoaded ? search.data.data : NONE, isLoaded };
}

/** Reads the text of the search as the phone number or the name of a new customer. */
function fieldsOf(text: string): Sale['typed'] {
  const trimmed = text.trim();
  if (trimmed === '') return {};
  if (/^[+\d\s()-]+$/.test(trimmed)) return { phone: trimmed };
  const [firstName = '', ...rest] = trimmed.split(/\s+/);
  return { firstName, lastName: rest.join(' ') };
}
