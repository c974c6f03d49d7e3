import { dictionary } from '@zxcvbn-ts/language-common';
import { invalidField } from '../core/errors.ts';

const REFUSED = 3_000;

let common: Set<string> | undefined;

/** Whether a password, in any case, is among the 3,000 most common of the leaked ones. */
function isCommonPassword(password: string): boolean {
  common ??= new Set(dictionary['passwords-common'].slice(0, REFUSED).map(String));
  return common.has(password.toLowerCase());
}

/** @throws AppError VALIDATION_ERROR at the path; outside production any password is taken. */
export function refuseCommonPassword(password: string, path: string, production: boolean): void {
  if (production && isCommonPassword(password)) {
    throw invalidField(path, 'is one of the most common passwords; choose another');
  }
}
