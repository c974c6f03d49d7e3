import { Type } from 'typebox';
import { ok } from '../../core/http/envelope.ts';
import { invalid, unavailable } from '../../core/http/errors.ts';
import { Nullable } from '../../core/http/fields.ts';
import { authenticateCaller } from './authentication.ts';
import { createMobilemoneyApi, OpenObject } from './mobilemoney-api.ts';
import { mobilemoneyPull } from './mobilemoney-pull.ts';
import { mobilemoneyRequester } from './mobilemoney-requests.ts';
import { mobilemoneyStatement } from './mobilemoney-statement.ts';
import { mobilemoneyStatus, mobilemoneyStatusAnswers } from './mobilemoney-status.ts';
import { readLocalTime } from './mobilemoney-time.ts';
import type { PaymentProvider, SentPayment } from './provider.ts';
import { parseFields, textOf } from './rules.ts';

// Safaricom's M-PESA C2B API (Daraja): validation and confirmation of payments to a paybill number.
// https://developer.safaricom.co.ke/APIs/CustomerToBusinessRegisterURL

/** What the provider's gateway reads from an answer. `ResultCode` is the number 0 if accepted, and a string if refused. */
const ACCEPTED = { ResultCode: 0, ResultDesc: 'Accepted' } as const;
const REFUSED = {
  wrong_account: { ResultCode: 'C2B00012', ResultDesc: 'Invalid Account Number' },
  wrong_amount: { ResultCode: 'C2B00013', ResultDesc: 'Invalid Amount' },
  wrong_short_code: { ResultCode: 'C2B00015', ResultDesc: 'Invalid Shortcode' },
} as const;
const RESULTS = { accepted: ACCEPTED, ...REFUSED };
const JSON_TYPE = 'application/json; charset=utf-8';

const NotificationBody = OpenObject(
  {
    TransactionType: Type.Optional(Type.String()),
    TransID: Type.String({ description: 'The provider’s id of the transaction.' }),
    TransTime: Type.Optional(
      Type.String({ description: 'yyyyMMddHHmmss, in the zone of MOBILEMONEY_TIMEZONE (default: UTC+3)' }),
    ),
    TransAmount: Type.String({ description: 'A decimal above 0.' }),
    BusinessShortCode: Type.Optional(Type.String()),
    BillRefNumber: Type.Optional(Type.String({ description: 'The reference that the payer typed.' })),
    MSISDN: Type.Optional(Type.String({ description: 'The payer’s number: plain, masked or hashed.' })),
  },
  {
    title: 'ProviderNotification',
    examples: [
      {
        TransactionType: 'Pay Bill',
        TransID: 'SKB2XQ19ZT',
        TransTime: '20261102101530',
        TransAmount: '2400.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'ACC10000012',
        MSISDN: '254712345678',
      },
      {
        TransactionType: 'Pay Bill',
        TransID: 'SKB7MD40PL',
        TransTime: '20261102102244',
        TransAmount: '800.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'SOLAR',
        MSISDN: '254701000000',
      },
      {
        TransactionType: 'Pay Bill',
        TransID: 'RECEIPT-0001',
        TransTime: '20261102102500',
        TransAmount: '450.00',
        BusinessShortCode: '600638',
        BillRefNumber: 'ACC10000012',
        MSISDN: '254712345678',
      },
    ],
  },
);

/** The usual envelope of the service, with the part that the gateway reads. */
const Acknowledgement = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object({
      outcome: Type.String({
        description:
          'matched, unmatched, linked (to a manual payment), conflict, differs (from an earlier notification of the transaction), repeated, pending',
      }),
      paymentId: Nullable(Type.Integer()),
    }),
    message: Type.String(),
    ResultCode: Type.Literal(ACCEPTED.ResultCode),
    ResultDesc: Type.String(),
  },
  {
    title: 'Acknowledgement',
    description: 'Notification accepted.',
    examples: [
      {
        success: true,
        data: { outcome: 'matched', paymentId: 2 },
        message: 'Notification accepted.',
        ...ACCEPTED,
      },
    ],
  },
);

const Validation = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object({
      accepted: Type.Boolean(),
      accountNumber: Nullable(Type.String({ description: 'The account that would be paid.' })),
    }),
    message: Type.String(),
    ResultCode: Type.Union([
      Type.Literal(ACCEPTED.ResultCode),
      Type.Enum(Object.values(REFUSED).map(({ ResultCode }) => ResultCode)),
    ]),
    ResultDesc: Type.String(),
  },
  {
    title: 'PaymentValidation',
    description: 'Payment validated.',
    examples: [
      {
        success: true,
        data: { accepted: true, accountNumber: 'ACC10000012' },
        message: 'Payment validated.',
        ...ACCEPTED,
      },
      {
        success: true,
        data: { accepted: false, accountNumber: null },
        message: 'Payment validated.',
        ...REFUSED.wrong_account,
      },
    ],
  },
);

