import { describe, expect, it } from 'vitest';
import { mobilemoneyRequester } from './mobilemoney-requests.ts';

/** Reads an answer that the provider posts. */
function read(fields: object) {
  const stkCallback = { CheckoutRequestID: 'ws_CO_1', ...fields };
  return mobilemoneyRequester.read(Buffer.from(JSON.stringify({ Body: { stkCallback } })));
}

const resultOf = (code: unknown, text = 'Text') => read({ ResultCode: code, ResultDesc: text })?.result;

describe('an answer that the provider posts', () => {
  it.each([0, '0', '00', '00000000'])('reports a payment with the code %j', (code) => {
    expect(resultOf(code)).toEqual({ outcome: 'paid', message: 'Text' });
  });

  it.each([
    [1, 'insufficient_funds'],
    [17, 'refused'],
    [26, 'refused'],
    [1001, 'phone_busy'],
    [1019, 'no_answer'],
    [1025, 'refused'],
    [1031, 'cancelled'],
    ['1032', 'cancelled'],
    [1037, 'no_answer'],
    [2001, 'wrong_pin'],
    [8006, 'wrong_pin'],
    [9999, 'refused'],
  ])('ends the request with the code %j because of %s', (code, reason) => {
    expect(resultOf(code)).toEqual({ outcome: 'ended', reason, message: 'Text' });
  });

  it.each(['SFC_IC0003', 'TP40087', 'R000002', 'C2B00011', '500.001.1001', 'toString', -1, 2028, 500001])(
    'ends the request with the unlisted code %j, which its message names',
    (code) => {
      expect(resultOf(code)).toEqual({ outcome: 'ended', reason: 'refused', message: `Text (${code})` });
    },
  );

  it('names the code if it has no text', () => {
    expect(read({ ResultCode: 'TP40087' })?.result).toMatchObject({ message: 'ResultCode (TP40087)' });
  });

  it.each([
    [4999, 'Text'],
    ['500.001.1001', 'The transaction is being processed'],
    ['SFC_IC0003', 'The transaction is still under processing'],
  ])('leaves the request open with the code %j and the text %j', (code, text) => {
    expect(resultOf(code, text)).toEqual({ outcome: 'waiting', message: text });
  });

  it('reports a payment whatever its text says', () => {
    expect(resultOf(0, 'The payment is being processed')).toMatchObject({ outcome: 'paid' });
  });

  it.each([undefined, null, '', '  ', {}, [1032], true])('is unreadable with the code %j', (code) => {
    expect(read({ ResultCode: code })).toBeUndefined();
  });

  it.each(['', 'text', '[]', '{}', '{"Body":{}}', '{"Body":{"stkCallback":[]}}'])(
    'is unreadable if it is %j',
    (body) => {
      expect(mobilemoneyRequester.read(Buffer.from(body))).toBeUndefined();
    },
  );
});
