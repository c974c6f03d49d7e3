import pg from 'pg';
import { isStale } from './postgres-errors.ts';
import { nameStatements } from './prepared-statements.ts';

/**
 * Each lane has its own connection. So reads of sessions, which every call needs, do not wait for a read of a locked table, and
 * reads of rows do not wait for lists.
 */
export type Lane = 'sessions' | 'rows' | 'lists';

/**
 * Pipelined connections that all requests share. Their statements find a few rows by key or in the order of an index. A
 * statement must be quick, because later statements of its lane wait for it. One connection for each lane is enough:
 * PostgreSQL answers as fast as one process can send statements.
 */
export interface PipelinedReads {
  find<Row>(lane: Lane, text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * @param settings the settings of a pipelined connection.
 * @param onConnectionLost called when a connection breaks. The next statement opens a new connection.
 */
export function openPipelinedReads(
  settings: pg.ClientConfig,
  onConnectionLost: (error: Error) => void,
): PipelinedReads {
  const lanes = new Map<Lane, Promise<pg.Client>>();
  // Each lane has its own names, because the many statement texts of lists would use up the limited number of shared names.
  const nameOf = { sessions: nameStatements('l'), rows: nameStatements('l'), lists: nameStatements('l') };
  let isClosed = false;

  function connect(lane: Lane): Promise<pg.Client> {
    if (isClosed) throw new Error('Client was closed and is not queryable');
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

  /** Stops using a connection. Statements already sent are still answered. The next statement opens another connection. */
  function leave(lane: Lane, connected: Promise<pg.Client>): void {
    if (lanes.get(lane) !== connected) return;
    lanes.delete(lane);
    connected.then(
      (client) => client.end(),
      () => {}, // The connection was never made.
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
      isClosed = true;
      const clients = await Promise.allSettled(lanes.values());
      await Promise.all(clients.map((client) => client.status === 'fulfilled' && client.value.end()));
    },
  };
}
