import pg from 'pg';
import { nameStatements } from './named-statements.ts';
import { isStale } from './postgres-errors.ts';

/**
 * Each lane has its own connection: sessions, which every call needs, do not wait behind a row of a locked table, and rows do
 * not wait behind lists.
 */
export type Lane = 'sessions' | 'rows' | 'lists';

/**
 * Pipelined connections that all requests share for statements that find a few rows by their key or in the order of an
 * index. A statement must be quick, because later statements of its lane wait for it. One connection per lane is enough:
 * PostgreSQL answers on it as fast as one process can ask.
 */
export interface ReadingLanes {
  find<Row>(lane: Lane, text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * @param settings of a pipelined connection.
 * @param onConnectionLost called when a connection breaks. The next statement opens another one.
 */
export function openReadingLanes(
  settings: pg.ClientConfig,
  onConnectionLost: (error: Error) => void,
): ReadingLanes {
  const lanes = new Map<Lane, Promise<pg.Client>>();
  // Per lane, because the many texts of lists would use up the names of the others.
  const nameOf = { sessions: nameStatements('l'), rows: nameStatements('l'), lists: nameStatements('l') };
  let closed = false;

  function connect(lane: Lane): Promise<pg.Client> {
    if (closed) throw new Error('Client was closed and is not queryable');
    const client = new pg.Client(settings);
    client.on('error', (error) => {
      leave(lane, connected);
      onConnectionLost(error);
    });
    client.on('end', () => leave(lane, connected));
    const connected = client.connect().then(() => client);
    connected.catch(() => leave(lane, connected));
    lanes.set(lane, connected);
    return connected;
  }

  /** Statements already sent are still answered. The next one opens another connection. */
  function leave(lane: Lane, connected: Promise<pg.Client>): void {
    if (lanes.get(lane) !== connected) return;
    lanes.delete(lane);
    connected.then(
      (client) => client.end(),
      () => {}, // It never connected.
    );
  }

  async function ask<Row>(lane: Lane, text: string, values: readonly unknown[]): Promise<Row[]> {
    const connected = lanes.get(lane) ?? connect(lane);
    const client = await connected;
    const name = nameOf[lane](text);
    try {
      const { rows } = await client.query({ text, values: [...values], ...(name && { name }) });
      return rows as Row[];
    } catch (error) {
      if (isStale(error)) leave(lane, connected);
      throw error;
    }
  }

  return {
    find: <Row>(lane: Lane, text: string, values: readonly unknown[]) =>
      ask<Row>(lane, text, values).catch((error: unknown) => {
        if (!isStale(error)) throw error;
        return ask<Row>(lane, text, values);
      }),
    async close() {
      closed = true;
      const clients = await Promise.allSettled(lanes.values());
      await Promise.all(clients.map((client) => client.status === 'fulfilled' && client.value.end()));
    },
  };
}
