import { Type } from 'typebox';
import type { Config, Currency } from '../../core/context.ts';
import type { FieldProblem } from '../../core/http/errors.ts';
import type { Minor } from '../../core/values/money.ts';
import {
  ACKNOWLEDGEMENT,
  Acknowledged,
  createMobilemoneyApi,
  isZero,
  type MobilemoneyApi,
  OpenObject,
} from './mobilemoney-api.ts';
import { eastAfricaText } from './mobilemoney-time.ts';
import {
  type EndReason,
  type PaymentRequester,
  type PaymentToRequest,
  ProviderApiError,
  type RequestAnswer,
  type RequestConnection,
  type RequestResult,
  type SendResult,
} from './provider.ts';
import { amountTextOf, isRecord, parseJsonObject, recordOf, textOf } from './rules.ts';

// Safaricom's M-PESA Express (STK push) of Daraja: the phone shows a prompt, and the customer enters the PIN.
// https://developer.safaricom.co.ke/APIs/MpesaExpressSimulate

const SEND_PATH = '/mpesa/stkpush/v1/processrequest';
const QUERY_PATH = '/mpesa/stkpushquery/v1/query';
/** Customers see this text. The provider allows at most 13 characters. */
const DESCRIPTION = 'Solar payment';
/** The phones that have mobile money: +2547… and +2541…. */
const PHONE = /^\+254[17]\d{8}$/;
/** In shillings, per transaction. */
const MAX_AMOUNT = 250_000n;

/** The codes that end a request without a payment, also as the answer to a query. */
const REASON_OF_CODE: ReadonlyMap<string, EndReason> = new Map([
  ['1', 'insufficient_funds'],
  ['17', 'refused'],
  ['26', 'refused'],
  ['1001', 'phone_busy'],
  ['1019', 'no_answer'],
  ['1025', 'refused'],
  ['1031', 'cancelled'],
  ['1032', 'cancelled'],
  ['1037', 'no_answer'],
  ['2001', 'wrong_pin'],
  ['8006', 'wrong_pin'],
  ['9999', 'refused'],
]);
const STILL_PROCESSING = '4999';
/** A message that means that the customer can still pay. While the customer has not answered, queries get an error with it. */
const IS_PROCESSING = /being processed|under processing/i;
/** A phone can show one prompt at a time. If it still shows another prompt, the provider refuses the request with this message. */
const IS_PHONE_BUSY = /unable to lock subscriber/i;

const AnswerBody = OpenObject(
  {
    Body: OpenObject({
      stkCallback: OpenObject({
        MerchantRequestID: Type.Optional(Type.String()),
        CheckoutRequestID: Type.String({ description: 'The provider’s id of the request.' }),
        ResultCode: Type.Union([Type.Integer(), Type.String()], {
          description: '0 means paid. Some codes have letters, such as SFC_IC0003.',
        }),
        ResultDesc: Type.Optional(Type.String()),
        CallbackMetadata: Type.Optional(
          OpenObject({ Item: Type.Array(OpenObject({ Name: Type.String() })) }),
        ),
      }),
    }),
  },
  {
    title: 'ProviderRequestAnswer',
    examples: [
      {
        Body: {
          stkCallback: {
            MerchantRequestID: '29115-34620561-1',
            CheckoutRequestID: 'ws_CO_021120261015301234',
            ResultCode: 0,
            ResultDesc: 'The service request is processed successfully.',
            CallbackMetadata: {
              Item: [
                { Name: 'Amount', Value: 400 },
                { Name: 'MpesaReceiptNumber', Value: 'SKB9QR71TT' },
                { Name: 'TransactionDate', Value: 20261102101530 },
                { Name: 'PhoneNumber', Value: 254712345678 },
              ],
            },
          },
        },
      },
    ],
  },
);

