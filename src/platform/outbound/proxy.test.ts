import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { run } from '../../../test/support/processes.ts';
import { PATIENT } from '../../../test/support/waiting.ts';
import { PACKAGE_ROOT } from '../../core/package-root.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server, and a proxy that sends every request to it, whatever host the request names. */
async function serverBehindProxy() {
  const asked: string[] = [];
  const port = await listen(createServer((_request, response) => response.end('the server')));
  const proxy = createServer((request, response) => {
    asked.push(new URL(request.url ?? '').host);
    response.end('the server'); // A request without a tunnel.
  });
  proxy.on('connect', ({ url = '' }, socket) => {
    asked.push(url.replace(/:80$/, ''));
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  return { port, asked, proxy: `http://127.0.0.1:${await listen(proxy)}` };
}

/** Runs statements in a process with the proxy in its environment. @returns what they assign to `result`. */
async function runBehind(proxy: string, module: string, statements: string) {
  const file = JSON.stringify(pathToFileURL(join(PACKAGE_ROOT, 'src', module)).href);
  const program = `const used = await import(${file}); let result; ${statements}; console.log(JSON.stringify(result));`;
  const { stdout } = await run(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', program],
    {
      cwd: PACKAGE_ROOT,
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '' },
    },
  );
  return JSON.parse(stdout);
}

/** Node.js before 22.21 ignores NODE_USE_ENV_PROXY. */
const usesProxies = process.allowedNodeEnvironmentFlags.has('--use-env-proxy');

it('requests to the mobile-money API go through the proxy of the environment, if Node.js uses it', async () => {
  const { proxy, asked } = await serverBehindProxy();
  const request = {
    method: 'GET',
    url: 'http://api.example.test/',
    headers: {},
    timeoutMs: PATIENT.printMs,
    maxBytes: 99,
  };
  const statements = `
    result = await used.sendRequest(${JSON.stringify(request)}).then(({ text }) => text, () => 'not reached')`;
  const result = await runBehind(proxy, 'platform/outbound/http-client.ts', statements);
  expect(result).toBe(usesProxies ? 'the server' : 'not reached');
  expect(asked).toEqual(usesProxies ? ['api.example.test'] : []);
});

it('requests to identity providers go through the proxy of the environment, if Node.js uses it', async () => {
  const { proxy, asked } = await serverBehindProxy();
  const provider = { name: 'test', issuer: 'http://login.example.test', clientId: 'c', clientSecret: 's' };
  const statements = `
    const log = { warn() {} };
    const providers = used.createIdentityProviders({ identityProviderMs: ${PATIENT.printMs} }, log, performance);
    const secrets = used.newSignInSecrets();
    await providers.authorizationUrl(${JSON.stringify(provider)}, 'http://localhost/', secrets)
      .catch(({ cause }) => { result = cause?.code ?? 'not reached'; })`;
  const code = await runBehind(proxy, 'staff/auth/identity-providers.ts', statements);
  if (usesProxies) expect(code).toMatch(/^OAUTH_/);
  expect(asked).toEqual(usesProxies ? ['login.example.test'] : []);
});

it('webhooks ignore the proxy of the environment, so the check of their addresses holds', async () => {
  const { port, proxy, asked } = await serverBehindProxy();
  const statements = `
    const sender = used.createSender({
      destinations: { hosts: new Set(['127.0.0.1']), networks: undefined },
      maxConnections: 1,
      timeoutMs: ${PATIENT.printMs},
      lookup: (host, options, done) => done(null, [{ address: '10.0.0.1', family: 4 }]),
    });
    const post = (url) => sender.post({ url, headers: {}, body: '' });
    result = [await post('http://127.0.0.1:${port}/'), await post('https://internal.example.test/')];
    sender.close()`;
  const [direct, internal] = await runBehind(proxy, 'platform/outbound/sender.ts', statements);
  expect(direct).toMatchObject({ status: 200, answer: 'the server' });
  expect(internal).toMatchObject({
    status: null,
    error: expect.stringContaining('must be a host of the public'),
  });
  expect(asked).toEqual([]);
});
