import { client } from '../../api/client.ts';
import { keep, kept } from '../../api/kept.ts';
import type { Schemas } from '../../api/paths.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { currentSession, onSessionChange, sessionEnd } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { randomKey } from '../../api/write.ts';
import { CUSTOMER_TEXTS, type CustomerText } from '../shared/customer-fields.tsx';

/** The parts of a sale, in the order in which they are saved. Each part is one request. */
export const PARTS = ['customer', 'identity', 'account', 'payment'] as const;
export type Part = (typeof PARTS)[number];

/** The progress of a part. `unknown`: the service failed or did not answer, so the part may have been saved. */
export type Progress = 'open' | 'sending' | 'saved' | 'refused' | 'unknown';

interface PartState {
  progress: Progress;
  /** The Idempotency-Key of the part. It never changes, so a part that is sent twice is saved once. */
  key: string;
  problem: Problem | undefined;
}

/** The fields of all steps. Most names are those of the API. */
export type FieldName =
  | 'firstName'
  | 'lastName'
  | 'phone'
  | CustomerText
  | 'language'
  | 'verificationType'
  | 'documentNumber'
  | 'productId'
  | 'payplanId'
  | 'activationDate'
  | 'firstDueDate'
  | 'amount'
  | 'paymentMethodId'
  | 'transactionRef'
  | 'paymentDate';

type KnownCustomer = Pick<
  Schemas['Customer'],
  'id' | 'firstName' | 'lastName' | 'phone' | 'kycStatus' | 'kycReviewPending'
>;

const PART_OF: Readonly<Record<Exclude<FieldName, CustomerText>, Part>> = {
  firstName: 'customer',
  lastName: 'customer',
  phone: 'customer',
  language: 'customer',
  verificationType: 'identity',
  documentNumber: 'identity',
  productId: 'account',
  payplanId: 'account',
  activationDate: 'account',
  firstDueDate: 'account',
  amount: 'payment',
  paymentMethodId: 'payment',
  transactionRef: 'payment',
  paymentDate: 'payment',
};

function isCustomerText(name: FieldName): name is CustomerText {
  return name in CUSTOMER_TEXTS;
}

export interface Sale {
  id: number;
  typed: Readonly<Partial<Record<FieldName, string>>>;
  /** The customer, if found or saved. */
  customer: KnownCustomer | undefined;
  /** The account, if saved. */
  account: Pick<Schemas['Account'], 'id' | 'accountNumber'> | undefined;
  /** The steps that the user has left by Next, and has not changed since. */
  passed: readonly Part[];
  parts: Readonly<Record<Part, PartState>>;
}

export interface StepProps {
  sale: Sale;
  onDone(): void;
  onBack?: (() => void) | undefined;
}

interface Sales {
  all: readonly Sale[];
  openId: number;
}

let sales: Sales = { all: [], openId: 0 };
let ownerId: number | undefined;
const listeners = new Set<() => void>();

restore();
onSessionChange(() => {
  const userId = currentSession()?.user.id;
  // If the session expired, the sales are kept until the same user signs in again. Another user must not see them.
  const isInterrupted = userId === undefined && sessionEnd() === 'expired';
  if (!isInterrupted && userId !== ownerId) restore();
});
addEventListener('beforeunload', (event) => {
  if (sales.all.some(isUnsaved)) event.preventDefault();
});

export function currentSales(): Sales {
  return sales;
}

export function onSalesChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads what the signed-in user typed before a reload of this tab. */
function restore(): void {
  ownerId = currentSession()?.user.id;
  sales = kept<Sales>('sales') ?? { all: [], openId: 0 };
  // The answer is lost, and the part may have been saved.
  for (const { id, parts } of sales.all)
    for (const part of PARTS)
      if (parts[part].progress === 'sending') setPart(id, part, { progress: 'unknown' });
  if (!find(sales.openId)) startSale();
  else publish(sales);
}

