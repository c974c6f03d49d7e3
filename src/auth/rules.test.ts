import { describe, expect, it } from 'vitest';
import { profileOf } from './rules.ts';

const email = 'person@example.org';

describe('the profile of a person', () => {
  it.each([
    [{ given_name: 'Amina', family_name: 'Otieno', name: 'ignored' }, 'Amina', 'Otieno'],
    [{ name: 'Otto  von\nBerg' }, 'Otto', 'von Berg'],
    [{ name: 'Sukarno' }, 'Sukarno', ''],
    [{ given_name: 'Amina', name: 'Amina Otieno' }, 'Amina', ''],
    [{ family_name: 'Otieno', name: 'Amina Otieno' }, 'Amina', 'Otieno'],
    [{}, 'person', ''],
    [{ given_name: 5, name: { a: 1 } }, 'person', ''],
    [{ given_name: '\u0000 ', family_name: '\ud800' }, 'person', '\ufffd'],
  ])('%j has the names %s and %s', (claims, firstName, lastName) => {
    expect(profileOf({ email, ...claims })).toEqual({ email, firstName, lastName });
  });

  it('keeps names within what a user may have', () => {
    const profile = profileOf({ email, given_name: '𝔸'.repeat(300) });
    expect(profile?.firstName).toBe('𝔸'.repeat(100));
    expect(profileOf({ email: `${'x'.repeat(250)}@b.c` })?.firstName).toBe('x'.repeat(100));
  });

  it.each([undefined, null, true, 'true'])('is taken when email_verified is %s', (email_verified) => {
    expect(profileOf({ email, email_verified })).toBeDefined();
  });

  it.each([false, 'false', 0, 'yes', {}])('is not taken when email_verified is %s', (email_verified) => {
    expect(profileOf({ email, email_verified })).toBeUndefined();
  });

  it.each([
    undefined,
    null,
    5,
    '',
    'no',
    'a b@c.d',
    'a@b\n',
    `${'x'.repeat(251)}@b.c`,
    '\ud800@b.c',
    ['a@b.c'],
  ])('is not taken with the e-mail %j', (wrong) => {
    expect(profileOf({ email: wrong })).toBeUndefined();
  });
});
