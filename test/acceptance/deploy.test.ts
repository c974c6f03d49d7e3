import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { notification } from '../support/http.ts';
import { eventually, until } from '../support/waiting.ts';
import { registerAdmin, STATEMENT_HEADER, statementLine } from './client.ts';
import {
  cleanUpAfterwards,
  freePort,
  launch,
  NO_RATE_LIMITS,
  newDatabase,
  newFolder,
  ROOT,
  type RunningService,
  startService,
  untilNoProcessIn,
} from './process.ts';

cleanUpAfterwards();

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
// Debian installs nginx in a folder that is not in the PATH of ordinary users.
const NGINX = ['nginx', '/usr/sbin/nginx'].find((program) => has(program, '-v')) ?? 'nginx';

describe('deploy/ams.service', () => {
  const unit = join(ROOT, 'deploy', 'ams.service');

  test.runIf(has('systemd-analyze', '--version'))('is a valid unit', () => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  });

  test('starts the service by its ExecStart, and SIGTERM to this process stops the service and its database', async () => {
    const lines = (await readFile(unit, 'utf8')).split('\n');
    const values = (key: string) =>
      lines.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
    const command = values('ExecStart').join().replace('/usr/bin/node', process.execPath);
    const environment = Object.fromEntries(
      values('Environment').flatMap((line) => line.split(' ').map((pair) => pair.split('=', 2))),
    );
    expect(environment).toEqual({ NODE_ENV: 'production', DATA_DIR: '/var/lib/ams/data' });
    expect(values('KillMode')).toEqual(['mixed']);

    const stateDirectory = await newFolder();
    const DATA_DIR = environment.DATA_DIR.replace('/var/lib/ams', stateDirectory);
    const secrets = {
      JWT_SECRET: 'a secret of this test, longer than 32 bytes',
      WEBHOOK_SECRET: 'what the provider sends',
    };
    const service = await startService(
      { ...environment, ...secrets, DATA_DIR },
      { command: command.replaceAll('/opt/ams', ROOT).split(' ') },
    );
    expect(await service.stop('SIGTERM')).toMatchObject({ status: 0, signal: null });
    await untilNoProcessIn(stateDirectory);
  });
});

test.runIf(has('promtool', '--version'))('deploy/prometheus-alerts.yml is valid', () => {
  const { status, stderr } = spawnSync(
    'promtool',
    ['check', 'rules', join(ROOT, 'deploy/prometheus-alerts.yml')],
    {
      encoding: 'utf8',
    },
  );
  expect(status, stderr).toBe(0);
});

