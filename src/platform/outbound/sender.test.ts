import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createNetworks } from '../../core/http/addresses.ts';
import { createSender, type SenderOptions } from './sender.ts';
import { messageHeaders, newSigningSecret, secretText, signatureOf } from './standard-webhooks.ts';

const nothing = { hosts: new Set<string>(), networks: undefined };
const loopback = { hosts: new Set<string>(), networks: createNetworks(['127.0.0.0/8', '::1']) };

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
});

async function listen<S extends Server>(server: S): Promise<{ port: number; server: S }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, server };
}

async function receiver(answer: http.RequestListener) {
  const requests: { headers: http.IncomingHttpHeaders; body: string; url: string }[] = [];
  const { port, server } = await listen(
    http.createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      requests.push({ headers: request.headers, body, url: request.url ?? '' });
      answer(request, response);
    }),
  );
  server.keepAliveTimeout = 0; // The receiver never closes an idle connection.
  cleanUp.push(() => server.closeAllConnections());
  return { port, requests, server };
}

function open(options: Partial<SenderOptions> = {}) {
  const sender = createSender({ destinations: loopback, maxConnections: 4, timeoutMs: 60_000, ...options });
  cleanUp.push(() => sender.close());
  return sender;
}

const message = { headers: { 'x-test': 'a' }, body: '{"name":"Wanjikũ"}' };

/** Replaces DNS. Each call returns the next answer. After the last answer, each call returns the last one again. */
function dns(...answers: string[][]) {
  const asked: string[] = [];
  const lookup = ((hostname: string, _options: object, done: (error: null, found: object[]) => void) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
    // `dns.lookup` has overloads; the sender uses only this one.
  }) as unknown as NonNullable<SenderOptions['lookup']>;
  return { lookup, asked };
}

describe('a request', () => {
  it('arrives as it was given, and its answer is returned', async () => {
    const { port, requests } = await receiver((_request, response) =>
      response.writeHead(202).end('thanks\0'),
    );
    const result = await open().post({ url: `http://127.0.0.1:${port}/hooks?a=b`, ...message });
    expect(result).toEqual({
      status: 202,
      answer: 'thanks\u{fffd}',
      error: null,
      retryAfterSeconds: null,
      durationMs: expect.any(Number),
    });
    expect(requests).toEqual([
      { url: '/hooks?a=b', body: message.body, headers: expect.objectContaining({ 'x-test': 'a' }) },
    ]);
  });

  it('reads Retry-After as seconds or as a date', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-02T08:15:30Z') });
    cleanUp.push(() => vi.useRealTimers());
    const values = ['90', 'Mon, 02 Nov 2026 08:16:30 GMT', 'Mon, 02 Nov 2026 08:14:30 GMT', 'soon'];
    const { port } = await receiver((request, response) =>
      response.writeHead(429, { 'retry-after': values[Number(request.url?.slice(1))] }).end(),
    );
    const sender = open();
    const seconds: (number | null)[] = [];
    for (const n of values.keys())
      seconds.push(
        (await sender.post({ url: `http://127.0.0.1:${port}/${n}`, ...message })).retryAfterSeconds,
      );
    expect(seconds).toEqual([90, 60, 0, null]);
  });

  it('does not follow a redirect', async () => {
    const { port, requests } = await receiver((_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${port}/other` }).end(),
    );
    const { status } = await open().post({ url: `http://127.0.0.1:${port}/`, ...message });
    expect([status, requests.length]).toEqual([307, 1]);
  });

  it('reads 4 kB of an endless answer', async () => {
    const { port } = await receiver(async (_request, response) => {
      response.writeHead(200);
      while (!response.destroyed) {
        response.write('x'.repeat(1000));
        await sleep(1);
      }
    });
    const { status, answer } = await open().post({ url: `http://127.0.0.1:${port}/`, ...message });
    expect([status, answer?.length]).toEqual([200, 4096]);
  });

  it('returns the status of an answer whose body never ends', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    cleanUp.push(() => vi.useRealTimers());
    const { port } = await receiver((_request, response) => void response.writeHead(200).write('begun'));
    const posted = open({ timeoutMs: 300 }).post({ url: `http://127.0.0.1:${port}/`, ...message });
    await new Promise<void>((resolve) => {
      const arrived = () => resolve();
      subscribe('http.client.response.finish', arrived);
      cleanUp.push(() => unsubscribe('http.client.response.finish', arrived));
    });
    await setImmediate(); // The beginning of the body came together with the headers.
    vi.advanceTimersByTime(300);
    const result = await posted;
    expect(result).toMatchObject({ status: 200, answer: 'begun', error: null });
  });

  it('fails after its time-out, at a receiver that is silent or sends its answer byte by byte', async () => {
    const silent = await receiver(() => {});
    let isWhole = false;
    const { port: slowPort } = await listen(
      createServer(async (socket: Socket) => {
        socket.on('error', () => {});
        for (const byte of 'HTTP/1.1 200 OK\r\n'.repeat(100)) {
          socket.write(byte);
          await sleep(20);
          if (socket.destroyed) return;
        }
        isWhole = true;
      }),
    );
    for (const port of [silent.port, slowPort]) {
      const result = await open({ timeoutMs: 50 }).post({ url: `http://127.0.0.1:${port}/`, ...message });
      expect(result).toMatchObject({ status: null, answer: null, error: 'no answer within 0.05 s' });
      expect(isWhole).toBe(false);
    }
  });

  it('fails at a port where nobody listens, and at a server that does not speak HTTP', async () => {
    const { port, server } = await listen(createServer((socket) => socket.end('hello\r\n')));
    const speaksNoHttp = await open().post({ url: `http://127.0.0.1:${port}/`, ...message });
    expect(speaksNoHttp.error).toMatch(/Parse Error/);
    server.close();
    const nobody = await open().post({ url: `http://127.0.0.1:${port}/`, ...message });
    expect(nobody).toMatchObject({ status: null, error: expect.stringContaining('ECONNREFUSED') });
  });

  it('is abandoned when its signal aborts, also before it starts', async () => {
    const { port, requests } = await receiver(() => stop.abort());
    const stop = new AbortController();
    const request = { url: `http://127.0.0.1:${port}/`, ...message };
    const sender = open();
    expect((await sender.post(request, stop.signal)).error).toBe('the service stopped');
    expect((await sender.post(request, stop.signal)).error).toBe('the service stopped');
    expect(requests).toHaveLength(1);
  });

  it('is sent again if the receiver has closed the connection that the request reuses', async () => {
    const { port, requests } = await receiver((request, response) => {
      // The second request on a connection gets no answer, as if the receiver had just closed the connection.
      const isReused = served.has(request.socket);
      served.add(request.socket);
      if (isReused) request.socket.destroy();
      else response.end();
    });
    const served = new Set<Socket>();
    const sender = open();
    const statuses = [];
    for (let n = 0; n < 3; n++)
      statuses.push((await sender.post({ url: `http://127.0.0.1:${port}/`, ...message })).status);
    expect([statuses, requests.length]).toEqual([[200, 200, 200], 5]);
  });
});

