import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nationalDigits, phoneSha256, readPhone } from './phone.ts';

describe('readPhone', () => {
  it.each([
    ['+254712345678', 'KE', '+254712345678'],
    ['+254 (712) 345-678', 'KE', '+254712345678'],
    ['+49 30.901820', 'KE', '+4930901820'],
    ['+12345678', 'KE', '+12345678'],
    ['+123456789012345', 'KE', '+123456789012345'],
    ['0712345678', 'KE', '+254712345678'],
    ['712 345 678', 'KE', '+254712345678'],
    ['254712345678', 'KE', '+254712345678'],
    ['0772 123456', 'UG', '+256772123456'],
  ])('reads %s in %s as %s', (text, region, phone) => {
    expect(readPhone(text, region)).toBe(phone);
  });

  it.each([
    '',
    '+',
    '+1234567',
    '+1234567890123456',
    '+0712345678',
    '12345',
    '071234567x',
    '2547****149',
    '+254+712',
  ])('finds no phone number in "%s"', (text) => {
    expect(readPhone(text, 'KE')).toBeUndefined();
  });

  it('reads only international numbers for a region that does not exist', () => {
    expect(readPhone('0712345678', 'ZZ')).toBeUndefined();
    expect(readPhone('+254712345678', 'ZZ')).toBe('+254712345678');
  });
});

it('phoneSha256 is the digest of the digits without plus, as providers send it', () => {
  expect(phoneSha256('+254712345678')).toEqual(createHash('sha256').update('254712345678').digest());
});

it('nationalDigits returns the digits that are dialled within the country', () => {
  expect(nationalDigits('+254712345678')).toBe('0712345678');
  expect(nationalDigits('+49301234567')).toBe('0301234567');
});
