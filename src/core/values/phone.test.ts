import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nationalDigits, phoneSha256, readChangedPhone, readPhone, withoutTrunkZero } from './phone.ts';

describe('readPhone', () => {
  it.each([
    ['+254712345678', 'KE', '+254712345678'],
    ['+254000000', 'UG', '+254000000'],
    ['+254 (712) 345-678', 'KE', '+254712345678'],
    ['+49 30.901820', 'KE', '+4930901820'],
    ['+12345678', 'KE', '+12345678'],
    ['+123456789012345', 'KE', '+123456789012345'],
    ['0712345678', 'KE', '+254712345678'],
    ['712 345 678', 'KE', '+254712345678'],
    ['254712345678', 'KE', '+254712345678'],
    ['0772 123456', 'UG', '+256772123456'],
    ['+254 0712 345 678', 'KE', '+254712345678'],
    ['2540712345678', 'KE', '+254712345678'],
    ['+254 (0)712 345 678', 'KE', '+254712345678'],
    ['00254 712 345 678', 'KE', '+254712345678'],
    ['0044 20 7946 0018', 'KE', '+442079460018'],
    ['0712\u2011345\u2011678', 'KE', '+254712345678'],
    ['0712–345–678', 'KE', '+254712345678'],
    ['\u202a+254 712 345 678\u202c', 'KE', '+254712345678'],
    ['0712.345.600', 'KE', '+254712345600'],
    ['+254 20 234 5678', 'KE', '+254202345678'],
    ['+254 134 567 890', 'KE', '+254134567890'],
    ['+256 0772 123456', 'KE', '+2560772123456'],
    ['06 1234 5678', 'IT', '+390612345678'],
    ['01 23 45 67 89', 'CI', '+2250123456789'],
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
    '+25471234567',
    '+2547123456789',
    '071234567',
    '07123456789',
    '0000000000',
    '00712345678',
    '254712345005.0',
    '0712345678.0',
    '712345678.00',
    '+442079460018.0',
    '7.1E8',
    '2.54712E+11',
  ])('finds no phone number in "%s"', (text) => {
    expect(readPhone(text, 'KE')).toBeUndefined();
  });

  it('reads only international numbers for a region that does not exist', () => {
    expect(readPhone('0712345678', 'ZZ')).toBeUndefined();
    expect(readPhone('+254712345678', 'ZZ')).toBe('+254712345678');
  });
});

it('readChangedPhone accepts a stored number that is not a phone number, and no other such number', () => {
  expect(readChangedPhone('+25471234567', '+25471234567', 'KE')).toBe('+25471234567');
  expect(readChangedPhone('+25471234568', '+25471234567', 'KE')).toBeUndefined();
  expect(readChangedPhone('+2540712345678', '+2540712345678', 'KE')).toBe('+2540712345678');
  expect(readChangedPhone('0712 345 678', '+25471234567', 'KE')).toBe('+254712345678');
});

it.each([
  ['+2540712345678', 'KE', '+254712345678'],
  ['+2540202345678', 'KE', '+254202345678'],
  ['+2560772123456', 'UG', '+256772123456'],
  ['+254712345678', 'KE', undefined],
  ['+254071234567', 'KE', undefined],
  ['+25407123456789', 'KE', undefined],
  ['+25471234567', 'KE', undefined],
  ['+25400712345678', 'KE', undefined],
  ['+254005712345678', 'KE', undefined],
  ['+2560772123456', 'KE', undefined],
  ['+390612345678', 'IT', undefined],
  ['+2250123456789', 'CI', undefined],
  ['+2540712345678', 'ZZ', undefined],
])('withoutTrunkZero turns the stored phone %s of %s into %s', (stored, region, phone) => {
  expect(withoutTrunkZero(stored, region)).toBe(phone);
});

it('phoneSha256 is the digest of the digits without plus, as providers send it', () => {
  expect(phoneSha256('+254712345678')).toEqual(createHash('sha256').update('254712345678').digest());
});

it('nationalDigits returns the digits that are dialled within the country', () => {
  expect(nationalDigits('+254712345678')).toBe('0712345678');
  expect(nationalDigits('+49301234567')).toBe('0301234567');
});