describe('an address that must not be called', () => {
  it('is refused in every spelling, also as a number, although it is reachable', async () => {
    const { port, requests } = await receiver((_request, response) => response.end());
    await expect(new Promise((resolve) => connect(port, '127.0.0.1', () => resolve('open')))).resolves.toBe(
      'open',
    );
    const sender = open({ destinations: nothing });
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
    ]) {
      const { error } = await sender.post({ url: `https://${host}:${port}/`, ...message });
      expect(error, host).toMatch(/public internet/);
    }
    expect(requests).toEqual([]);
  });

  it('is refused when DNS returns it for a name, even together with a public address', async () => {
    const { port, requests } = await receiver((_request, response) => response.end());
    for (const answer of [
      ['127.0.0.1'],
      ['::1'],
      ['1.1.1.1', '127.0.0.1'],
      ['::ffff:127.0.0.1'],
      ['169.254.169.254'],
      [],
    ]) {
      const sender = open({ destinations: nothing, lookup: dns(answer).lookup });
      const { error } = await sender.post({ url: `https://rebind.example:${port}/`, ...message });
      expect(error, answer.join()).toMatch(/public internet/);
    }
    expect(requests).toEqual([]);
  });

  it('is refused when DNS changes its answer between two connections', async () => {
    const { port, requests } = await receiver((_request, response) =>
      response.writeHead(200, { connection: 'close' }).end(),
    );
    const { lookup, asked } = dns(['127.0.0.1'], ['10.0.0.1']);
    const sender = open({ destinations: loopback, lookup });
    const request = { url: `https://rebind.example:${port}/`, ...message };
    // The first address is allowed here. The request fails only because it uses TLS and the receiver does not.
    expect((await sender.post(request)).error).toMatch(/wrong version number|packet length|EPROTO/);
    expect((await sender.post(request)).error).toMatch(/public internet/);
    expect(asked, 'each connection uses the one answer that was checked').toHaveLength(2);
    expect(requests).toEqual([]);
  });

  it('is not called through a proxy of the environment', async () => {
    const { port, requests } = await receiver((_request, response) => response.end());
    const proxy = await receiver((_request, response) => response.end('proxied'));
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names)
      process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
    const { answer } = await open().post({ url: `http://127.0.0.1:${port}/`, ...message });
    names.forEach((name, n) => {
      if (before[n] === undefined) delete process.env[name];
      else process.env[name] = before[n];
    });
    expect([answer, requests.length, proxy.requests.length]).toEqual(['', 1, 0]);
  });
});

describe('a signature', () => {
  it('matches the example in the standard', () => {
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
    const signed = { id, time: new Date(1_614_265_330_000), body: '{"test": 2432232314}' };
    const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
    expect(signatureOf(signed, [secret])).toBe(signature);
    expect(messageHeaders(signed, signature)).toMatchObject({
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': signature,
    });
  });

  it('uses a secret of 256 random bits', () => {
    expect(secretText(newSigningSecret())).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSigningSecret()).not.toEqual(newSigningSecret());
  });
});
