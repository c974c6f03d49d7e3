import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { mobilemoneyRequester } from '../../src/mobile-money/providers/mobilemoney-requests.ts';
import { type Answer, errorAnswer } from '../../tools/simulator/provider-api/operation.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';

// What the answer to a call about a payment request means. A request whose answer is misunderstood can charge a customer twice.

let answer: Answer;
const provider = await startProviderApi({
  operations: {
    'POST /mpesa/stkpush/v1/processrequest': () => answer,
    'POST /mpesa/stkpushquery/v1/query': () => answer,
  },
});
afterAll(() => provider.close());

const config = readConfig({
  MOBILEMONEY_API_URL: provider.url,
  MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
  MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
  MOBILEMONEY_SHORT_CODE: '600638',
  MOBILEMONEY_PASSKEY: 'passkey',
  MOBILEMONEY_CALLBACK_URL: 'http://service.test',
});
const connection = mobilemoneyRequester.connect(config, { code: 'KES', decimals: 2 });
const NOW = new Date('2026-11-02T08:15:30Z');

/** @returns the outcome, with the reason if the request is refused. */
async function send(given: Answer): Promise<string> {
  answer = given;
  const request = {
    phone: '+254712345678',
    amountMinor: 400_00n,
    accountNumber: 'ACC10000012',
    answerUrl: '',
  };
  const result = await connection.send(request, NOW);
  return result.outcome === 'refused' ? `${result.outcome}: ${result.reason}` : result.outcome;
}

async function query(given: Answer): Promise<string> {
  answer = given;
  const result = await connection.findResult('ws_CO_1', NOW);
  return result.outcome === 'ended' ? `${result.outcome}: ${result.reason}` : result.outcome;
}

const BUSY = 'Unable to lock subscriber, a transaction is already in process for the current subscriber';

describe('sending a payment request', () => {
  it.each([
    [500, '500.001.1001', 'Merchant does not exist', 'refused: refused'],
    [500, '500.001.1001', '[MerchantValidate] - Merchant does not exist', 'refused: refused'],
    [500, '500.001.1001', 'Wrong credentials', 'refused: refused'],
    [500, '500.001.1001', '[STK_CB - ] WRONG CREDENTIALS.', 'refused: refused'],
    [503, '500.001.1001', 'Wrong credentials', 'refused: refused'],
    [200, '500.001.1001', 'Merchant does not exist', 'refused: refused'],
    [500, '500.001.1001', BUSY, 'refused: phone_busy'],
    [500, '500.001.1001', `[MerchantValidate] - ${BUSY}`, 'refused: phone_busy'],
    [400, '400.002.02', 'Bad Request - Invalid PhoneNumber', 'refused: refused'],
    [404, '404.001.01', 'Resource not found', 'refused: refused'],
    [429, '500.003.02', 'System is busy. Please try again in few minutes.', 'not_sent'],
    [400, '400.003.01', 'Invalid Access Token', 'not_sent'],
    [404, '404.001.03', 'Invalid Access Token', 'not_sent'],

    [500, '500.001.1001', 'The transaction is being processed', 'unknown'],
    [400, '500.001.1001', 'The transaction is being processed', 'unknown'],
    [200, '500.001.1001', 'The transaction is being processed', 'unknown'],
    [500, '500.001.1001', `${BUSY}: the transaction is being processed`, 'unknown'],
    [500, '500.001.1001', 'Merchant does not exist, or the request timed out', 'unknown'],
    [500, '500.001.1001', 'Internal Server Error', 'unknown'],
    [500, '500.001.1001', '', 'unknown'],
    [500, '500.003.1001', 'Wrong credentials', 'unknown'],
    [500, '500.003.1001', 'Internal Server Error', 'unknown'],
    [500, '500.003.02', 'System is busy. Please try again in few minutes.', 'unknown'],
    [500, '500.003.02', BUSY, 'unknown'],
    [500, '404.001.03', 'Invalid Access Token', 'unknown'],
    [503, '503.001.01', 'Service is currently unavailable', 'unknown'],
    [504, '504.001.01', 'Gateway Timeout', 'unknown'],
    [408, '408.001.01', 'Request Timeout', 'unknown'],
  ])('with status %i, code %s and the text "%s" is %s', async (status, code, text, outcome) => {
    expect(await send(errorAnswer(status, text, code))).toBe(outcome);
  });

  it.each([
    [{ ResponseCode: '0', CheckoutRequestID: 'ws_CO_1' }, 'sent'],
    [{ ResponseCode: '00000000', CheckoutRequestID: 'ws_CO_1' }, 'sent'],
    [{ ResponseCode: '1', ResponseDescription: 'Rejected' }, 'refused: refused'],
    [{ ResponseCode: 'SFC_IC0003', ResponseDescription: 'The operator does not exist.' }, 'refused: refused'],
    [{ ResponseCode: '1', ResponseDescription: 'The transaction is being processed' }, 'unknown'],
    [{ ResponseCode: '0' }, 'unknown'],
    [{}, 'unknown'],
  ])('with status 200 and the fields %j is %s', async (body, outcome) => {
    expect(await send({ body })).toBe(outcome);
  });

  it.each([
    [500, '<html>Wrong credentials</html>'],
    [502, ''],
    [200, '<html>'],
  ])('with status %i and the text "%s" is unknown', async (status, body) => {
    expect(await send({ status, body })).toBe('unknown');
  });
});

describe('asking for the outcome of a payment request', () => {
  const withCode = (ResultCode: string, fields = {}) => ({
    body: { ResponseCode: '0', ResultCode, ResultDesc: 'Text', ...fields },
  });

  it.each([
    ['0', 'paid'],
    ['00', 'paid'],
    ['1', 'ended: insufficient_funds'],
    ['1032', 'ended: cancelled'],
    ['1037', 'ended: no_answer'],
    ['2001', 'ended: wrong_pin'],
    ['4999', 'waiting'],
    ['SFC_IC0003', 'unknown'],
    ['TP40087', 'unknown'],
    ['500.001.1001', 'unknown'],
    ['500001', 'unknown'],
    ['-1', 'unknown'],
    ['toString', 'unknown'],
    ['', 'unknown'],
  ])('with the code "%s" is %s', async (code, outcome) => {
    expect(await query(withCode(code))).toBe(outcome);
  });

  it.each([
    ['for a query that failed', { ResponseCode: '1' }, 'unknown'],
    ['about another request', { CheckoutRequestID: 'ws_CO_2' }, 'unknown'],
    ['with a text about processing', { ResultDesc: 'The transaction is being processed' }, 'waiting'],
  ])('with the code of a cancelled request, but %s, is unfinished', async (_, fields, outcome) => {
    expect(await query(withCode('1032', fields))).toBe(outcome);
  });

  it.each([
    [500, '500.001.1001', 'The transaction is being processed', 'waiting'],
    [200, '500.001.1001', 'The transaction is being processed', 'waiting'],
    [500, '500.001.1001', 'Merchant does not exist', 'unknown'],
    [500, '500.001.1001', 'Wrong credentials', 'unknown'],
    [500, '500.001.1001', BUSY, 'unknown'],
    [400, '400.002.02', 'Bad Request - Invalid CheckoutRequestID', 'unknown'],
    [503, '503.001.01', 'Service is currently unavailable', 'unknown'],
  ])('with status %i, code %s and the text "%s" is %s', async (status, code, text, outcome) => {
    expect(await query(errorAnswer(status, text, code))).toBe(outcome);
  });
});
