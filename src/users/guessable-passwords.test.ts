import { describe, expect, it } from 'vitest';
import { refuseGuessablePassword } from './guessable-passwords.ts';

const owner = { email: 'jo@sunlight.example', firstName: 'Jo', lastName: 'Müller' };
const check =
  (password: string, production = true) =>
  () =>
    refuseGuessablePassword(password, 'password', owner, production);

describe('a password in production', () => {
  it.each(['PASSWORD', 'ｐａｓｓｗｏｒｄ', 'pass word', 'password\u00a0\u200b', 'p\u00adassword', '\u3000'])(
    'is refused as common: %j',
    (password) => {
      expect(check(password)).toThrow('most common');
    },
  );

  it.each(['jo@sunlight.example', 'Sunlight2026', 'müller-MÜLLER', 'Mu\u0308ller 123', 'sunlight müller 1'])(
    'is refused as the owner’s own: %j',
    (password) => {
      expect(check(password)).toThrow('at least 8 letters and digits besides');
    },
  );

  it.each(['a long enough password', 'Müller hat 3 Ziegen', 'jojojojo', '??!!##&&//'])(
    'may be %j',
    (password) => {
      expect(check(password)).not.toThrow();
    },
  );
});

it('outside production any password is taken', () => {
  expect(check('password', false)).not.toThrow();
});
