import { createRequire } from 'node:module';
import type { OpenAPIV3_1 } from 'openapi-types';

const { jsonToBruV2, envJsonToBruV2, jsonToCollectionBru } = createRequire(import.meta.url)(
  '@usebruno/lang',
) as Record<'jsonToBruV2' | 'envJsonToBruV2' | 'jsonToCollectionBru', (json: object) => string>;

export const BRUNO_FOLDER = 'docs/bruno';

type Parameter = OpenAPIV3_1.ParameterObject & { schema: { default?: unknown } };
type Media = { example?: unknown; examples?: Record<string, { value: unknown }> };

/** A Bruno collection: a folder for each tag, and for each operation a request with its example. @returns file texts, by path. */
export function brunoCollection({
  paths = {},
  info,
  tags = [],
}: OpenAPIV3_1.Document): Record<string, string> {
  const files: Record<string, string> = {
    'bruno.json': `${JSON.stringify({ version: '1', name: info.title, type: 'collection' }, null, 2)}\n`,
    'collection.bru': jsonToCollectionBru({ auth: { mode: 'bearer', bearer: { token: '{{token}}' } } }),
    'environments/local.bru': envJsonToBruV2({ variables: VARIABLES }),
  };
  for (const [index, { name }] of tags.entries())
    files[`${name}/folder.bru`] = jsonToCollectionBru({ meta: { name, seq: index + 1 } });
  const counts = new Map<string, number>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, given] of Object.entries(operations ?? {})) {
      const operation = given as OpenAPIV3_1.OperationObject;
      const folder = operation.tags?.[0] ?? '';
      const seq = (counts.get(folder) ?? 0) + 1;
      counts.set(folder, seq);
      files[`${folder}/${operation.operationId}.bru`] = jsonToBruV2(requestOf(path, method, operation, seq));
    }
  }
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${BRUNO_FOLDER}/${path}`, text]));
}

const VARIABLES = [
  { name: 'baseUrl', value: 'http://localhost:8080', enabled: true },
  { name: 'token', value: '', enabled: true, secret: true },
];

function requestOf(
  path: string,
  method: string,
  operation: OpenAPIV3_1.OperationObject,
  seq: number,
): object {
  const parameters = (operation.parameters ?? []) as Parameter[];
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && !isFilter(parameter))
    .map(({ name, required = false, example, schema }) => ({
      name,
      value: textOf(example ?? schema.default),
      type: 'query',
      enabled: required,
    }));
  const inPath = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name, example }) => ({ name, value: textOf(example), type: 'path', enabled: true }));
  const sent = query
    .filter(({ enabled }) => enabled)
    .map(({ name, value }) => `${name}=${encodeURIComponent(value)}`);
  const url = `{{baseUrl}}${path.replace(/\{(\w+)\}/g, ':$1')}${sent.length > 0 ? `?${sent.join('&')}` : ''}`;
  const takesKey = parameters.some(({ name }) => name === 'Idempotency-Key');
  const needsToken = operation.security?.some((scheme) => 'bearer' in scheme);
  const body = bodyOf(operation);
  return {
    meta: { name: operation.summary, type: 'http', seq: String(seq) },
    http: { method, url, body: body?.mode ?? 'none', auth: needsToken ? 'inherit' : 'none' },
    params: [...query, ...inPath],
    headers: [
      ...(body ? [{ name: 'Content-Type', value: body.type, enabled: true }] : []),
      ...(takesKey ? [{ name: 'Idempotency-Key', value: '{{$guid}}', enabled: true }] : []),
    ],
    ...(body && { body: { [body.mode]: body.text } }),
    docs: operation.description ?? '',
  };
}

/** The requests have no filters, because the value of a filter is an object. The API reference lists the filters. */
function isFilter({ name }: Parameter): boolean {
  return name.startsWith('filter[');
}

function bodyOf({ requestBody }: OpenAPIV3_1.OperationObject) {
  const [found] = Object.entries((requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content ?? {});
  if (!found) return undefined;
  const [type, media] = found as [string, Media];
  const example = media.example ?? Object.values(media.examples ?? {})[0]?.value;
  if (type === 'application/json')
    return { type, mode: 'json', text: JSON.stringify(example ?? {}, null, 2) };
  return { type, mode: type.endsWith('/xml') ? 'xml' : 'text', text: String(example) };
}

function textOf(value: unknown): string {
  return value === undefined || typeof value === 'object' ? '' : String(value);
}
