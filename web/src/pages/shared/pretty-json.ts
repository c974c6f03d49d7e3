/** JSON with line breaks. Other text stays as it is, because another system can send anything. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
