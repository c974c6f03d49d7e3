import { describe, expect, it } from 'vitest';
import { identityProblem, profileOf } from './claims-rules.ts';

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
    [{ given_name: '\u200b', family_name: '\u3164', name: '\u2060' }, 'person', ''],
    [{ given_name: '\u0000 ', family_name: '\ud800' }, 'person', '\ufffd'],
  ])('%j has the names %s and %s', (claims, firstName, lastName) => {
    expect(profileOf({ email, ...claims })).toEqual({ email, firstName, lastName });
  });

  it('shortens names to the limits of a user', () => {
    const profile = profileOf({ email, given_name: '𝔸'.repeat(300) });
    expect(profile?.firstName).toBe('𝔸'.repeat(100));
    expect(profileOf({ email: `${'x'.repeat(250)}@b.c` })?.firstName).toBe('x'.repeat(100));
  });

  it.each([undefined, null, true, 'true'])('can be read if email_verified is %s', (email_verified) => {
    expect(profileOf({ email, email_verified })).toBeDefined();
  });

  it.each([false, 'false', 0, 'yes', {}])('cannot be read if email_verified is %s', (email_verified) => {
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
    'per\u200bson@example.org',
    '\ufeffperson@example.org',
    'pers\u034fon@example.org',
    '<b>person</b>@example.org',
    'person@exam<ple.org',
    'person\uff1cb\uff1e@example.org',
    'person@ex%61mple.org',
    '"person"@example.org',
    'person@localhost',
  ])('cannot be read with the e-mail %j', (wrong) => {
    expect(profileOf({ email: wrong })).toBeUndefined();
  });
});

describe('an identity', () => {
  it.each(['1', 'a|b@c', 'x'.repeat(255)])('can have the subject %s', (sub) => {
    expect(identityProblem({ sub }, 'ams')).toBeUndefined();
  });

  it.each(['', ' ', '\u200b', 'a\u0000', '\ud800', 'a\udc00b', 'x'.repeat(256), 5, null, undefined])(
    'cannot have the subject %j',
    (sub) => {
      expect(identityProblem({ sub }, 'ams')).toContain('sub');
    },
  );

  it.each([undefined, 'ams'])('can come from a token whose authorized party is %s', (azp) => {
    expect(identityProblem({ sub: '1', azp }, 'ams')).toBeUndefined();
  });

  it.each(['another', '', null, ['ams']])('cannot come from a token whose authorized party is %j', (azp) => {
    expect(identityProblem({ sub: '1', azp }, 'ams')).toContain('azp');
  });
});
