import {
  foldReference,
  MAX_ACCOUNT_NUMBER_LENGTH,
  readFoldedNumber,
} from '../../accounts/account-number-rules.ts';

const ACCOUNT_NUMBER_CHARACTERS = [...'0123456789', 'A', 'C'];
const MAX_NEAR_LENGTH = MAX_ACCOUNT_NUMBER_LENGTH + 1;
/** The length of the shortest account number without its prefix, minus one, because the payer may have left out a character. */
const MIN_NEAR_LENGTH = 7;

/**
 * Finds account numbers that differ from the reference by one edit: one character is wrong, missing or added, or two neighbouring
 * characters are swapped. For a usual number there are about 300 such texts. Only a few of them have a correct check digit.
 *
 * @returns the account ids of these numbers, ascending, without the id of the reference itself. Not every id belongs to an account.
 */
export function nearAccountNumbers(reference: string): number[] {
  const typed = foldReference(reference) ?? '';
  if (typed.length < MIN_NEAR_LENGTH || typed.length > MAX_NEAR_LENGTH) return [];
  const ids = new Set<number>();
  for (const text of oneEditFrom(typed)) {
    const id = readFoldedNumber(text);
    if (id !== undefined) ids.add(id);
  }
  const exact = readFoldedNumber(typed);
  return [...ids].filter((id) => id !== exact).sort((a, b) => a - b);
}

function* oneEditFrom(text: string): Generator<string> {
  for (let at = 0; at <= text.length; at++) {
    const [before, after] = [text.slice(0, at), text.slice(at)];
    for (const character of ACCOUNT_NUMBER_CHARACTERS) yield before + character + after;
    yield before + after.slice(1);
    for (const character of ACCOUNT_NUMBER_CHARACTERS) yield before + character + after.slice(1);
    if (after.length > 1) yield `${before}${after[1]}${after[0]}${after.slice(2)}`;
  }
}
