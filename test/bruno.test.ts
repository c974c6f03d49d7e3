import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { committedDescription, examplesOfMedia } from './support/api-description.ts';

interface BrunoRequest {
  http: { method: string; url: string; auth: string };
  params?: { name: string; value: string; type: string }[];
  headers?: { name: string }[];
  body?: { json?: string; text?: string; xml?: string };
}

const { bruToJsonV2: parse, bruToEnvJsonV2: parseEnvironment } = createRequire(import.meta.url)(
  '@usebruno/lang',
) as {
  bruToJsonV2(text: string): BrunoRequest;
  bruToEnvJsonV2(text: string): { variables: { name: string }[] };
};
const COLLECTION = join(import.meta.dirname, '..', 'docs', 'bruno');
const { operations } = committedDescription();

it('the Bruno collection has a request with its example for each operation', () => {
  const files = operations.map(({ tags, operationId }) => join(tags[0] ?? '', `${operationId}.bru`));
  const requests = readdirSync(COLLECTION, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.bru') && !/(^|\/)(folder|collection|local)\.bru$/.test(file),
  );
  expect(requests.sort()).toEqual([...files].sort());
  for (const [index, file] of files.entries()) {
    const operation = operations[index];
    if (!operation) continue;
    const {
      http,
      params = [],
      headers = [],
      body = {},
    } = parse(readFileSync(join(COLLECTION, file), 'utf8'));
    expect(http.method, file).toBe(operation.method.toLowerCase());
    expect(http.url.split('?')[0], file).toBe(`{{baseUrl}}${operation.path.replace(/\{(\w+)\}/g, ':$1')}`);
    expect(http.auth, file).toBe(operation.security.some((one) => 'bearer' in one) ? 'inherit' : 'none');
    for (const { name, in: place, example } of operation.parameters.filter(({ required }) => required))
      expect(params, file).toContainEqual(
        expect.objectContaining({ name, type: place, value: String(example) }),
      );
    const takesKey = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
    expect(
      headers.some(({ name }) => name === 'Idempotency-Key'),
      file,
    ).toBe(takesKey);
    const [example] = operation.body ? examplesOfMedia(operation.body) : [];
    if (operation.bodyType === 'application/json')
      expect(JSON.parse(body.json ?? ''), file).toEqual(example ?? {});
    else if (operation.body) expect((body.xml ?? body.text ?? '').length, file).toBeGreaterThan(20);
  }
});

it('the Bruno collection has an environment with the address and the token', () => {
  const { variables } = parseEnvironment(readFileSync(join(COLLECTION, 'environments', 'local.bru'), 'utf8'));
  expect(variables.map(({ name }) => name)).toEqual(['baseUrl', 'token']);
});
