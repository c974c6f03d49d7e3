import type { OpenAPIV3_1 } from 'openapi-types';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCaller, useService } from '../harness.ts';

const service = useService();
const get = (path: string) => createCaller(service.origin)('GET', path);

describe('GET /api-docs', () => {
  it('is a page that works with no network but this service', async () => {
    const page = await get('/api-docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) {
      expect(address).toMatch(/^\/api-docs\//);
      expect((await get(address)).status, address).toBe(200);
    }
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(page.headers.get('content-security-policy')).not.toContain('http');
  });
});

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

  it('describes the API in OpenAPI 3.1', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({ title: 'Account Management Service', version: 'test' });
    expect(document.components?.securitySchemes).toHaveProperty('bearer');
  });

  it('has a summary, a tag, what it needs and an answer of every operation', () => {
    expect(operations.length).toBeGreaterThan(25);
    for (const [name, { summary, tags, description, responses }] of operations) {
      expect(summary, name).toMatch(/\S/);
      expect(tags, name).toHaveLength(1);
      expect(description, name).toMatch(/Needs (no token|a token|the permission)/);
      const statuses = Object.keys(responses ?? {});
      expect(
        statuses.some((status) => /^[23]/.test(status)),
        name,
      ).toBe(true);
      const counted = name.includes(' /api/') && !name.includes('/test/clock');
      expect(statuses, name).toEqual(
        expect.arrayContaining(['400', '500', '503', ...(counted ? ['429'] : [])]),
      );
    }
  });

  it('asks for a token, and tells of 401, exactly where one is needed', () => {
    for (const [name, { security, description, responses }] of operations) {
      const open = description?.includes('Needs no token') === true;
      // The webhook has keys of its own; no other public operation names any.
      const keys = (security ?? []).flatMap((choice) => Object.keys(choice));
      const expected = name.includes('/webhooks/') ? ['webhookSecret', 'webhookToken'] : [];
      expect(keys, name).toEqual(open ? expected : ['bearer']);
      if (!open) expect(Object.keys(responses ?? {}), name).toContain('401');
    }
  });

  it('says which roles may do what', () => {
    expect(operation('POST /api/payments/{id}/reverse').description).toContain(
      '`payments:reverse`: admin, manager, finance.',
    );
  });

  it('names the filters of a list with their operators, as deep objects', () => {
    const parameters = (operation('GET /api/accounts').parameters ?? []) as OpenAPIV3_1.ParameterObject[];
    const status = parameters.find(({ name }) => name === 'filter[status]');
    expect(status).toMatchObject({ in: 'query', style: 'deepObject', explode: true });
    const { $ref = '' } = (status?.schema ?? {}) as Partial<OpenAPIV3_1.ReferenceObject>;
    const schema = document.components?.schemas?.[$ref.replace('#/components/schemas/', '')];
    expect(Object.keys(schema?.properties ?? {})).toEqual(['eq', 'ne', 'in', 'nin', 'isnull']);
    expect(parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['page', 'limit', 'sort', 'status', 'customerId']),
    );
  });

  it('refers to nothing that it does not hold', () => {
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

  it('describes each address once, without the alias of v1', () => {
    expect(Object.keys(document.paths ?? {}).filter((path) => path.startsWith('/api/v1'))).toEqual([]);
  });
});