export const mobilemoney: PaymentProvider = {
  name: 'mobilemoney',
  fieldNames: { transactionId: 'TransID', amount: 'TransAmount' },
  acceptsUnmatched: true,
  format: 'a JSON object',
  statement: mobilemoneyStatement,
  requester: mobilemoneyRequester,
  statusAnswers: mobilemoneyStatusAnswers,
  authenticate: authenticateCaller,
  read: readCall,
  timeZone: ({ MOBILEMONEY_TIMEZONE: timeZone }) => timeZone,
  readTime: readLocalTime,
  readBalance(body) {
    const fields = parseFields(body, 'TransID');
    return fields ? textOf(fields, 'OrgAccountBalance') : null;
  },
  accept: (_sent, result) => ({
    contentType: JSON_TYPE,
    body: { ...ok(result, 'Notification accepted.'), ...ACCEPTED },
  }),
  refuse(_sent, refusal) {
    // A readable notification is never refused, because the money has moved already.
    if (refusal.reason === 'unreadable') throw invalid(refusal.problems);
    throw unavailable(new Error(`a notification was refused: ${refusal.reason}`));
  },
  validation: {
    answer: (verdict, accountNumber) => ({
      contentType: JSON_TYPE,
      body: {
        ...ok({ accepted: verdict === 'accepted', accountNumber }, 'Payment validated.'),
        ...RESULTS[verdict],
      },
    }),
    description: {
      operationId: 'validateMobileMoneyPayment',
      summary: 'Validate a mobile-money payment',
      description:
        'Before the money moves, the provider asks whether to accept the payment. The service accepts a payment that matches an account, or ' +
        'whose reference is an existing account number. There are two exceptions. A payment for a completed ' +
        'account is refused. A payment for a cancelled account is refused, too, unless the account owes money after a reversal. ' +
        'ResultCode 0 means accepted, as in the answer to a notification. C2B00012 means a wrong account, C2B00013 a wrong ' +
        'amount, and C2B00015 the short code of another business. Nothing is stored, with one exception: a call with a balance ' +
        'is the confirmation of a payment at the wrong address. It is stored as a rejected notification, and not posted. If the service fails, the ' +
        'answer is 503 within 2 seconds, and the provider applies the default action that you registered.',
      body: { contentType: 'application/json', schema: NotificationBody },
      answer: { contentType: 'application/json', schema: Validation },
    },
  },
  openApi({ mobilemoneyApi, mobilemoneyPull: pull, mobilemoneyStatus: status }) {
    if (!mobilemoneyApi) return undefined;
    const api = createMobilemoneyApi(mobilemoneyApi);
    return { pull: pull && mobilemoneyPull(api, pull), status: status && mobilemoneyStatus(api, status) };
  },
  pulledShortCodes: ({ mobilemoneyPull: pull }) => pull?.shortCodes ?? [],
  description: {
    operationId: 'receiveMobileMoneyPayment',
    summary: 'Receive a mobile-money payment',
    description:
      'The provider reports a payment of a customer. Fields that are not listed here are stored with the body. The service checks the secret ' +
      '(X-Webhook-Secret or ?token=) and the network address, if they are configured. Each TransID is posted once. A repeat is accepted and changes nothing.',
    body: { contentType: 'application/json', schema: NotificationBody },
    answer: { contentType: 'application/json', schema: Acknowledgement },
  },
};

function readCall(body: Buffer): SentPayment | undefined {
  const fields = parseFields(body, 'TransID');
  return (
    fields && {
      transactionId: textOf(fields, 'TransID', body.toString('utf8')),
      amount: textOf(fields, 'TransAmount'),
      time: textOf(fields, 'TransTime'),
      businessShortCode: textOf(fields, 'BusinessShortCode'),
      reference: textOf(fields, 'BillRefNumber'),
      payer: textOf(fields, 'MSISDN'),
      payerName: nameOf(fields),
    }
  );
}

/** The payer's name. The provider may send only a part of the name, or nothing. */
function nameOf(fields: Record<string, unknown>): string | null {
  const parts = ['FirstName', 'MiddleName', 'LastName'].map((name) => textOf(fields, name));
  const name = parts.filter((part) => part !== null).join(' ');
  return name === '' ? null : name;
}
