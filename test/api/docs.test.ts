import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { OpenAPIV3_1 } from 'openapi-types';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ERROR_STATUS } from '../../src/core/http/errors.ts';
import { send } from '../security/wire.ts';
import { committedDescription } from '../support/api-description.ts';
import { startInstanceForTest, useService } from '../support/harness.ts';
import { type CallOptions, createCaller } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';

const service = useService();
const get = (path: string, options?: CallOptions) =>
  createCaller(service.origin)('GET', path, undefined, options);

/** The files of the page. */
const FILES = ['', '/page.js', '/page.css', '/swagger-ui.js', '/swagger-ui.css', '/openapi.json'].map(
  (path) => `/api-docs${path}`,
);

describe('GET /api-docs', () => {
  it('is a page that loads everything from this service', async () => {
    const page = await get('/api-docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    const sources = [...page.text.matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g)].map(([, one = '']) => one);
    const files = sources.filter((source) => !source.startsWith('data:'));
    expect(files.sort()).toEqual(FILES.slice(1, 5).sort());
    for (const file of files) expect((await get(file)).status, file).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/http|unsafe/);
    expect((await get('/api-docs/')).text).toBe(page.text);
  });

  it('names only the service in its title and header', async () => {
    const { text } = await get('/api-docs');
    expect(text).toContain('<title>Account Management Service API</title>');
    expect(text).not.toMatch(/fastify|swagger ui/i);
  });

  it('is found at an address with unknown parameters', async () => {
    expect((await get('/api-docs?utm_source=mail')).status).toBe(200);
  });
});