/** Opens a new sale. Saving of other sales continues. */
export function startSale(): void {
  const id = Math.max(0, ...sales.all.map((sale) => sale.id)) + 1;
  const newPart = (): PartState => ({ progress: 'open', key: randomKey(), problem: undefined });
  const parts = { customer: newPart(), identity: newPart(), account: newPart(), payment: newPart() };
  const nothing = { typed: {}, customer: undefined, account: undefined, passed: [] };
  const sale: Sale = { id, ...nothing, parts };
  publish({ all: [...sales.all.filter(isUnsaved), sale], openId: id });
}

export function openSale(id: number): void {
  publish({ ...sales, openId: id });
}

export function discardSale(id: number): void {
  publish({ ...sales, all: sales.all.filter((sale) => sale.id !== id) });
  if (sales.openId === id) startSale();
}

/** The steps of changed fields have to be left by Next again. A plan limits the amount of the payment. */
export function keepTyped(id: number, typed: Sale['typed']): void {
  change(id, (sale) => {
    const changed = (Object.keys(typed) as FieldName[]).filter((name) => typed[name] !== sale.typed[name]);
    const parts = changed.map((name) => (isCustomerText(name) ? 'customer' : PART_OF[name]));
    if (changed.includes('payplanId') && sale.typed.amount) parts.push('payment');
    return {
      typed: { ...sale.typed, ...typed },
      passed: sale.passed.filter((part) => !parts.includes(part)),
    };
  });
}

export function chooseCustomer(id: number, customer: KnownCustomer | undefined): void {
  change(id, ({ passed }) => ({
    customer: customer && knownOf(customer),
    passed: passed.filter((part) => part !== 'customer'),
  }));
}

/** The user leaves a step by Next. */
export function passStep(id: number, part: Part): void {
  change(id, ({ passed }) => ({ passed: [...passed.filter((other) => other !== part), part] }));
}

function knownOf({
  id,
  firstName,
  lastName,
  phone,
  kycStatus,
  kycReviewPending,
}: KnownCustomer): KnownCustomer {
  return { id, firstName, lastName, phone, kycStatus, kycReviewPending };
}

/** Whether all parts are saved. */
export function isSaved(sale: Sale): boolean {
  return sale.account !== undefined && partsOf(sale).every((part) => sale.parts[part].progress === 'saved');
}

/** Whether closing the browser tab would lose data. */
export function isUnsaved(sale: Sale): boolean {
  const isEmpty = sale.customer === undefined && Object.values(sale.typed).every((text) => text === '');
  return !isEmpty && partsOf(sale).some((part) => sale.parts[part].progress !== 'saved');
}

/** A part can be changed before it is sent, and after the service has refused it. */
export function canChange({ parts }: Sale, part: Part): boolean {
  return ['open', 'refused'].includes(parts[part].progress);
}

export function nameOf({ typed, customer }: Sale): string {
  const { firstName = '', lastName = '' } = customer ?? typed;
  return `${firstName} ${lastName}`.trim();
}

export function isSending(sale: Sale): boolean {
  return PARTS.some((part) => sale.parts[part].progress === 'sending');
}

/** After saving has started, a step leads back to the review, not to the next step. */
export function hasSavingStarted(sale: Sale): boolean {
  return PARTS.some((part) => sale.parts[part].progress !== 'open');
}

export function partsOf({ typed, customer, parts }: Sale): readonly Part[] {
  const isExistingCustomer = customer !== undefined && parts.customer.progress === 'open';
  return PARTS.filter((part) => {
    if (part === 'customer') return !isExistingCustomer;
    if (part === 'identity') return Boolean(typed.documentNumber);
    return part === 'account' || Boolean(typed.amount);
  });
}

/** Saves the parts that are not saved yet, in their order. A second call while the first runs does nothing. */
export async function saveSale(id: number): Promise<void> {
  const sale = find(id);
  if (!sale || isSending(sale)) return;
  change(id, ({ typed }) => ({ typed: { ...typed, paymentDate: typed.paymentDate ?? settings().today } }));
  for (const part of partsOf(sale)) {
    if (find(id)?.parts[part].progress !== 'saved' && !(await savePart(id, part))) return;
  }
}