export const mobilemoneyRequester: PaymentRequester = {
  isOn: ({ mobilemoneyRequests }) => mobilemoneyRequests !== undefined,
  shortCode: (config) => settingsOf(config).shortCode,
  callbackUrl: (config) => settingsOf(config).callbackUrl,
  problemsOf,
  connect(config, currency): RequestConnection {
    if (!config.mobilemoneyApi) throw new Error('MOBILEMONEY_API_URL is empty.');
    const connection = { api: createMobilemoneyApi(config.mobilemoneyApi), config, currency };
    return {
      send: (request, now) => send(connection, request, now),
      findResult: (requestId, now) => findResult(connection, requestId, now),
    };
  },
  read: readAnswer,
  acknowledgement: ACKNOWLEDGEMENT,
  description: {
    operationId: 'receiveMobileMoneyRequestAnswer',
    summary: 'Receive the answer to a payment request',
    description:
      'The provider calls this address to report the outcome of a payment request. Each request that the service sends contains the address. The call is authenticated like a notification. ' +
      'An answer that fits no request is stored as a notification with the status `rejected`, and is still acknowledged. An unreadable answer is stored in the same way, and gets 400.',
    body: { contentType: 'application/json', schema: AnswerBody },
    answer: { contentType: 'application/json', schema: Acknowledged('RequestAnswerStored') },
  },
};

interface Connection {
  api: MobilemoneyApi;
  config: Config;
  currency: Currency;
}

function settingsOf({ mobilemoneyRequests }: Config) {
  if (!mobilemoneyRequests) throw new Error('MOBILEMONEY_PASSKEY is empty.');
  return mobilemoneyRequests;
}

function problemsOf(
  { phone, amountMinor }: Pick<PaymentToRequest, 'phone' | 'amountMinor'>,
  currency: Currency,
): FieldProblem[] {
  const unit = unitOf(currency);
  const problems: FieldProblem[] = [];
  if (!PHONE.test(phone))
    problems.push({ path: 'phone', message: 'must be a Kenyan mobile number, such as 0712345678' });
  if (amountMinor % unit !== 0n)
    problems.push({ path: 'amount', message: `must be a whole number of ${currency.code}` });
  else if (amountMinor > MAX_AMOUNT * unit)
    problems.push({ path: 'amount', message: `must be at most ${MAX_AMOUNT}, the provider’s limit` });
  return problems;
}

async function send(connection: Connection, request: PaymentToRequest, now: Date): Promise<SendResult> {
  const { api, config, currency } = connection;
  const msisdn = request.phone.slice(1);
  const { shortCode } = settingsOf(config);
  const body = {
    ...passwordOf(config, now),
    TransactionType: 'CustomerPayBillOnline',
    Amount: String(request.amountMinor / unitOf(currency)),
    PartyA: msisdn,
    PartyB: shortCode,
    PhoneNumber: msisdn,
    CallBackURL: request.answerUrl,
    AccountReference: request.accountNumber,
    TransactionDesc: DESCRIPTION,
  };
  try {
    const { fields } = await api.call({ path: SEND_PATH, body });
    const requestId = textOf(fields, 'CheckoutRequestID');
    const code = textOf(fields, 'ResponseCode');
    const message = textOf(fields, 'ResponseDescription') ?? `ResponseCode ${code}`;
    if (code !== null && !isZero(code)) return refusal(message);
    if (requestId === null) return { outcome: 'unknown', message: 'The provider returned no request id.' };
    return { outcome: 'sent', requestId, merchantRequestId: textOf(fields, 'MerchantRequestID') };
  } catch (error) {
    return sendFailure(error);
  }
}

function sendFailure(error: unknown): SendResult {
  const message = messageOf(error);
  if (!(error instanceof ProviderApiError)) return { outcome: 'unknown', message };
  switch (error.problem) {
    case 'refused':
      return refusal(message);
    case 'not_sent':
    case 'unauthorized':
    case 'busy':
      return { outcome: 'not_sent', message };
    case 'no_answer':
    case 'too_large':
      return { outcome: 'unknown', message };
  }
}

