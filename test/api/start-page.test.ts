import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type AppParts, buildApp } from '../../src/app.ts';
import type { Replica } from '../../src/core/database/replica.ts';
import { openDatabaseProbe } from '../../src/platform/health/probe.ts';
import { startInstanceForTest, useService } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';

const service = useService();
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

const open = (path: string, accept = BROWSER, origin = service.origin) =>
  createCaller(origin)('GET', path, undefined, { headers: { accept } });

/** The answer of an instance with other parts, such as a probe of another database: text, or JSON if that is accepted. */
async function shownWith(parts: Partial<AppParts>, accept = BROWSER) {
  const app = buildApp({ ...service.parts, ...parts });
  const answer = await app.inject({ url: '/', headers: { accept } });
  await app.close();
  return accept === BROWSER ? answer.body : answer.json();
}

describe('GET / in a browser', () => {
  it('shows the name of the service, its version and its health', async () => {
    const { status, headers, text } = await open('/');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('<h1>Account Management Service</h1>');
    expect(text).toContain('Version test · <strong class="ok">Healthy</strong>');
    expect(text).not.toContain('{{');
  });

  it('links only to existing addresses and documented operations', async () => {
    const { text } = await open('/');
    const addresses = [...text.matchAll(/<a href="([^"]+)"/g)].map(([, address = '']) => address);
    const { body } = await open('/api-docs/openapi.json');
    const operations = Object.values<object>(body.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ tags, operationId }) => `#/${tags[0]}/${operationId}`);
    expect(addresses).toEqual(expect.arrayContaining(['/api-docs', '/api-docs/openapi.json', '/health']));
    for (const address of addresses) {
      expect((await open(address)).status, address).toBe(200);
      const { hash } = new URL(address, service.origin);
      if (hash !== '') expect(operations, address).toContain(hash);
    }
    expect(addresses.filter((address) => address.includes('#'))).toHaveLength(4);
  });

  it('runs no script, and uses only its own style', async () => {
    const { headers, text } = await open('/');
    const policy = headers.get('content-security-policy') ?? '';
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    expect(style).toContain('prefers-color-scheme: dark');
    expect(policy).toContain(
      `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}';`,
    );
    expect(policy).not.toMatch(/http|unsafe/);
    expect(text).not.toMatch(/<script|style="| on\w+="/);
  });

  it('explains how to create the first admin when registration is closed', async () => {
    const closed = await startInstanceForTest(service, { REGISTRATION: 'closed' });
    const page = await open('/', BROWSER, closed.origin);
    expect(page.text).toContain('npm run create-admin');
    expect(page.text).not.toContain('registerUser');
    expect((await open('/')).text).toContain('registerUser');
  });

  it('names the failing part while Redis or the database cannot be reached', async () => {
    const noRedis = await startInstanceForTest(service, { REDIS_URL: 'redis://127.0.0.1:1' });
    const page = await open('/', BROWSER, noRedis.origin);
    expect(page).toMatchObject({
      status: 200,
      text: expect.stringContaining('class="degraded">Degraded: Redis does not answer'),
    });

    const nowhere = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' };
    const lost = openDatabaseProbe({
      connection: nowhere,
      migrations: [],
      timeoutMs: 60_000,
      onConnectionLost: () => {},
    });
    expect(await shownWith({ probe: lost })).toContain('class="down">Down: the database does not answer');
    expect((await shownWith({ probe: lost }, 'application/json')).data.status).toBe('down');
    await lost.close();
    const { connection } = service;
    const other = openDatabaseProbe({
      connection,
      migrations: ['9999_new'],
      timeoutMs: 60_000,
      onConnectionLost: () => {},
    });
    expect(await shownWith({ probe: other })).toContain('Down: this version cannot work with the migrations');
    await other.close();
  });
});

describe('GET / of a degraded instance', () => {
  const replica: Replica = {
    connection: '',
    read: async () => undefined,
    status: () => ({ state: 'behind', lagSeconds: 90, reports: { replica: 0, primary: 0 } }),
    close: async () => {},
  };

  it('names the replica and its state, and not Redis', async () => {
    const page = await shownWith({ replica });
    expect(page).toContain('class="degraded">Degraded: the replica is behind, so reports read the primary<');
  });

  it('names every silent provider, in addition to the replica', async () => {
    await service.context.db
      .insertInto('provider_watches')
      .values({ provider: 'mobilemoney', read_until: new Date(), silent_since: new Date() })
      .onConflict((conflict) => conflict.column('provider').doUpdateSet({ silent_since: new Date() }))
      .execute();
    const page = await shownWith({ replica });
    await service.context.db.updateTable('provider_watches').set({ silent_since: null }).execute();
    expect(page).toContain(
      'Degraded: the replica is behind, so reports read the primary; mobilemoney is silent for longer than usual<',
    );
  });
});

describe('GET / by a program', () => {
  it.each(['application/json', 'application/json, text/plain, */*', 'text/html;q=0.5, application/json'])(
    'that accepts %s is answered in the envelope',
    async (accept) => {
      const { status, headers, body } = await open('/', accept);
      expect(status).toBe(200);
      expect(headers.get('vary')).toBe('accept');
      expect(body).toEqual({
        success: true,
        data: {
          name: 'Account Management Service',
          version: 'test',
          status: 'ok',
          api: '/api',
          documentation: '/api-docs',
          description: '/api-docs/openapi.json',
          health: '/health',
        },
        message: 'Account Management Service.',
      });
    },
  );

  it.each(['*/*', 'text/*', 'image/png', ''])('that accepts "%s" gets the page', async (accept) => {
    expect((await open('/', accept)).headers.get('content-type')).toContain('text/html');
  });
});
