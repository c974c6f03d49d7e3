import { describe, expect, it } from 'vitest';
import { containedKeys, reportedIds } from './reference.ts';

describe('the ids in a report', () => {
  const fields = { TransID: 'SKB7MD40PL', ThirdPartyTransID: ' ft26306ab12 ', MSISDN: '254712345678' };

  it.each([
    ['JSON', JSON.stringify(fields)],
    ['JSON after a byte order mark', `\ufeff${JSON.stringify(fields)}`],
    ['nested JSON', JSON.stringify({ a: ['SKB7MD40PL', { b: 'FT26306AB12' }] })],
    ['a form', String(new URLSearchParams(fields))],
  ])('are whole fields of %s', (_, body) => {
    expect(reportedIds(body)).toEqual(['SKB7MD40PL', 'FT26306AB12']);
  });

  it('have dots, dashes and underscores', () => {
    const ids = ['ws_CO_021120261015301234', 'BP261102.1240.B01530', '9f1c-20b7-AA'];
    expect(reportedIds(JSON.stringify(ids))).toEqual(ids.map((id) => id.toUpperCase()));
  });

  it.each([
    ['parts of a text', 'EQUITY/FT26306AB12 PESALINK'],
    ['words', 'SunlightHome'],
    ['numbers', '29115-34620561-1'],
    ['hashes', 'a1'.repeat(32)],
    ['times', '2026-11-02T10:15:30.000Z'],
    ['times without dashes', '20261102T101530Z'],
    ['dates', '02-NOV-2026'],
    ['escaped characters', '\u00e9\u00e8\u00ea1\u00e9'],
  ])('are no %s', (_, text) => {
    expect(reportedIds(JSON.stringify({ text }))).toEqual([]);
    expect(reportedIds(JSON.stringify({ text }).replaceAll(/[\u0080-\uffff]/g, '\\u00e9'))).toEqual([]);
    expect(reportedIds(String(new URLSearchParams({ text })))).toEqual([]);
  });

  it('are not read from XML', () => {
    expect(reportedIds('<COMMAND><TXNID>BP261102.1240.B01530</TXNID></COMMAND>')).toEqual([]);
  });

  it('are at most 10', () => {
    const ids = Array.from({ length: 30 }, (_, n) => `ABCDEFG${n}`);
    expect(reportedIds(JSON.stringify(ids))).toHaveLength(10);
  });
});

describe('the ids in a reference', () => {
  it('are those beside other text, and not the reference itself', () => {
    expect(containedKeys('SKB7MD40PL')).toEqual([]);
    expect(containedKeys('M-PESA/SKB7MD40PL, paid')).toContain('SKB7MD40PL');
  });
});
