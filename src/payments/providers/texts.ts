/** How long a field may be; nothing that a provider sends comes near it. */
const MAX_FIELD_LENGTH = 256;

const utf8 = new TextDecoder();

/**
 * Reads a call's JSON. What is no UTF-8 is replaced, as in the text that is kept: one letter of a name must not hold
 * up money.
 * @returns undefined for anything but an object.
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(body));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // Not JSON: the caller is told, and the text is kept.
  }
}

/**
 * A field as text, as `cleanText` gives it; null for one that is neither a text nor a number. Numbers are accepted where
 * the provider promises strings.
 *
 * @param rawBody the call's own text, for digits beyond what a number holds exactly.
 */
export function textOf(fields: Record<string, unknown>, name: string, rawBody = ''): string | null {
  const parsed = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const isRounded = typeof parsed === 'number' && Math.abs(parsed) > Number.MAX_SAFE_INTEGER;
  const value = isRounded ? new RegExp(`"${name}"\\s*:\\s*(\\d+)\\s*[,}]`).exec(rawBody)?.[1] : parsed;
  return typeof value === 'string' || typeof value === 'number' ? cleanText(String(value)) : null;
}

/** Trimmed, within bounds and without characters that nobody sees; null for an empty text. */
export function cleanText(text: string): string | null {
  const clean = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .trim()
    .slice(0, MAX_FIELD_LENGTH);
  return clean === '' ? null : clean;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
