import { describe, expect, it } from 'vitest';
import { matchesEtag, quality } from './negotiation.ts';

describe('quality', () => {
  it.each([
    ['br, gzip', 1],
    ['gzip;q=0.5 , BR ; q=0.8', 0.8],
    ['gzip', 0],
    ['', 0],
    ['*', 1],
    ['*;q=0.1, br;q=0', 0],
    ['br;q=nonsense', 0],
    ['br;q=7', 1],
    ['br;level=3', 1],
  ])('of br in "%s" is %d', (header, expected) => {
    expect(quality(header, 'br', '*')).toBe(expected);
  });

  it('follows the most specific name that the header has', () => {
    const accept = 'text/*;q=0.5, text/html;q=0.2, */*;q=0.9';
    expect(quality(accept, 'text/html', 'text/*', '*/*')).toBe(0.2);
    expect(quality(accept, 'text/css', 'text/*', '*/*')).toBe(0.5);
    expect(quality(accept, 'image/png', 'image/*', '*/*')).toBe(0.9);
  });
});

describe('matchesEtag', () => {
  it.each([
    ['"a"', '"a"', true],
    ['W/"a"', '"a"', true],
    ['"a"', 'W/"a"', true],
    ['"b", W/"a"', 'W/"a"', true],
    ['*', '"a"', true],
    ['"b"', '"a"', false],
    ['', '"a"', false],
    [undefined, '"a"', false],
  ])('of If-None-Match %s and the tag %s is %s', (header, etag, expected) => {
    expect(matchesEtag(header, etag)).toBe(expected);
  });
});
