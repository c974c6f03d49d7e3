import { setTimeout as sleep } from 'node:timers/promises';
import { eastAfricaDigits } from '../formats.ts';
import type { Book } from './book.ts';
import { ANSWER_MS, LATE_MS, postUntilAccepted, trackDeliveries } from './callbacks.ts';
import { type Answer, type Call, errorAnswer, type Operation } from './operation.ts';

/** Simulates payment requests to phones (STK push): prompts, the customers who answer them, and the reports of the outcomes. */

/** What the customer does, with the provider's code and text. */
export const CUSTOMER_ANSWERS = {
  paid: { code: 0, text: 'The service request is processed successfully.' },
  insufficient_funds: { code: 1, text: 'The balance is insufficient for the transaction.' },
  cancelled: { code: 1032, text: 'Request cancelled by user' },
  no_answer: { code: 1037, text: 'DS timeout user cannot be reached' },
  wrong_pin: { code: 2001, text: 'The initiator information is invalid.' },
} as const;

export type CustomerAnswer = keyof typeof CUSTOMER_ANSWERS;

export interface PromptPlan {
  customer: CustomerAnswer;
  /** The HTTP response to the call. With `lost` (the connection is closed) and `error` (500), the phone still shows the prompt. */
  callAnswer: 'accepted' | 'late' | 'lost' | 'error' | 'refused' | 'phone_busy';
  /** When and how often the outcome is reported. `early`: before the HTTP response to the call. */
  report: 'once' | 'twice' | 'never' | 'early' | 'late';
  /** The notification of a payment to the short code. `first`: before the report. */
  notification: 'first' | 'last' | 'never';
  /** The reference in the notification. Default: the account reference of the request. */
  reference?: string;
  /** How many queries for the outcome fail before one succeeds. */
  failedQueries: number;
}

export const USUAL_PLAN: PromptPlan = {
  customer: 'paid',
  callAnswer: 'accepted',
  report: 'once',
  notification: 'last',
  failedQueries: 0,
};

/** What a phone shows. */
export interface Prompt {
  requestId: string;
  phone: string;
  amount: string;
  accountReference: string;
  plan: PromptPlan;
  /** Null while the customer has not answered. */
  answer: CustomerAnswer | null;
  /** The transaction, if the customer paid. */
  receipt: string | null;
}

export interface StkPush {
  readonly operations: Readonly<Record<string, Operation>>;
  /** Every prompt that a phone has shown. */
  readonly prompts: readonly Prompt[];
  /** Waits until every report and notification is delivered. */
  settled(): Promise<void>;
}

export interface StkPushOptions {
  /** Receives the payments. */
  book: Book;
  /** The prefix of request ids and receipts. */
  prefix?: string;
  /** The plan for the n-th call, counted from 0. */
  planOf(n: number, call: Call): PromptPlan;
  /** Where notifications of payments are posted, with the secret. Called for each try, because the address may change. */
  notificationUrl(): string;
  /** How long a customer takes. */
  answerMs?: number;
  /** The delay of an HTTP response or a report whose plan says `late`. */
  lateMs?: number;
  /** Where a report is posted, if the address of the service has changed since the request. Default: the request's address. */
  reportUrl?(given: string): string;
}

