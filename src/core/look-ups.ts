import type { Duplex } from 'node:stream';
import pg from 'pg';

/** More would gain nothing: PostgreSQL answers what one connection asks about as fast as one process can ask. */
const CONNECTIONS = 2;
/** Of a connection: texts that are built from what a caller asks for could be any number. */
const NAMED_STATEMENTS = 200;

/**
 * Statements that find a few rows by their key, on connections that all requests share: each is sent without
 * waiting for the answers of those before it, and those of one turn of the event loop in one write. None may be
 * slow, since what is behind it waits.
 */
export interface LookUps {
  find<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

interface Line {
  /** Absent until it is needed, and again once it has broken. */
  client?: Promise<pg.Client>;
  waiting: number;
}

/** @param onConnectionLost called when a connection breaks; the next look-up opens another. */
export function openLookUps(settings: pg.ClientConfig, onConnectionLost: (error: Error) => void): LookUps {
  const lines: Line[] = Array.from({ length: CONNECTIONS }, () => ({ waiting: 0 }));
  const names = new Map<string, string>();

  function connect(line: Line): Promise<pg.Client> {
    const client = new pg.Client({ ...settings, pipeline: true });
    const forget = () => {
      if (line.client === connected) delete line.client;
    };
    client.on('error', (error) => {
      forget();
      onConnectionLost(error);
    });
    client.on('end', forget);
    const connected = client.connect().then(
      () => client,
      (error: unknown) => {
        forget();
        throw error;
      },
    );
    return connected;
  }

  function nameOf(text: string): string | undefined {
    const known = names.get(text);
    if (known !== undefined || names.size >= NAMED_STATEMENTS) return known;
    const name = `l${names.size}`;
    names.set(text, name);
    return name;
  }

  return {
    async find<Row>(text: string, values: readonly unknown[]) {
      const line = lines.reduce((one, other) => (other.waiting < one.waiting ? other : one));
      line.waiting += 1;
      try {
        line.client ??= connect(line);
        const client = await line.client;
        sendTogether(client.connection.stream, setImmediate);
        const name = nameOf(text);
        const { rows } = await client.query({ text, values: [...values], ...(name && { name }) });
        return rows as Row[];
      } finally {
        line.waiting -= 1;
      }
    },
    async close() {
      await Promise.all(
        lines.map(async (line) => {
          const client = await line.client?.catch(() => undefined); // One that could not connect need not end.
          await client?.end();
        }),
      );
    },
  };
}

/** Holds back what is written to a connection until its turn comes, so that all of it goes in one write. */
export function sendTogether(stream: Duplex, turn: (send: () => void) => void): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  turn(() => stream.uncork());
}
