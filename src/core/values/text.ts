import { hasVisible, withoutInvisible } from './case-folding.ts';

/**
 * Whether a text is one readable line. It needs a visible character. It must not have control characters, which cannot be seen in
 * logs, or lone surrogates, which UTF-8 cannot encode.
 */
export function isVisibleText(text: string): boolean {
  return !/\p{Cc}/u.test(text) && hasVisible(text) && text.isWellFormed();
}

/** The body of a request without the blanks at the ends of some of its texts. */
export function withTrimmed<T extends object>(body: T, ...names: (keyof T)[]): T {
  const texts = names
    .map((name) => [name, body[name]] as const)
    .filter(([, text]) => typeof text === 'string');
  return { ...body, ...Object.fromEntries(texts.map(([name, text]) => [name, String(text).trim()])) };
}

/** Whether a text can be an id: readable text without invisible characters, so that different ids do not look the same. */
export function isVisibleId(text: string): boolean {
  return isVisibleText(text) && withoutInvisible(text) === text;
}