export function createStkPush(options: StkPushOptions): StkPush {
  const {
    book,
    prefix = 'STK',
    planOf,
    notificationUrl,
    answerMs = ANSWER_MS,
    lateMs = LATE_MS,
    reportUrl = (url) => url,
  } = options;
  const prompts: Prompt[] = [];
  const failedQueries = new Map<string, number>();
  const deliveries = trackDeliveries();
  let calls = 0;

  async function push(call: Call): Promise<Answer> {
    const n = calls++;
    const plan = planOf(n, call);
    const { fields } = call;
    if (plan.callAnswer === 'refused')
      return errorAnswer(400, 'Bad Request - Invalid PhoneNumber', '400.002.02');
    if (plan.callAnswer === 'phone_busy') {
      const text = '[MerchantValidate] - Unable to lock subscriber, a transaction is already in process';
      return errorAnswer(500, text, '500.001.1001');
    }
    const prompt: Prompt = {
      requestId: `ws_CO_${prefix}${String(n).padStart(15, '0')}`,
      phone: String(fields.PhoneNumber),
      amount: String(fields.Amount),
      accountReference: String(fields.AccountReference),
      plan,
      answer: null,
      receipt: null,
    };
    prompts.push(prompt);
    failedQueries.set(prompt.requestId, plan.failedQueries);
    const reported = deliveries.add(play(prompt, n, String(fields.CallBackURL)));
    if (plan.report === 'early') await reported;
    if (plan.callAnswer === 'late') await sleep(lateMs);
    if (plan.callAnswer === 'error') return { status: 500, body: '<html>Internal Server Error</html>' };
    return {
      body: {
        MerchantRequestID: `29115-${n}-1`,
        CheckoutRequestID: prompt.requestId,
        ResponseCode: '0',
        ResponseDescription: 'Success. Request accepted for processing',
        CustomerMessage: 'Success. Request accepted for processing',
      },
      ...(plan.callAnswer === 'lost' && { isCutOff: true }),
    };
  }

  async function play(prompt: Prompt, n: number, callbackUrl: string): Promise<void> {
    const { plan } = prompt;
    await sleep(answerMs);
    const answeredAt = new Date();
    const notification = plan.customer === 'paid' ? pay(prompt, n, answeredAt) : undefined;
    prompt.answer = plan.customer;
    const report = async () => {
      if (plan.report === 'never') return;
      if (plan.report === 'late') await sleep(lateMs);
      const body = reportOf(prompt, n, eastAfricaDigits(answeredAt));
      await postUntilAccepted(() => reportUrl(callbackUrl), body);
      if (plan.report === 'twice') await postUntilAccepted(() => reportUrl(callbackUrl), body);
    };
    const notify = async () => {
      if (notification && plan.notification !== 'never')
        await postUntilAccepted(notificationUrl, notification);
    };
    if (plan.notification === 'first') await notify();
    await report();
    if (plan.notification === 'last') await notify();
  }

  /** @returns the body of the notification. */
  function pay(prompt: Prompt, n: number, time: Date): Record<string, string> {
    const { phone: payer, amount, accountReference, plan } = prompt;
    const transId = `${prefix}${String(n).padStart(7, '0')}`;
    prompt.receipt = transId;
    const reference = plan.reference ?? accountReference;
    return book.pay({ transId, amountMinor: BigInt(amount) * 100n, time, reference, payer });
  }

  async function query({ fields }: Call): Promise<Answer> {
    const requestId = String(fields.CheckoutRequestID);
    const prompt = prompts.find((one) => one.requestId === requestId);
    if (!prompt) return errorAnswer(400, 'Bad Request - Invalid CheckoutRequestID', '400.002.02');
    const failures = failedQueries.get(requestId) ?? 0;
    failedQueries.set(requestId, failures - 1);
    if (failures > 0) return errorAnswer(503, 'Service is currently unavailable', '503.001.01');
    if (prompt.answer === null) return errorAnswer(500, 'The transaction is being processed', '500.001.1001');
    const { code, text } = CUSTOMER_ANSWERS[prompt.answer];
    return {
      body: {
        ResponseCode: '0',
        ResponseDescription: 'The service request has been accepted successsfully',
        CheckoutRequestID: requestId,
        ResultCode: String(code),
        ResultDesc: text,
      },
    };
  }

  return {
    prompts,
    operations: {
      'POST /mpesa/stkpush/v1/processrequest': push,
      'POST /mpesa/stkpushquery/v1/query': query,
    },
    settled: () => deliveries.settled(),
  };
}

function reportOf({ requestId, phone, amount, answer, receipt }: Prompt, n: number, paidAt: string) {
  const { code, text } = CUSTOMER_ANSWERS[answer ?? 'no_answer'];
  return {
    Body: {
      stkCallback: {
        MerchantRequestID: `29115-${n}-1`,
        CheckoutRequestID: requestId,
        ResultCode: code,
        ResultDesc: text,
        ...(receipt !== null && {
          CallbackMetadata: {
            Item: [
              { Name: 'Amount', Value: Number(amount) },
              { Name: 'MpesaReceiptNumber', Value: receipt },
              { Name: 'Balance' },
              { Name: 'TransactionDate', Value: Number(paidAt) },
              { Name: 'PhoneNumber', Value: Number(phone) },
            ],
          },
        }),
      },
    },
  };
}
