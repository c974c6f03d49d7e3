import { dictionary } from '@zxcvbn-ts/language-common';
import { invalidField } from '../../core/http/errors.ts';
import { PASSWORD_MIN } from '../../core/http/fields.ts';
import { foldVisible } from '../../core/values/case-folding.ts';

const REFUSED_COUNT = 3_000;
/** Shorter parts of a name or an e-mail are ignored, because they occur in many other words. */
const MIN_WORD_LENGTH = 3;

/** The owner's names and e-mail, which an attacker tries first. */
interface PasswordOwner {
  email: string;
  firstName: string;
  lastName: string;
}

let common: Set<string> | undefined;

/**
 * Refuses common passwords, and passwords made of the owner's names and e-mail. Has no rules about character types, as NIST
 * SP 800-63B recommends. Outside production any password is accepted.
 *
 * @throws AppError VALIDATION_ERROR for the field `path`.
 */
export function refuseGuessablePassword(
  password: string,
  path: string,
  owner: PasswordOwner,
  production: boolean,
): void {
  if (!production) return;
  if (isCommon(password)) throw invalidField(path, 'is one of the most common passwords; choose another');
  if (isMadeOfOwnWords(password, owner)) {
    throw invalidField(
      path,
      `must have at least ${PASSWORD_MIN} letters and digits that are not part of your e-mail address or names`,
    );
  }
}

/** Whether the password is among the 3,000 most common leaked passwords, ignoring case, blanks and invisible characters. */
function isCommon(password: string): boolean {
  common ??= new Set(
    dictionary['passwords-common'].slice(0, REFUSED_COUNT).map((word) => foldVisible(String(word))),
  );
  const folded = foldVisible(password);
  return folded === '' || common.has(folded);
}

/** Whether the password contains words of the owner's names or e-mail, and is too short after these words are removed. */
function isMadeOfOwnWords(password: string, { email, firstName, lastName }: PasswordOwner): boolean {
  const whole = lettersAndDigits(password);
  const rest = [email, firstName, lastName]
    .flatMap((text) => [text, ...text.split(/[^\p{L}\p{M}\p{N}]+/u)])
    .map(lettersAndDigits)
    .filter((word) => word.length >= MIN_WORD_LENGTH)
    .sort((a, b) => b.length - a.length)
    .reduce((left, word) => left.replaceAll(word, ''), whole);
  return rest !== whole && rest.length < PASSWORD_MIN;
}

function lettersAndDigits(text: string): string {
  return foldVisible(text).replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}
