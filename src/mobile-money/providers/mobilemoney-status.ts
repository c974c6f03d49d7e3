import { constants, type KeyObject, publicEncrypt } from 'node:crypto';
import { Type } from 'typebox';
import { parseCompactTime } from '../../core/values/dates.ts';
import {
  ACKNOWLEDGEMENT,
  Acknowledged,
  isZero,
  type MobilemoneyApi,
  OpenObject,
  refusalOf,
} from './mobilemoney-api.ts';
import { readParty } from './mobilemoney-statement.ts';
import { EAST_AFRICA_TIME } from './mobilemoney-time.ts';
import { meaningOfStatus } from './mobilemoney-words.ts';
import type { DescribedTransaction, StatusAnswers, StatusSource } from './provider.ts';
import { amountTextOf, isRecord, parseJsonObject, recordOf, textOf } from './rules.ts';

// Daraja's Transaction Status. The provider posts the answer later, to the address in the query.
// https://developer.safaricom.co.ke/APIs/TransactionStatus
// Its documentation and its answers differ, so the service accepts every form that public client libraries accept.

interface MobilemoneyStatusSettings {
  readonly shortCode: string;
  readonly initiator: string;
  readonly password: string;
  readonly publicKey: KeyObject;
}

const QUERY_PATH = '/mpesa/transactionstatus/v1/query';
/**
 * "The transaction receipt number does not exist." The documentation has no code for it. This is the code in recorded answers,
 * and in the answers of M-PESA Ethiopia (https://m-pesabusiness.safaricom.et). Every other error code is about the query, not
 * about the transaction.
 */
const DOES_NOT_EXIST = '2032';
/** The identifier type: PartyA is the short code of an organisation. */
const SHORT_CODE = '4';
const REMARKS = 'Status of a payment';

export function mobilemoneyStatus(api: MobilemoneyApi, settings: MobilemoneyStatusSettings): StatusSource {
  return {
    async ask({ transactionRef, answerUrl }, signal) {
      const body = {
        Initiator: settings.initiator,
        SecurityCredential: encrypted(settings),
        CommandID: 'TransactionStatusQuery',
        TransactionID: transactionRef,
        PartyA: settings.shortCode,
        IdentifierType: SHORT_CODE,
        ResultURL: answerUrl,
        // The provider posts to this address if it could not process the query in time.
        QueueTimeOutURL: answerUrl,
        Remarks: REMARKS,
        Occasion: transactionRef,
      };
      const { fields } = await api.call({ path: QUERY_PATH, body }, signal);
      const code = textOf(fields, 'ResponseCode');
      if (code !== null && !isZero(code)) throw refusalOf(QUERY_PATH, code, fields);
      return textOf(fields, 'ConversationID') ?? textOf(fields, 'OriginatorConversationID');
    },
  };
}

/** The form in which the provider accepts a password: RSA with the padding of PKCS #1 v1.5, in base64. */
function encrypted({ password, publicKey }: MobilemoneyStatusSettings): string {
  const key = { key: publicKey, padding: constants.RSA_PKCS1_PADDING };
  return publicEncrypt(key, Buffer.from(password)).toString('base64');
}

