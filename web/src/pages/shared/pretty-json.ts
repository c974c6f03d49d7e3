/** Formats JSON with line breaks. Returns text that is not JSON unchanged, because another system can send anything. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
