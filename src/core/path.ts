/** The path of a request, where the router ends it: what comes after it may hold secrets, and says nothing more of the address. */
export function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}
