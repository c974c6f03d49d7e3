import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { formatAccountNumber } from '../accounts/account-number.ts';
import { type Candidate, decideMatch, type LadderMethod, readPayer, readReference } from './matching.ts';

const sha256 = (digits: string) => createHash('sha256').update(digits).digest();

describe('readReference', () => {
  const read = (reference: string | null, payer: string | null = null) =>
    readReference(reference, payer, 'KE');

  it('reads an account number however it is typed', () => {
    const number = formatAccountNumber(7);
    for (const typed of [
      number,
      number.toLowerCase(),
      ` ${number.slice(0, 5)} ${number.slice(5)}. `,
      number.slice(3),
    ]) {
      expect(read(typed).accountId, typed).toBe(7);
    }
  });

  it('reads no account number with a wrong check digit', () => {
    const number = formatAccountNumber(7);
    const wrong = `${number.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`;
    expect(read(wrong).accountId).toBeNull();
  });

  it('reads one text in every way that it can be read', () => {
    expect(read('0712345678')).toMatchObject({
      accountId: null,
      nationalIdKey: '0712345678',
      phone: '+254712345678',
      bareAccountId: null, // no id begins with zero
    });
    expect(read('712345678')).toMatchObject({ phone: '+254712345678', bareAccountId: 712345678 });
    expect(read('ab 12-3')).toMatchObject({ nationalIdKey: 'AB123', phone: null, bareAccountId: null });
  });

  it('reads digits of any width, and white space around them', () => {
    expect(read(' １２３４５ ')).toMatchObject({ bareAccountId: 12345, nationalIdKey: '12345' });
  });

  it.each(['-', '0', 'n/a', '1234'])(
    'takes %s for no national id: placeholders stand in many places',
    (reference) => {
      expect(read(reference).nationalIdKey).toBeNull();
    },
  );

  it.each([null, '', '   ', '\u00a0'])('finds an empty reference in %j', (reference) => {
    expect(read(reference)).toEqual({
      accountId: null,
      nationalIdKey: null,
      phone: null,
      bareAccountId: null,
      payerSha256: null,
      referenceIsEmpty: true,
    });
  });

  it('reads nothing in a text that is longer than any reference, which is still not empty', () => {
    expect(read('7'.repeat(101))).toMatchObject({
      accountId: null,
      nationalIdKey: null,
      phone: null,
      bareAccountId: null,
      referenceIsEmpty: false,
    });
  });
});

describe('readPayer', () => {
  it.each(['254712345678', '+254712345678', '0712345678', '0712 345 678', '712345678'])(
    'knows the customer behind %s by the digest of the international digits',
    (payer) => {
      expect(readPayer(payer, 'KE')).toEqual(sha256('254712345678'));
    },
  );

  it('takes a digest in hex as it stands, in either case', () => {
    const hex = sha256('254712345678').toString('hex');
    expect(readPayer(hex, 'KE')).toEqual(sha256('254712345678'));
    expect(readPayer(hex.toUpperCase(), 'KE')).toEqual(sha256('254712345678'));
  });

  it.each(['2547****149', '', null, 'John', `${'a'.repeat(63)}`, `${'g'.repeat(64)}`])(
    'knows nobody by %s',
    (payer) => {
      expect(readPayer(payer, 'KE')).toBeNull();
    },
  );
});

describe('decideMatch', () => {
  const found = (method: LadderMethod, accountId: number): Candidate => ({ method, accountId });

  it.each<LadderMethod>(['account_number', 'national_id', 'phone', 'account_id'])(
    'takes the one account that %s found',
    (method) => {
      expect(decideMatch([found(method, 7)], false)).toEqual({ accountId: 7, method });
    },
  );

  it('lets the payer’s phone decide only when nothing was typed', () => {
    const candidates = [found('payer_phone', 7)];
    expect(decideMatch(candidates, true)).toEqual({ accountId: 7, method: 'payer_phone' });
    expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
  });

  it('names the most trusted of the readings that agree', () => {
    const agreeing = [found('phone', 7), found('national_id', 7), found('account_id', 7)];
    expect(decideMatch(agreeing, false)).toEqual({ accountId: 7, method: 'national_id' });
  });

  it.each<[LadderMethod, LadderMethod]>([
    ['account_number', 'national_id'],
    ['national_id', 'phone'],
    ['phone', 'account_id'],
    ['phone', 'phone'],
  ])('decides nothing when %s and %s point to two accounts', (one, other) => {
    const candidates = [found(one, 7), found(other, 8)];
    expect(decideMatch(candidates, false)).toEqual({ accountId: null, candidates });
  });

  it('decides nothing when the payer has two accounts and typed nothing', () => {
    const candidates = [found('payer_phone', 7), found('payer_phone', 8)];
    expect(decideMatch(candidates, true)).toEqual({ accountId: null, candidates });
  });

  it('is not shaken by another account of whoever paid', () => {
    const candidates = [found('national_id', 7), found('payer_phone', 8)];
    expect(decideMatch(candidates, false)).toEqual({ accountId: 7, method: 'national_id' });
  });

  it('decides nothing where nothing was found', () => {
    expect(decideMatch([], true)).toEqual({ accountId: null, candidates: [] });
  });
});