describe.runIf(has(NGINX, '-v') && has('openssl', 'version'))('deploy/nginx.conf', () => {
  const TOKEN = 'a-secret-of-the-provider';
  const webhook = `/api/webhooks/payments/mobilemoney?token=${TOKEN}`;
  let service: RunningService;
  let adminToken: string;
  let site: Awaited<ReturnType<typeof startNginx>>;

  beforeAll(async () => {
    service = await startService({
      ...NO_RATE_LIMITS,
      DATABASE_URL: await newDatabase(),
      TRUST_PROXY: '127.0.0.1',
      WEBHOOK_SECRET: TOKEN,
      METRICS_TOKEN: TOKEN,
    });
    adminToken = await registerAdmin(service);
    site = await startNginx([service.port, await freePort()]);
  });

  /** Starts nginx with deploy/nginx.conf. Only the addresses, the certificate and the paths of the logs are replaced. */
  async function startNginx(instances: number[]) {
    const ports = { http: await freePort(), https: await freePort() };
    const folder = await newFolder();
    const certificate = ['-out', join(folder, 'fullchain.pem'), '-keyout', join(folder, 'privkey.pem')];
    const subject = ['-subj', '/CN=ams.example.com', '-days', '1', '-nodes'];
    const { status } = spawnSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      ...subject,
      ...certificate,
    ]);
    expect(status).toBe(0);
    const server = (await readFile(join(ROOT, 'deploy', 'nginx.conf'), 'utf8'))
      .replace('listen 80;', `listen 127.0.0.1:${ports.http};`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${ports.https} ssl;`)
      .replace('127.0.0.1:8081', `127.0.0.1:${instances[0]}`)
      .replace('127.0.0.1:8082', `127.0.0.1:${instances[1]}`)
      .replaceAll('/etc/ssl/ams', folder)
      .replaceAll('/var/log/nginx', folder);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const main = join(folder, 'nginx.conf');
    await writeFile(
      main,
      `daemon off; pid ${folder}/nginx.pid; worker_processes 1; events { worker_connections 64; }
      http { ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
      access_log ${folder}/access.log; error_log ${folder}/error.log; # as Debian sets them for all sites
      ${server} }`,
    );
    const nginx = launch([NGINX, '-e', join(folder, 'start.log'), '-p', folder, '-c', main], folder, {});
    const isUp = () => sendTo(ports.https, 'GET', '/livez').then(({ status }) => status === 200);
    await until('nginx to answer', () => isUp().catch(() => false));
    return { ...ports, nginx, logs: folder };
  }

  /** A request to the TLS port, from another address than nginx has. */
  async function sendTo(
    port: number,
    method: string,
    path: string,
    body = '',
    headers: Record<string, string> = {},
  ) {
    const sending = request({
      ...{ host: '127.0.0.1', port, servername: 'ams.example.com', localAddress: '127.0.0.2' },
      ...{ method, path, rejectUnauthorized: false, agent: false },
      headers: { host: 'ams.example.com', 'content-length': Buffer.byteLength(body), ...headers },
    });
    sending.end(body);
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, text: await text(answer) };
  }

  const send = (method: string, path: string, body?: string, headers?: Record<string, string>) =>
    sendTo(site.https, method, path, body, headers);
  const post = (id: string, { https } = site) =>
    sendTo(https, 'POST', webhook, JSON.stringify(notification({ TransID: id })), {
      'content-type': 'application/json',
    });
  const loggedBy = async ({ logs }: typeof site) => {
    const names = (await readdir(logs)).filter((name) => name.endsWith('.log'));
    expect(names).toEqual(
      expect.arrayContaining(['access.log', 'error.log', 'ams-access.log', 'ams-error.log']),
    );
    return (await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')))).join('');
  };

  test('forwards calls to a working instance, with the address of the caller', async () => {
    for (let call = 0; call < 4; call++) expect((await send('GET', '/readyz')).status).toBe(200);
    for (const id of ['NGINX1', 'NGINX2', 'NGINX3']) expect((await post(id)).status).toBe(200);
    await eventually(() => service.output()).toMatch(/"path":"\/api\/webhooks.*"client":"127\.0\.0\.2"/);
  });

  test('lets a statement of 1.9 MB through, and leaves refusals to the service', async () => {
    const lines = Array.from({ length: 25_000 }, (_, n) => statementLine(`NGX${n}`, 'unknown'));
    const statement = STATEMENT_HEADER + lines.join('');
    expect(Buffer.byteLength(statement)).toBeGreaterThan(1_900_000);
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' };
    const accepted = await send('POST', '/api/v1/reconciliations/statements', statement, headers);
    expect(accepted.status, accepted.text).toBe(201);
    const again = await send('POST', '/api/reconciliations/statements', statement, headers);
    expect(again).toMatchObject({ status: 409, text: expect.stringContaining('DUPLICATE_ENTRY') });
    const stranger = await send('POST', '/api/reconciliations/statements', statement, {
      'content-type': 'text/csv',
    });
    expect(stranger).toMatchObject({ status: 401, text: expect.stringContaining('UNAUTHORIZED') });
  });

  test('passes a file of a portfolio import of 2 MB on', async () => {
    const file = `external_id,first_name,last_name,phone\r\n${'N-1,Nginx,Customer,0712345678\r\n'.repeat(70_000)}`;
    expect(Buffer.byteLength(file)).toBeGreaterThan(1_900_000);
    const headers = { authorization: `Bearer ${adminToken}` };
    const created = await send('POST', '/api/imports', '', headers);
    const path = `/api/imports/${JSON.parse(created.text).data.id}/files/customers`;
    const answer = await send('PUT', path, file, { ...headers, 'content-type': 'text/csv' });
    expect(answer.status, answer.text.slice(0, 1_000)).toBe(200);
  });

  test('passes a bulk call of 2 MB on', async () => {
    const keys = Array.from({ length: 10 }, (_, at) => `key${at}`);
    const metadata = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(200)]));
    const items = Array.from({ length: 1_000 }, (_, n) => ({
      ...{ firstName: 'Bulk', lastName: 'Customer', phone: `+2547${10_000_000 + n}`, metadata },
    }));
    const body = JSON.stringify({ items });
    expect(body.length).toBeGreaterThan(1_900_000);
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    const answer = await send('POST', '/api/customers/bulk', body, headers);
    expect(answer.status, answer.text.slice(0, 1_000)).toBe(200);
    expect(JSON.parse(answer.text).data.created).toBe(1_000);
  });

  test('keeps requests and streams that wait for events open, and passes each event on at once', async () => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const { after } = JSON.parse((await send('GET', '/api/events?from=latest', '', headers)).text).data;
    const waiting = send('GET', `/api/v1/events?wait=25&types=invoice.voided&after=${after}`, '', headers);
    const streaming = request({
      ...{ host: '127.0.0.1', port: site.https, servername: 'ams.example.com' },
      ...{ path: `/api/events?after=${after}`, rejectUnauthorized: false, agent: false },
      headers: { ...headers, host: 'ams.example.com', accept: 'text/event-stream' },
    }).end();
    const [stream] = (await once(streaming, 'response')) as [IncomingMessage];
    let read = '';
    stream.on('data', (bytes: Buffer) => {
      read += bytes.toString();
    });
    for (const id of ['FIRST', 'SECOND']) {
      const before = read.split('payment.received').length;
      expect((await post(`STREAMED ${id}`)).status).toBe(200);
      await eventually(() => read.split('payment.received').length).toBe(before + 1);
      if (id === 'FIRST') expect(await waiting).toMatchObject({ status: 200 });
    }
    stream.destroy();
  });

  test('does not publish the metrics, and redirects plain HTTP to TLS', async () => {
    expect((await send('GET', '/metrics', '', { authorization: `Bearer ${TOKEN}` })).status).toBe(404);
    const plain = await fetch(`http://127.0.0.1:${site.http}/api-docs?x=1`, { redirect: 'manual' });
    expect(plain.status).toBe(301);
    expect(plain.headers.get('location')).toBe('https://127.0.0.1/api-docs?x=1');
  });

  test('writes no query string to its logs, not even that of a failed call', async () => {
    const instance = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(instance, 'listening');
    const own = await startNginx([(instance.address() as AddressInfo).port, await freePort()]);
    expect((await post('NGINX4', own)).status).toBe(200);
    instance.close();
    instance.closeAllConnections();
    expect((await post('NGINX5', own)).status).toBe(502);
    own.nginx.child.kill('SIGQUIT');
    await own.nginx.ended;
    const lines = await loggedBy(own);
    expect(lines).toMatch(/^127\.0\.0\.2 \[.*\] "POST \/api\/webhooks\/payments\/mobilemoney" 200 /m);
    expect(lines).toMatch(/"POST \/api\/webhooks\/payments\/mobilemoney" 502 /);
    expect(lines).not.toContain(TOKEN);
    expect(lines).not.toContain('token=');
  });
});
