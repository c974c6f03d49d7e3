import sax from 'sax';
import { Type } from 'typebox';
import type { Refusal } from '../../payments/rules.ts';
import { authenticateCaller } from './authentication.ts';
import type { PaymentProvider, ProviderAnswer, SentPayment } from './provider.ts';
import { cleanText } from './rules.ts';

// Bill payments of Tigo Pesa (Tanzania): the use case "wallet to account" of its partner integration. The gateway waits for the
// answer, and returns the money to the payer if the payment is refused.
// https://tigopesa-docs.netlify.app/partner_integration

const XML_TYPE = 'text/xml; charset=utf-8';
const REQUEST = 'SYNC_BILLPAY_REQUEST';
const RESPONSE = 'SYNC_BILLPAY_RESPONSE';
/** The depth of the fields in the document. They are children of COMMAND and contain only text. */
const DEPTH = 2;

const SUCCESS = { code: 'error000', description: 'Transaction successful' };
const REFUSALS: Record<Refusal['reason'], typeof SUCCESS> = {
  unreadable: { code: 'error100', description: 'General error' },
  wrong_account: { code: 'error010', description: 'Invalid customer reference number' },
  wrong_amount: { code: 'error012', description: 'Invalid amount' },
  wrong_short_code: { code: 'error100', description: 'Payment for another company' },
};

const BillPayment = Type.String({
  title: 'TigoPesaBillPayment',
  description:
    'TXNID: the provider’s id of the transaction. MSISDN: the payer’s number, with or without the country code. AMOUNT: a ' +
    'decimal above 0. COMPANYNAME: the business number that is paid. CUSTOMERREFERENCEID: the account that the payer typed. ' +
    'SENDERNAME, if sent, is the payer’s name.',
  examples: [
    '<?xml version="1.0"?><COMMAND><TYPE>SYNC_BILLPAY_REQUEST</TYPE><TXNID>BP261102.1240.B01530</TXNID>' +
      '<MSISDN>255721777777</MSISDN><AMOUNT>800</AMOUNT><COMPANYNAME>12345</COMPANYNAME>' +
      '<CUSTOMERREFERENCEID>ACC10000012</CUSTOMERREFERENCEID></COMMAND>',
  ],
});

const BillPaymentAnswer = Type.String({
  title: 'TigoPesaBillPaymentAnswer',
  description:
    'RESULT is TS if the payment is accepted. REFID is then the id of the payment, or empty while staff resolve a conflict. ' +
    'RESULT is TF if the payment is refused. The payer then gets the money back. ERRORCODE: error000 accepted; error010 wrong account; error012 wrong amount; ' +
    'error100 unreadable, or for another company. After a status of 5xx the result is unknown: send the request again.',
  examples: [
    '<?xml version="1.0" encoding="UTF-8"?><COMMAND><TYPE>SYNC_BILLPAY_RESPONSE</TYPE>' +
      '<TXNID>BP261102.1240.B01530</TXNID><REFID>7</REFID><RESULT>TS</RESULT><ERRORCODE>error000</ERRORCODE>' +
      '<ERRORDESCRIPTION>Transaction successful</ERRORDESCRIPTION><MSISDN>255721777777</MSISDN><FLAG>Y</FLAG>' +
      '<CONTENT>Transaction successful</CONTENT></COMMAND>',
  ],
});

export const tigopesa: PaymentProvider = {
  name: 'tigopesa',
  fieldNames: { transactionId: 'TXNID', amount: 'AMOUNT' },
  acceptsUnmatched: false,
  format: `an XML document with the root COMMAND and the TYPE ${REQUEST}, without a document type or repeated fields`,
  authenticate: authenticateCaller,
  read: readCall,
  accept: (sent, { paymentId }) => answer(sent, SUCCESS, paymentId),
  refuse: (sent, { reason }) => answer(sent, REFUSALS[reason]),
  description: {
    operationId: 'receiveTigoPesaPayment',
    summary: 'Receive a Tigo Pesa bill payment',
    description:
      'A payment is posted if its account is certain, and if the paid amount does not become larger than the largest allowed amount. Otherwise the payment is refused, and the ' +
      'payer gets the money back. The service checks the secret (X-Webhook-Secret or ?token=) and the network address, if they are ' +
      'configured. Each TXNID is posted once. A repeat of a posted payment gets the same answer.',
    body: { contentType: 'text/xml', schema: BillPayment },
    answer: { contentType: 'text/xml', schema: BillPaymentAnswer },
  },
};

function readCall(body: Buffer): SentPayment | undefined {
  const fields = parseCommand(body.toString('utf8'));
  if (fields?.get('TYPE') !== REQUEST) return undefined;
  const text = (name: string) => cleanText(fields.get(name) ?? '');
  return {
    transactionId: text('TXNID'),
    amount: text('AMOUNT'),
    time: null,
    businessShortCode: text('COMPANYNAME'),
    reference: text('CUSTOMERREFERENCEID'),
    payer: text('MSISDN'),
    payerName: text('SENDERNAME'),
  };
}

/**
 * Parses the fields of a COMMAND. The parser knows only the predefined entities of XML.
 * @returns undefined if the document is malformed, has a document type, or has a repeated or nested field.
 */
function parseCommand(xml: string): Map<string, string> | undefined {
  const fields = new Map<string, string>();
  const path: string[] = [];
  const refuse = (): never => {
    throw new SyntaxError('not a command');
  };
  const add = (text: string) => {
    const [, field] = path;
    if (field !== undefined) fields.set(field, `${fields.get(field)}${text}`);
    else if (text.trim() !== '') refuse();
  };
  const parser = sax.parser(true);
  parser.onerror = refuse;
  parser.ondoctype = refuse;
  parser.ontext = add;
  parser.oncdata = add;
  parser.onopentag = ({ name }) => {
    path.push(name);
    const isSecondRoot = path.length === 1 && fields.size > 0;
    if (path[0] !== 'COMMAND' || isSecondRoot || path.length > DEPTH || fields.has(name)) refuse();
    if (path.length === DEPTH) fields.set(name, '');
  };
  parser.onclosetag = () => {
    path.pop();
  };
  try {
    parser.write(xml.replace(/^\uFEFF/, '').trim()).close();
    return fields;
  } catch {
    return undefined; // Malformed: the call is refused, and its body is stored.
  }
}

function answer(
  sent: SentPayment | undefined,
  { code, description }: typeof SUCCESS,
  paymentId: number | null = null,
): ProviderAnswer {
  const isPosted = code === SUCCESS.code;
  const fields = {
    TYPE: RESPONSE,
    TXNID: sent?.transactionId,
    REFID: paymentId,
    RESULT: isPosted ? 'TS' : 'TF',
    ERRORCODE: code,
    ERRORDESCRIPTION: description,
    MSISDN: sent?.payer,
    FLAG: isPosted ? 'Y' : 'N',
    CONTENT: description,
  };
  const elements = Object.entries(fields).map(
    ([name, value]) => `<${name}>${escapeXml(value ?? '')}</${name}>`,
  );
  return {
    contentType: XML_TYPE,
    body: `<?xml version="1.0" encoding="UTF-8"?><COMMAND>${elements.join('')}</COMMAND>`,
  };
}

const MARKUP: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escapeXml(value: string | number): string {
  return String(value).replace(/[&<>]/g, (character) => MARKUP[character] ?? '');
}
