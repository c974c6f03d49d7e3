import pg from 'pg';

/** Of a connection: texts that are built from what a caller asks for could be any number. */
const MOST_NAMES = 200;

/** Gives each statement text a name, so that PostgreSQL parses it once a connection; undefined for one too many. */
export function nameStatements(prefix: string): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MOST_NAMES) return known;
    const name = `${prefix}${names.size}`;
    names.set(text, name);
    return name;
  };
}

/**
 * Whether a connection's named statements are of no use any more: a newer version has changed the table that one
 * reads, or one was never parsed, because the call that should have was refused. Another connection has none of that.
 */
export function isStale(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  const { code, message } = error;
  return code === '26000' || code === '42P05' || (code === '0A000' && message.includes('cached plan'));
}
