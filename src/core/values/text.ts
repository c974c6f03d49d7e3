import { hasVisible } from './fold.ts';

/**
 * Whether a text is one line that a person can read: a visible character, no control characters, which hide in logs and
 * files, and no lone surrogates, which UTF-8 cannot hold.
 */
export function isVisibleText(text: string): boolean {
  return !/\p{Cc}/u.test(text) && hasVisible(text) && text.isWellFormed();
}
