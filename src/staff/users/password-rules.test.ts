import { describe, expect, it } from 'vitest';
import { refuseGuessablePassword } from './password-rules.ts';

const owner = { email: 'jo@sunlight.example', firstName: 'Jo', lastName: 'Müller' };
const check =
  (password: string, production = true) =>
  () =>
    refuseGuessablePassword(password, 'password', owner, production);

describe('refuseGuessablePassword', () => {
  it.each(['PASSWORD', 'ｐａｓｓｗｏｒｄ', 'pass word', 'password\u00a0\u200b', 'p\u00adassword', '\u3000'])(
    'refuses a common password in production: %j',
    (password) => {
      expect(check(password)).toThrow('most common');
    },
  );

  it.each(['jo@sunlight.example', 'Sunlight2026', 'müller-MÜLLER', 'Mu\u0308ller 123', 'sunlight müller 1'])(
    'refuses a password from the owner’s names and e-mail in production: %j',
    (password) => {
      expect(check(password)).toThrow('at least 8 letters and digits that are not part');
    },
  );

  it.each(['a long enough password', 'Müller hat 3 Ziegen', 'jojojojo', '??!!##&&//'])(
    'accepts %j in production',
    (password) => {
      expect(check(password)).not.toThrow();
    },
  );

  it('accepts any password outside production', () => {
    expect(check('password', false)).not.toThrow();
  });
});