async function savePart(id: number, part: Part): Promise<boolean> {
  const sale = find(id);
  if (!sale) return false;
  setPart(id, part, { progress: 'sending', problem: undefined });
  try {
    const result = await SAVERS[part](sale, { 'idempotency-key': sale.parts[part].key });
    change(id, () => result);
    setPart(id, part, { progress: 'saved' });
    return true;
  } catch (error) {
    const problem = problemOf(error);
    setPart(id, part, { progress: progressAfter(problem?.code), problem });
    return false;
  }
}

function progressAfter(code: Problem['code'] | undefined): Progress {
  // The session has ended, and the service has saved nothing.
  if (code === 'UNAUTHORIZED') return 'open';
  return code === 'INTERNAL_ERROR' || code === 'CONNECTION' ? 'unknown' : 'refused';
}

type Headers = Readonly<Record<string, string>>;

/** The request of each part. @throws the error body if the service refuses the request. */
const SAVERS: Record<Part, (sale: Sale, headers: Headers) => Promise<Partial<Sale>>> = {
  async customer({ typed }, headers) {
    const body = customerOf(typed);
    return { customer: knownOf(dataOf(await client.POST('/api/customers', { body, headers }))) };
  },
  async identity({ typed, customer }, headers) {
    const type = (typed.verificationType ?? 'national_id') as Schemas['VerificationType'];
    const documents = [{ type, number: typed.documentNumber ?? '' }];
    const body = { verificationType: type, verificationStatus: 'pending' as const, documents };
    const params = { path: { id: customer?.id ?? 0 } };
    dataOf(await client.PUT('/api/customers/{id}/kyc', { params, body, headers }));
    return {};
  },
  async account({ typed, customer }, headers) {
    const body = {
      customerId: customer?.id ?? 0,
      productId: Number(typed.productId),
      payplanId: Number(typed.payplanId),
      ...(typed.activationDate && { activationDate: typed.activationDate }),
      ...(typed.firstDueDate && { firstDueDate: typed.firstDueDate }),
    };
    const { id, accountNumber } = dataOf(await client.POST('/api/accounts', { body, headers }));
    return { account: { id, accountNumber } };
  },
  async payment({ typed, account }, headers) {
    const body = {
      accountId: account?.id ?? 0,
      amount: Number(typed.amount),
      paymentMethodId: Number(typed.paymentMethodId),
      paymentDate: typed.paymentDate ?? settings().today,
      ...(typed.transactionRef && { transactionRef: typed.transactionRef }),
    };
    dataOf(await client.POST('/api/payments', { body, headers }));
    return {};
  },
};

/** The body of the request that registers the customer. */
export function customerOf(typed: Sale['typed']): Schemas['NewCustomer'] {
  const texts = (Object.keys(CUSTOMER_TEXTS) as CustomerText[]).filter((name) => typed[name]);
  return {
    firstName: typed.firstName ?? '',
    lastName: typed.lastName ?? '',
    phone: typed.phone ?? '',
    ...Object.fromEntries(texts.map((name) => [name, typed[name]])),
    ...(typed.language && { language: typed.language as Schemas['CustomerLanguage'] }),
  };
}

function dataOf<Data>({ data, error }: { data?: { data: Data }; error?: unknown }): Data {
  if (!data) throw error;
  return data.data;
}

function find(id: number): Sale | undefined {
  return sales.all.find((sale) => sale.id === id);
}

function change(id: number, changes: (sale: Sale) => Partial<Sale>): void {
  publish({
    ...sales,
    all: sales.all.map((sale) => (sale.id === id ? { ...sale, ...changes(sale) } : sale)),
  });
}

function setPart(id: number, part: Part, state: Partial<PartState>): void {
  change(id, ({ parts }) => ({ parts: { ...parts, [part]: { ...parts[part], ...state } } }));
}

function publish(next: Sales): void {
  sales = next;
  const all = sales.all.filter(isUnsaved);
  // Before the session is restored, nothing replaces what was kept before the reload.
  if (ownerId !== undefined) keep('sales', all.length > 0 ? { ...sales, all } : undefined);
  for (const listener of listeners) listener();
}