/** The result of a refused call. A refusal of a request that is being processed does not end it: the customer may still pay. */
function refusal(message: string): SendResult {
  if (IS_PROCESSING.test(message)) return { outcome: 'unknown', message };
  return { outcome: 'refused', reason: IS_PHONE_BUSY.test(message) ? 'phone_busy' : 'refused', message };
}

async function findResult({ api, config }: Connection, requestId: string, now: Date): Promise<RequestResult> {
  const body = { ...passwordOf(config, now), CheckoutRequestID: requestId };
  try {
    const { fields } = await api.call({ path: QUERY_PATH, body });
    const answered = textOf(fields, 'CheckoutRequestID');
    if (answered !== null && answered !== requestId)
      return {
        outcome: 'unknown',
        message: `The answer of the provider is about another request, ${answered}.`,
      };
    const code = textOf(fields, 'ResponseCode');
    const message = textOf(fields, 'ResultDesc') ?? textOf(fields, 'errorMessage');
    // If the query failed, a result code may be about the query.
    if (code !== null && !isZero(code)) return { outcome: 'unknown', message };
    return resultOf(textOf(fields, 'ResultCode'), message);
  } catch (error) {
    const message = messageOf(error);
    return { outcome: IS_PROCESSING.test(message) ? 'waiting' : 'unknown', message };
  }
}

function resultOf(code: string | null, message: string | null): RequestResult {
  if (isZero(code)) return { outcome: 'paid', message };
  if (code === STILL_PROCESSING || IS_PROCESSING.test(message ?? '')) return { outcome: 'waiting', message };
  const reason = REASON_OF_CODE.get(code ?? '');
  return reason ? { outcome: 'ended', reason, message } : { outcome: 'unknown', message };
}

/**
 * An answer that the provider posts is final, so a code without a known meaning ends the request, too. In the answer to a query,
 * such a code may report an error of the query itself.
 * @returns undefined if there is no code.
 */
function postedResultOf(code: string | null, message: string | null): RequestAnswer['result'] | undefined {
  if (code === null) return undefined;
  const result = resultOf(code, message);
  if (result.outcome !== 'unknown') return result;
  return { outcome: 'ended', reason: 'refused', message: `${message ?? 'ResultCode'} (${code})` };
}

function readAnswer(body: Buffer): RequestAnswer | undefined {
  const fields = parseJsonObject(body);
  const answer = recordOf(recordOf(fields?.Body)?.stkCallback) ?? recordOf(fields?.stkCallback);
  if (!answer) return undefined;
  const result = postedResultOf(textOf(answer, 'ResultCode'), textOf(answer, 'ResultDesc'));
  if (!result) return undefined;
  const items = itemsOf(answer);
  return {
    requestId: textOf(answer, 'CheckoutRequestID'),
    merchantRequestId: textOf(answer, 'MerchantRequestID'),
    result,
    receipt: textOf(items, 'MpesaReceiptNumber'),
    amount: amountTextOf(items.Amount),
    time: textOf(items, 'TransactionDate'),
    payer: textOf(items, 'PhoneNumber'),
  };
}

function itemsOf(answer: Record<string, unknown>): Record<string, unknown> {
  const list = recordOf(answer.CallbackMetadata)?.Item;
  const items = (Array.isArray(list) ? list : []).filter(isRecord);
  return Object.fromEntries(items.map((item) => [textOf(item, 'Name') ?? '', item.Value]));
}

function passwordOf(config: Config, now: Date) {
  const { shortCode, passkey } = settingsOf(config);
  const timestamp = eastAfricaText(now).replace(/\D/g, '');
  const password = Buffer.from(`${shortCode}${passkey}${timestamp}`).toString('base64');
  return { BusinessShortCode: shortCode, Password: password, Timestamp: timestamp };
}

function unitOf({ decimals }: Currency): Minor {
  return 10n ** BigInt(decimals);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
