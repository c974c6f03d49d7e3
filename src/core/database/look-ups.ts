import pg from 'pg';
import { isStale, nameStatements } from './named-statements.ts';

/**
 * Who waits for whom: sessions, which every call needs, do not queue behind a row whose table is locked, nor rows behind
 * lists.
 */
export type Line = 'sessions' | 'rows' | 'lists';

/**
 * Statements that find a few rows by their key or in the order of an index, on three connections that all requests
 * share: each is sent without waiting for the answers of those before it. None may be slow, since what is behind it
 * waits; more connections would gain nothing, because PostgreSQL answers on one as fast as one process can ask.
 */
export interface LookUps {
  find<Row>(line: Line, text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * @param settings of a pipelined connection.
 * @param onConnectionLost called when a connection breaks; the next look-up opens another.
 */
export function openLookUps(settings: pg.ClientConfig, onConnectionLost: (error: Error) => void): LookUps {
  const lines = new Map<Line, Promise<pg.Client>>();
  // Of each line: what lists are asked for in many ways shall leave the names of the others.
  const nameOf = { sessions: nameStatements('l'), rows: nameStatements('l'), lists: nameStatements('l') };
  let closed = false;

  function connect(line: Line): Promise<pg.Client> {
    if (closed) throw new Error('Client was closed and is not queryable');
    const client = new pg.Client(settings);
    client.on('error', (error) => {
      leave(line, connected);
      onConnectionLost(error);
    });
    client.on('end', () => leave(line, connected));
    const connected = client.connect().then(() => client);
    connected.catch(() => leave(line, connected));
    lines.set(line, connected);
    return connected;
  }

  /** What was sent is still answered; the next look-up opens another connection. */
  function leave(line: Line, connected: Promise<pg.Client>): void {
    if (lines.get(line) !== connected) return;
    lines.delete(line);
    connected.then(
      (client) => client.end(),
      () => {}, // One that could not connect need not end.
    );
  }

  async function ask<Row>(line: Line, text: string, values: readonly unknown[]): Promise<Row[]> {
    const connected = lines.get(line) ?? connect(line);
    const client = await connected;
    const name = nameOf[line](text);
    try {
      const { rows } = await client.query({ text, values: [...values], ...(name && { name }) });
      return rows as Row[];
    } catch (error) {
      if (isStale(error)) leave(line, connected);
      throw error;
    }
  }

  return {
    find: <Row>(line: Line, text: string, values: readonly unknown[]) =>
      ask<Row>(line, text, values).catch((error: unknown) => {
        if (!isStale(error)) throw error;
        return ask<Row>(line, text, values);
      }),
    async close() {
      closed = true;
      const clients = await Promise.allSettled(lines.values());
      await Promise.all(clients.map((client) => client.status === 'fulfilled' && client.value.end()));
    },
  };
}
