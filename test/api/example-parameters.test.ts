import { expect, it } from 'vitest';
import { committedDescription, examplesOfMedia, type Operation } from '../support/api-description.ts';
import { useService } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';

/** Programs such as Postman make a call of each operation, in which every parameter has its example or its default. */

const service = useService();
const { operations } = await committedDescription();

type Parameter = Operation['parameters'][number];

function shownValue({ example, schema }: Parameter): unknown {
  const { example: shown, default: standard } = schema as { example?: unknown; default?: unknown };
  return example ?? shown ?? standard;
}

/** The parameters whose values only another service or the browser knows. */
const UNKNOWN = ['state', 'code', 'iss', 'error', 'mode', 'invitation', 'userId'];

it('every parameter has an example or a default', () => {
  const without = operations.flatMap(({ name, parameters }) =>
    parameters.filter((one) => shownValue(one) === undefined).map((one) => `${name}: ${one.name}`),
  );
  expect(without.filter((text) => !UNKNOWN.includes(text.split(': ')[1] ?? ''))).toEqual([]);
});

it('no call that has all parameters of its description is refused because of one of them', async () => {
  const refused: string[] = [];
  // The calls that end the session of the test are last.
  const ends = ({ method, path }: Operation) => method !== 'GET' && path.startsWith('/api/auth');
  const reads = operations.filter(({ method }) => method === 'GET');
  const writes = operations.filter(({ method }) => method !== 'GET');
  const ordered = [...reads, ...writes.filter((one) => !ends(one)), ...writes.filter(ends)];
  for (const operation of ordered) {
    const { name, method, path, parameters, body, bodyType } = operation;
    const headers: Record<string, string> = { ...(bodyType !== undefined && { 'content-type': bodyType }) };
    const query = new URLSearchParams();
    let concrete = path;
    for (const parameter of parameters) {
      const value = shownValue(parameter);
      if (value === undefined) continue;
      if (parameter.in === 'path')
        concrete = concrete.replace(`{${parameter.name}}`, encodeURIComponent(String(value)));
      else if (parameter.in === 'header') headers[parameter.name] = String(value);
      else if (typeof value !== 'object' || Array.isArray(value)) query.set(parameter.name, String(value));
    }
    const call = createCaller(service.origin);
    const { status, body: answer } = await call(
      method,
      `${concrete}?${query}`,
      body && examplesOfMedia(body)[0],
      {
        headers,
        token: service.adminToken,
      },
    );
    const names = new Set(parameters.map((parameter) => parameter.name));
    const fields: { path: string; message: string }[] = answer?.error?.details?.fields ?? [];
    const wrong = fields.filter((field) => names.has(field.path.replace(/\[\w+\]$/, '')));
    if (status === 400 && (wrong.length > 0 || (method === 'GET' && !path.includes('/auth/'))))
      refused.push(`${name}: ${JSON.stringify(answer)}`);
  }
  expect(refused).toEqual([]);
});
