import { describe, expect, it } from 'vitest';
import { containedKeys, keysInBody } from './reference.ts';

describe('the ids in the body of a call', () => {
  it.each([
    ['JSON', '{"TransID":"SKB7MD40PL","ThirdPartyTransID":"ft26306ab12","MSISDN":"254712345678"}'],
    ['a form', 'TransID=SKB7MD40PL&ThirdPartyTransID=FT26306AB12&MSISDN=254712345678'],
    ['XML', '<COMMAND><TXNID>SKB7MD40PL</TXNID><REF>FT26306AB12</REF></COMMAND>'],
    ['a line of a statement', 'SKB7MD40PL,02-11-2026 10:15:30,EQUITY FT26306AB12 JANE,Completed,"400.00"'],
    ['a text in a field', '{"a":["SKB7MD40PL",{"b":"EQUITY/FT26306AB12 PESALINK"}]}'],
  ])('are found in %s', (_, body) => {
    expect(keysInBody(body)).toEqual(expect.arrayContaining(['SKB7MD40PL', 'FT26306AB12']));
  });

  it('include the id of a payment request, and neither numbers nor hashes', () => {
    const body = { id: 'ws_CO_021120261015301234', number: '29115-34620561-1', payer: 'a1'.repeat(32) };
    expect(keysInBody(JSON.stringify(body))).toEqual(['WS_CO_021120261015301234']);
  });

  it('are at most 20', () => {
    expect(keysInBody(Array.from({ length: 30 }, (_, n) => `ABCDEFG${n}`).join(' '))).toHaveLength(20);
  });
});

describe('the ids in a reference', () => {
  it('are those beside other text, and not the reference itself', () => {
    expect(containedKeys('SKB7MD40PL')).toEqual([]);
    expect(containedKeys('M-PESA/SKB7MD40PL, paid')).toContain('SKB7MD40PL');
  });
});
