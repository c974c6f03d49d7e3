import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { useService } from '../../test/support/harness.ts';
import { readDatabase } from './backup-file.ts';

const service = useService();

/** PostgreSQL's message CopyDone, which has no content. */
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);

test('a backup counts the rows of each table, even if the server reports their number some time after the last row', async () => {
  const proxy = createServer({ noDelay: true }, (client) => forward(client)).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const client = new pg.Client({ ...(await addressOfDatabase()), host: '127.0.0.1', port });
  await client.connect();
  const parts: Buffer[] = [];
  let total = 0;
  for await (const part of readDatabase(client, (rows) => {
    total = rows;
  })) {
    parts.push(part);
  }
  await client.end();
  proxy.close();

  const lines = Buffer.concat(parts).toString('utf8').trimEnd().split('\n');
  const { tables } = JSON.parse(lines.at(-1) ?? '') as { tables: { rows: number }[] };
  const written = lines.slice(2, -1).join('\n').split('\\.').slice(0, -1);
  expect(tables.map(({ rows }) => rows)).toEqual(
    written.map((rows) => rows.split('\n').filter((row) => row !== '').length),
  );
  expect(total).toBeGreaterThan(10);
});

async function addressOfDatabase() {
  const { user, password, ssl: _ssl, ...rest } = new pg.Client(service.connection);
  return { user, password: password ?? undefined, database: rest.database };
}

/** Forwards everything, and pauses after CopyDone. */
function forward(client: Socket): void {
  const { host, port } = new pg.Client(inject('server'));
  const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  server.setNoDelay();
  client.pipe(server);
  const pass = async () => {
    for await (const bytes of server as AsyncIterable<Buffer>) {
      const end = bytes.indexOf(COPY_DONE);
      if (end < 0) {
        client.write(bytes);
        continue;
      }
      client.write(bytes.subarray(0, end + COPY_DONE.length));
      await delay(2);
      client.write(bytes.subarray(end + COPY_DONE.length));
    }
    client.end();
  };
  pass().catch(() => client.destroy());
}
