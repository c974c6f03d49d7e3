import { client } from '../../api/client.ts';
import type { Schemas } from '../../api/paths.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { currentSession, onSessionChange, sessionEnd } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { randomKey } from '../../api/write.ts';

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
  | 'email'
  | 'nationalId'
  | 'verificationType'
  | 'documentNumber'
  | 'productId'
  | 'payplanId'
  | 'activationDate'
  | 'amount'
  | 'paymentMethodId'
  | 'transactionRef'
  | 'paymentDate';

type KnownCustomer = Pick<
  Schemas['Customer'],
  'id' | 'firstName' | 'lastName' | 'phone' | 'kycStatus' | 'kycReviewPending'
>;

export interface Sale {
  id: number;
  typed: Readonly<Partial<Record<FieldName, string>>>;
  /** The customer, if found or saved. */
  customer: KnownCustomer | undefined;
  /** The account, if saved. */
  account: Schemas['Account'] | undefined;
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

// In memory only, because sales contain personal data. They stay while the user opens other pages.
let sales: Sales = { all: [], openId: 0 };
let ownerId: number | undefined;
const listeners = new Set<() => void>();

startSale();
onSessionChange(() => {
  const userId = currentSession()?.user.id;
  // If the session expired, the sales are kept until the same user signs in again. Another user must not see them.
  const isInterrupted = userId === undefined && sessionEnd() !== undefined;
  if (isInterrupted || userId === ownerId) return;
  sales = { all: [], openId: 0 };
  startSale();
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

/** Opens a new sale. Saving of other sales continues. */
export function startSale(): void {
  ownerId = currentSession()?.user.id;
  const id = Math.max(0, ...sales.all.map((sale) => sale.id)) + 1;
  const newPart = (): PartState => ({ progress: 'open', key: randomKey(), problem: undefined });
  const parts = { customer: newPart(), identity: newPart(), account: newPart(), payment: newPart() };
  const sale: Sale = { id, typed: {}, customer: undefined, account: undefined, parts };
  publish({ all: [...sales.all.filter(isUnsaved), sale], openId: id });
}

export function openSale(id: number): void {
  publish({ ...sales, openId: id });
}

export function discardSale(id: number): void {
  publish({ ...sales, all: sales.all.filter((sale) => sale.id !== id) });
  if (sales.openId === id) startSale();
}

export function keepTyped(id: number, typed: Sale['typed']): void {
  change(id, (sale) => ({ typed: { ...sale.typed, ...typed } }));
}

export function chooseCustomer(id: number, customer: KnownCustomer | undefined): void {
  change(id, () => ({ customer }));
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
  keepTyped(id, { paymentDate: sale.typed.paymentDate ?? settings().today });
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
    const body = {
      firstName: typed.firstName ?? '',
      lastName: typed.lastName ?? '',
      phone: typed.phone ?? '',
      ...(typed.email && { email: typed.email }),
      ...(typed.nationalId && { nationalId: typed.nationalId }),
    };
    return { customer: dataOf(await client.POST('/api/customers', { body, headers })) };
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
    };
    return { account: dataOf(await client.POST('/api/accounts', { body, headers })) };
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
  for (const listener of listeners) listener();
}