describe('every file of the documentation', () => {
  const ask = (path: string, headers: Record<string, string> = {}) => send(service.origin, { path, headers });

  it.each(FILES)('%s is sent as brotli, as gzip or uncompressed, as the caller accepts', async (path) => {
    const plain = await ask(path);
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['br;q=0.1, gzip;q=0.2', 'gzip'],
      ['*', 'br'],
      ['deflate', undefined],
      ['br;q=0, gzip;q=0', undefined],
    ] as const) {
      const { headers } = await ask(path, { 'accept-encoding': accepted });
      expect(headers['content-encoding'], accepted).toBe(encoding);
      expect(headers.vary, accepted).toBe('accept-encoding');
      if (encoding) expect(Number(headers['content-length'])).toBeLessThan(Buffer.byteLength(plain.text));
      // fetch decodes.
      const decoded = await get(path, { headers: { 'accept-encoding': accepted } });
      expect(decoded.text === plain.text, `${accepted} is the same text`).toBe(true);
    }
  });

  it.each(FILES)('%s has an ETag, and is answered by 304 if the caller has it', async (path) => {
    const { headers } = await ask(path, { 'accept-encoding': 'br' });
    expect(headers['cache-control']).toBe('no-cache');
    const tag = String(headers.etag);
    expect(tag).toMatch(/^W\/"[0-9a-f]{32}"$/);
    for (const accepted of ['br', 'identity']) {
      const again = await ask(path, { 'accept-encoding': accepted, 'if-none-match': `"other", ${tag}` });
      expect(again).toMatchObject({ status: 304, text: '' });
      expect(again.headers.etag).toBe(tag);
    }
    expect((await ask(path, { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  it('depends on the encoding and, where origins may call, on the origin', async () => {
    const origin = 'https://console.example';
    const instance = await startInstanceForTest(service, { CORS_ORIGINS: `${origin},https://other.example` });
    const { headers } = await send(instance.origin, { path: '/api-docs/openapi.json', headers: { origin } });
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(String(headers.vary).toLowerCase().split(', ').sort()).toEqual(['accept-encoding', 'origin']);
  });

  it('is refused while the service is overloaded; the health check is not', async () => {
    const clients = await Promise.all(Array.from({ length: 130 }, () => holdRequest(service.origin)));
    try {
      for (const path of FILES)
        await eventually(async () => ({ path, status: (await ask(path)).status })).toEqual({
          path,
          status: 503,
        });
      expect((await ask('/health')).status).toBe(200);
    } finally {
      for (const client of clients) client.destroy();
    }
    for (const path of FILES)
      await eventually(async () => ({ path, status: (await ask(path)).status })).toEqual({
        path,
        status: 200,
      });
  });

  it('is serialized once for any number of requests', async () => {
    const instance = await startInstanceForTest(service);
    const stringify = vi.spyOn(JSON, 'stringify');
    const { length } = (await createCaller(instance.origin)('GET', '/api-docs/openapi.json')).text;
    const made = () => stringify.mock.results.filter(({ value }) => value?.length === length).length;
    try {
      for (let i = 0; i < 5; i++) await createCaller(instance.origin)('GET', '/api-docs/openapi.json');
      expect(made()).toBe(1);
    } finally {
      stringify.mockRestore();
    }
  });
});

/** Starts a request whose body does not arrive, so it is in progress until its connection ends. */
async function holdRequest(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // Reset by the service, when it has waited long enough.
  await once(socket, 'connect');
  const headers = ['Host: a', 'Content-Type: application/json', 'Content-Length: 9'];
  socket.write(`POST /api/auth/login HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  return socket;
}

describe('GET /api-docs/openapi.json', () => {
  let document: OpenAPIV3_1.Document;
  let operations: [string, OpenAPIV3_1.OperationObject][];
  beforeAll(async () => {
    const answer = await get('/api-docs/openapi.json');
    expect(answer.status).toBe(200);
    document = answer.body as OpenAPIV3_1.Document;
    operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
      Object.entries(methods ?? {}).map(([method, operation]): [string, OpenAPIV3_1.OperationObject] => [
        `${method.toUpperCase()} ${path}`,
        operation as OpenAPIV3_1.OperationObject,
      ]),
    );
  });
  const operation = (name: string) => {
    const found = operations.find(([key]) => key === name)?.[1];
    if (!found) throw new Error(`${name} is not described.`);
    return found;
  };

  it('is the openapi.json of the repository, which other tests compare with the answers', () => {
    const { document: committed } = committedDescription();
    // Only services with a test clock have this path.
    expect({ ...document.paths, '/api/test/clock': undefined }).toEqual(committed.paths);
    expect(document.components).toEqual(committed.components);
  });

  it('describes the API in OpenAPI 3.1', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({ title: 'Account Management Service', version: 'test' });
    expect(document.components?.securitySchemes).toHaveProperty('bearer');
  });

  it('requires a token and documents 401 exactly for the operations that need one', () => {
    for (const [name, { security, description, responses }] of operations) {
      const open = description?.includes('Needs no access token') === true;
      // The webhook has keys of its own; no other public operation names any.
      const keys = (security ?? []).flatMap((choice) => Object.keys(choice));
      const expected = name.includes('/webhooks/') ? ['webhookSecret', 'webhookToken'] : [];
      const closed = description?.includes('API keys are refused') ? ['bearer'] : ['bearer', 'apiKey'];
      expect(keys, name).toEqual(open ? expected : closed);
      if (!open) expect(Object.keys(responses ?? {}), name).toContain('401');
    }
  });

  it('says which roles may do what', () => {
    expect(operation('POST /api/payments/{id}/reverse').description).toContain(
      '`payments:reverse` (roles: admin, manager, finance).',
    );
  });

  it('names the filters of a list with their operators, as deep objects', () => {
    const parameters = (operation('GET /api/accounts').parameters ?? []) as OpenAPIV3_1.ParameterObject[];
    const status = parameters.find(({ name }) => name === 'filter[status]');
    expect(status).toMatchObject({ in: 'query', style: 'deepObject', explode: true });
    const { properties = {} } = (status?.schema ?? {}) as OpenAPIV3_1.SchemaObject;
    expect(Object.keys(properties)).toEqual(['eq', 'ne', 'in', 'nin', 'isnull']);
    expect(properties.eq).toMatchObject({ type: 'string', enum: expect.arrayContaining(['active']) });
    expect(properties.isnull).toEqual({ type: 'boolean' });
    expect(parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['page', 'limit', 'sort', 'status', 'customerId']),
    );
  });

  it('has no reference to a missing component', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(references.length).toBeGreaterThan(0);
    for (const path of new Set(references)) {
      const target = path
        .split('/')
        .reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document);
      expect(target, path).toBeDefined();
    }
  });

  it('has no recursive component, because the page does not support one', () => {
    const components = document.components as Record<string, Record<string, unknown>>;
    function visit(part: unknown, within: string[]): void {
      if (typeof part !== 'object' || part === null) return;
      const { $ref } = part as { $ref?: string };
      if (typeof $ref === 'string') {
        expect(within, $ref).not.toContain($ref);
        const [, kind = '', name = ''] = $ref.slice('#/'.length).split('/');
        visit(components[kind]?.[name], [...within, $ref]);
      } else {
        for (const inner of Object.values(part)) visit(inner, within);
      }
    }
    visit(document.paths, []);
  });

  it('names the public address of the service, or that of a service on this machine', async () => {
    expect(document.servers).toEqual([{ url: expect.stringMatching(/^http:\/\/localhost:\d+$/) }]);
    const instance = await startInstanceForTest(service, { PUBLIC_URL: 'https://ams.example.com' });
    const { body } = await createCaller(instance.origin)('GET', '/api-docs/openapi.json');
    expect(body.servers).toEqual([{ url: 'https://ams.example.com' }]);
  });

  it('names the schemas that answers share, so that generated clients have one type for each', () => {
    const names = Object.keys(document.components?.schemas ?? {});
    expect(names).toEqual(
      expect.arrayContaining(['Pagination', 'Error', 'FieldProblem', 'AccountStatus', 'PaymentStatus']),
    );
    const inline = JSON.stringify(document.paths).match(/"totalPages":\{/g);
    expect(inline).toBeNull();
  });

  it('has the details of each error code, chosen by the code', () => {
    const { properties = {} } = (document.components?.schemas?.Error ?? {}) as OpenAPIV3_1.SchemaObject;
    const { oneOf = [], discriminator } = (properties.error ?? {}) as OpenAPIV3_1.SchemaObject;
    expect(discriminator?.propertyName).toBe('code');
    const references = Object.values(discriminator?.mapping ?? {});
    expect(oneOf.map((schema) => ('$ref' in schema ? schema.$ref : ''))).toEqual(references);
    expect(Object.keys(discriminator?.mapping ?? {}).sort()).toEqual(Object.keys(ERROR_STATUS).sort());
  });

  it('describes each address once, without the alias of v1', () => {
    expect(Object.keys(document.paths ?? {}).filter((path) => path.startsWith('/api/v1'))).toEqual([]);
  });
});
