import { constants, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eastAfricaDigits } from '../formats.ts';
import { type Book, type BookedPayment, money } from './book.ts';
import { ANSWER_MS, LATE_MS, postUntilAccepted, trackDeliveries } from './callbacks.ts';
import { type Answer, type Call, errorAnswer, type Operation } from './operation.ts';

/** Simulates status queries: the call is accepted, and the answer is posted later. */

export interface StatusPlan {
  /** The HTTP response to the call. `lost` closes the connection after the query was accepted. */
  callAnswer: 'accepted' | 'lost' | 'refused';
  /** How the answer is posted to ResultURL. `early`: before the HTTP response. */
  answer: 'once' | 'twice' | 'early' | 'late' | 'never';
  /** Whether amounts and times are texts. */
  hasNumbersAsText: boolean;
  /** Replaces parameters of the answer, by their key. */
  parameters: Readonly<Record<string, string | number>>;
}

export const USUAL_STATUS_PLAN: StatusPlan = {
  callAnswer: 'accepted',
  answer: 'once',
  hasNumbersAsText: false,
  parameters: {},
};

export interface Operator {
  initiator: string;
  password: string;
}

export interface StatusOperations {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly operator: Operator;
  /** The public key of the provider, in PEM. */
  readonly publicKey: string;
  /** The ids of the queried transactions, in order. */
  readonly queriedTransactions: readonly string[];
  /** Waits until every answer is delivered. */
  settled(): Promise<void>;
}

export interface StatusOptions {
  books: readonly Book[];
  /** The plan of the next query. */
  plan?(): StatusPlan;
  answerMs?: number;
  /** The address to post an answer to. Default: the address in the query. */
  answerUrl?(given: string): string;
}

const OPERATOR: Operator = { initiator: 'simulated-operator', password: 'password of the operator' };

export function statusOperations(options: StatusOptions): StatusOperations {
  const {
    books,
    plan: nextPlan = () => USUAL_STATUS_PLAN,
    answerMs = ANSWER_MS,
    answerUrl = (url) => url,
  } = options;
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const queriedTransactions: string[] = [];
  const deliveries = trackDeliveries();

  async function query({ fields }: Call): Promise<Answer> {
    const { Initiator, SecurityCredential, CommandID, PartyA, IdentifierType, ResultURL } = fields;
    const plan = nextPlan();
    const book = books.find(({ shortCode }) => shortCode === String(PartyA));
    const isComplete =
      CommandID === 'TransactionStatusQuery' && String(IdentifierType) === '4' && ResultURL && book;
    if (plan.callAnswer === 'refused' || !isComplete) return errorAnswer(400, 'Bad Request - Invalid PartyA');
    const transactionRef = String(fields.TransactionID);
    queriedTransactions.push(transactionRef);
    const n = queriedTransactions.length;
    const isOperator =
      Initiator === OPERATOR.initiator && passwordIn(String(SecurityCredential)) === OPERATOR.password;
    const result = isOperator
      ? resultOf(book, transactionRef, plan)
      : { ResultCode: 2001, ResultDesc: 'The initiator information is invalid.' };
    const ids = { OriginatorConversationID: `10816-694520-${n}`, ConversationID: `AG_${n}` };
    const body = { Result: { ResultType: 0, ...result, ...ids, TransactionID: `TSQ${n}` } };
    const delivered = deliveries.add(deliver(String(ResultURL), body, plan));
    if (plan.answer === 'early') await delivered;
    return {
      body: { ...ids, ResponseCode: '0', ResponseDescription: 'Accept the service request successfully.' },
      ...(plan.callAnswer === 'lost' && { isCutOff: true }),
    };
  }

  async function deliver(url: string, body: object, { answer }: StatusPlan): Promise<void> {
    if (answer === 'never') return;
    if (answer !== 'early') await sleep(answer === 'late' ? LATE_MS : answerMs);
    for (let times = answer === 'twice' ? 2 : 1; times > 0; times -= 1)
      await postUntilAccepted(() => answerUrl(url), body);
  }

  /** Decrypts a password. Removes its PKCS #1 v1.5 padding, because Node.js no longer does. @returns '' for another padding. */
  function passwordIn(credential: string): string {
    const key = { key: privateKey, padding: constants.RSA_NO_PADDING };
    const padded = privateDecrypt(key, Buffer.from(credential, 'base64'));
    return padded.readUInt16BE() === 2 ? padded.subarray(padded.indexOf(0, 2) + 1).toString() : '';
  }

  return {
    ...{ queriedTransactions, publicKey, operator: OPERATOR },
    operations: { 'POST /mpesa/transactionstatus/v1/query': query },
    settled: () => deliveries.settled(),
  };
}

function resultOf({ shortCode, payments }: Book, transactionRef: string, plan: StatusPlan) {
  const payment = payments.find(({ transId }) => transId === transactionRef);
  if (!payment) return { ResultCode: 2032, ResultDesc: 'The transaction receipt number does not exist.' };
  const ResultDesc = 'The service request is processed successfully.';
  const parameters = { ...parametersOf(payment, shortCode, plan), ...plan.parameters };
  const ResultParameter = [
    ...Object.entries(parameters).map(([Key, Value]) => ({ Key, Value })),
    { Key: 'TransactionReason' },
  ];
  return { ResultCode: 0, ResultDesc, ResultParameters: { ResultParameter } };
}

function parametersOf(
  { transId, amountMinor, time, payer }: BookedPayment,
  shortCode: string,
  { hasNumbersAsText }: StatusPlan,
): Record<string, string | number> {
  const number = (text: string) => (hasNumbersAsText ? text : Number(text));
  return {
    DebitPartyName: `${payer} - GRACE WANJIRU`,
    CreditPartyName: `${shortCode} - Simulated company`,
    'Originator Conversation ID': '19455-773836-1',
    InitiatedTime: number(eastAfricaDigits(time)),
    DebitAccountType: 'MMF Account For Customer',
    DebitPartyCharges: 'Pay Utility Charge|KES|0.00',
    ReasonType: 'Pay Utility Online',
    TransactionStatus: 'Completed',
    FinalisedTime: number(eastAfricaDigits(time)),
    Amount: number(money(amountMinor)),
    'Conversation ID': 'AG_20261102_00004492b1b6d0078fbe',
    ReceiptNo: transId,
  };
}
