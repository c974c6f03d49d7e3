import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startTestService } from '../support/harness.ts';
import { until } from '../support/waiting.ts';

it('a client that sends only half of its request does not delay a stop for longer than drainMs', async () => {
  const { service, close } = await startTestService({}, { drainMs: 50 });
  const { port } = new URL(service.origin);
  const client = connect(Number(port), '127.0.0.1');
  client.on('error', () => {}); // The service may reset the connection.
  await once(client, 'connect');
  client.write('POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  const connections = () =>
    new Promise<number>((resolve) => service.app.server.getConnections((_error, count) => resolve(count)));
  await until('the half request', async () => (await connections()) > 0);
  const closed = new Promise((resolve) => client.once('close', resolve));
  await close();
  await closed;
  expect(client.destroyed).toBe(true);
});