const AnswerBody = OpenObject(
  {
    Result: OpenObject({
      ResultCode: Type.Union([Type.Integer(), Type.String()], {
        description:
          '0 means that the transaction was found, and 2032 that it does not exist. Some codes have letters, such as SFC_IC0003.',
      }),
      ResultDesc: Type.Optional(Type.String()),
      OriginatorConversationID: Type.Optional(Type.String()),
      ConversationID: Type.Optional(Type.String({ description: 'The provider’s id of the query.' })),
      ResultParameters: Type.Optional(
        OpenObject({ ResultParameter: Type.Array(OpenObject({ Key: Type.String() })) }),
      ),
    }),
  },
  {
    title: 'ProviderStatusAnswer',
    examples: [
      {
        Result: {
          ResultType: 0,
          ResultCode: 0,
          ResultDesc: 'The service request is processed successfully.',
          OriginatorConversationID: '10816-694520-2',
          ConversationID: 'AG_20261102_00007cdb1f9fb6494315',
          TransactionID: 'SKB0000000',
          ResultParameters: {
            ResultParameter: [
              { Key: 'ReceiptNo', Value: 'SKB7MD40PL' },
              { Key: 'TransactionStatus', Value: 'Completed' },
              { Key: 'Amount', Value: 800 },
              { Key: 'DebitPartyName', Value: '254701000000 - GRACE WANJIRU' },
              { Key: 'CreditPartyName', Value: '600638 - Sunrise Pumps Ltd' },
              { Key: 'InitiatedTime', Value: 20261102102240 },
              { Key: 'FinalisedTime', Value: 20261102102244 },
              { Key: 'ReasonType', Value: 'Pay Bill Online' },
            ],
          },
        },
      },
    ],
  },
);

export const mobilemoneyStatusAnswers: StatusAnswers = {
  isOn: ({ mobilemoneyStatus: settings }) => settings !== undefined,
  callbackUrl({ mobilemoneyStatus: settings }) {
    if (!settings) throw new Error('MOBILEMONEY_INITIATOR is empty.');
    return settings.callbackUrl;
  },
  read(body) {
    const result = recordOf(parseJsonObject(body)?.Result);
    const code = result && textOf(result, 'ResultCode');
    if (!result || code === null || code === undefined) return undefined;
    const message = textOf(result, 'ResultDesc');
    const values = parametersOf(result);
    const transactionRef = values.get('receiptno') ?? null;
    if (isZero(code))
      return { transactionRef, transaction: readTransaction(values), doesNotExist: false, message };
    const doesNotExist = code === DOES_NOT_EXIST;
    return {
      transactionRef,
      transaction: null,
      doesNotExist,
      message: `${message ?? 'ResultCode'} (${code})`,
    };
  },
  acknowledgement: ACKNOWLEDGEMENT,
  description: {
    operationId: 'receiveMobileMoneyStatusAnswer',
    summary: 'Receive the status of a transaction',
    description:
      'The provider calls this address to answer a status query. Each query that the service sends contains the address. The call is authenticated like a notification. ' +
      'An answer that fits no query is stored as a notification with the status `rejected`, and is still acknowledged. An unreadable answer is stored in the same way, and gets 400.',
    body: { contentType: 'application/json', schema: AnswerBody },
    answer: { contentType: 'application/json', schema: Acknowledged('StatusAnswerStored') },
  },
};

function readTransaction(values: ReadonlyMap<string, string>): DescribedTransaction {
  const status = values.get('transactionstatus') ?? null;
  const { payer, payerName } = readParty(values.get('debitpartyname') ?? '');
  const time = values.get('finalisedtime') ?? values.get('finalizedtime') ?? values.get('initiatedtime');
  return {
    status,
    isCompleted: status !== null && meaningOfStatus(status) === 'completed',
    amount: values.get('amount')?.replaceAll(',', '') ?? null,
    payer,
    payerName,
    receiver: readParty(values.get('creditpartyname') ?? '').payer,
    completedAt: parseCompactTime(time ?? '', EAST_AFRICA_TIME) ?? null,
    reason: values.get('reasontype') ?? values.get('transactionreason') ?? null,
  };
}

/**
 * The parameters by key. Keys are converted to lower case without spaces. A single parameter may come without a list.
 */
function parametersOf(result: Record<string, unknown>): Map<string, string> {
  const list = recordOf(result.ResultParameters)?.ResultParameter;
  const values = new Map<string, string>();
  for (const parameter of (Array.isArray(list) ? list : [list]).filter(isRecord)) {
    const key = textOf(parameter, 'Key')?.replaceAll(' ', '').toLowerCase();
    const value = key === 'amount' ? amountTextOf(parameter.Value) : textOf(parameter, 'Value');
    if (key !== undefined && value !== null && !values.has(key)) values.set(key, value);
  }
  return values;
}
