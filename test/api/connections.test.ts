import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newAccount, useService, whileHolding } from '../support/harness.ts';
import { eventually, until, untilPasses } from '../support/waiting.ts';

/** The limits of one connection. test/security/slow-readers.security.ts tests floods and slow readers. */
const service = useService({ TRUST_PROXY: '127.0.0.1' });

function request(path: string, headers: Record<string, string> = {}): string {
  const given = { host: 'localhost', authorization: `Bearer ${service.adminToken}`, ...headers };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function open(): Promise<Socket> {
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket.setEncoding('latin1');
}

/** Sends requests without waiting for answers. */
async function pipeline(requests: string) {
  const socket = await open();
  onTestFinished(() => void socket.destroy());
  const received = { text: '', isClosed: false };
  socket.on('data', (chunk) => {
    received.text += chunk;
  });
  socket.on('error', () => {}); // A reset: `close` follows.
  socket.on('close', () => {
    received.isClosed = true;
  });
  socket.write(requests);
  return { socket, received };
}

/** Does the work, and waits until this number of requests has reached the service. */
async function untilReceived(requests: number, work: () => unknown): Promise<void> {
  let count = 0;
  const add = () => {
    count += 1;
  };
  service.app.server.on('request', add);
  try {
    await work();
    await until('the requests to arrive', () => count >= requests);
  } finally {
    service.app.server.off('request', add);
  }
}

describe('requests that are sent before earlier ones are answered', () => {
  it('are answered in their order, up to 64', async () => {
    const pairs = Array.from({ length: 32 }, () => request('/livez') + request('/api/products'));
    const { socket, received } = await pipeline(pairs.join(''));
    const bodies = () =>
      [...received.text.matchAll(/"status":"alive"|"message":"Products found\."/g)].map(([found]) => found);
    await eventually(bodies).toHaveLength(64);
    expect(bodies().filter((_, index) => index % 2 === 0)).toEqual(Array(32).fill('"status":"alive"'));
    socket.write(request('/livez')); // The connection is still open.
    await eventually(bodies).toHaveLength(65);
  });

  it.each(['/livez', '/readyz', '/health', '/api/products', '/api/nothing', '/api-docs/openapi.json'])(
    'end the connection when more than 64 are unanswered: %s',
    async (path) => {
      const { received } = await pipeline(request(path).repeat(65));
      await until('the end of the connection', () => received.isClosed);
      expect([...received.text.matchAll(/^HTTP\/1\.1 /gm)].length).toBeLessThan(65);
    },
  );

  it('release their places when the connection ends before they are answered', async () => {
    await whileHolding(service, 'lock table customers in access exclusive mode', async () => {
      for (let n = 0; n < 10; n++) {
        const socket = await open();
        await untilReceived(31, () =>
          socket.write(request('/api/customers') + request('/api/products').repeat(30)),
        );
        socket.resetAndDestroy();
      }
    });
    await untilPasses(async () => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => service.call('GET', '/products')));
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    });
  });
});

describe('exports on a connection that is closed while they begin', () => {
  it('release their slots', async () => {
    // More than the connections in between hold.
    await service.parts.pool.query(
      `insert into payments (amount_minor, payment_method_id, payment_date, status, source)
        select n, 2, '2025-03-01', 'unmatched', 'manual' from generate_series(1, 20000) n`,
    );
    const path = '/reports/payments?format=csv&startDate=2025-01-01&endDate=2025-12-31';
    for (let n = 0; n < 3; n++) {
      const socket = await open();
      socket.write(request(`/api${path}`).repeat(66));
      await once(socket, 'close');
    }
    await eventually(async () => (await service.call('GET', path)).status).toBe(200);
    const copies = async () => {
      const { rows } = await service.parts.pool.query(
        `select from pg_stat_activity where datname = current_database() and query like 'copy (%' and state <> 'idle'`,
      );
      return rows;
    };
    await eventually(copies).toEqual([]);
  });
});

/** The path of an invoice of 400 kB. */
async function newLargeInvoice(): Promise<string> {
  const { id: accountId } = await newAccount(service);
  const items = Array.from({ length: 200 }, () => ({
    description: '😀'.repeat(500),
    quantity: 1,
    unitPrice: 1,
  }));
  return `/invoices/${(await service.call('POST', '/invoices', { accountId, items })).body.data.id}`;
}

describe('static files that nobody has read yet', () => {
  it('do not count as unread, because all connections share one buffer', async () => {
    const path = await newLargeInvoice();
    const file = '/api-docs/openapi.json';
    const { byteLength } = await (await fetch(`${service.origin}${file}`)).arrayBuffer();
    const filesEach = 60;
    // More than the 16 MiB of one caller, and of five callers together more than the 64 MiB of all.
    expect(filesEach * byteLength).toBeGreaterThan(16 * 2 ** 20);
    const sockets: Socket[] = [];
    await whileHolding(service, 'lock table customers in access exclusive mode', async () => {
      for (let caller = 1; caller <= 5; caller++) {
        const socket = await open();
        sockets.push(socket);
        const headers = { 'x-forwarded-for': `192.0.2.${caller}` };
        // Behind an answer that waits for the lock, none of the files can be sent.
        await untilReceived(1 + filesEach, () =>
          socket.write(request('/api/customers', headers) + request(file, headers).repeat(filesEach)),
        );
      }
      expect((await service.call('GET', path)).status).toBe(200);
    }).finally(() => {
      for (const socket of sockets) socket.destroy();
    });
  });
});

describe('a large answer whose client has gone', () => {
  it('is not counted as unread', async () => {
    const path = await newLargeInvoice();
    await whileHolding(service, 'lock table invoice_items in access exclusive mode', async () => {
      // Together 24 MB, where 16 MB may be unread.
      for (let n = 0; n < 60; n++) {
        const socket = await open();
        await untilReceived(1, () => socket.write(request(`/api${path}`)));
        socket.resetAndDestroy();
      }
    });
    await eventually(() => service.parts.pool.waitingCount).toBe(0);
    for (let n = 0; n < 5; n++) expect((await service.call('GET', path)).status).toBe(200);
  });
});
