import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { OpenAPIV3_1 } from 'openapi-types';
import { FORMATS } from '../../src/core/http/validation.ts';

/** Checks answers against the API description. */

type Media = { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> };

export interface Response {
  description: string;
  content?: Record<string, Media>;
}

export interface Operation {
  /** Example: `PUT /api/users/{id}`. */
  name: string;
  operationId: string;
  method: string;
  path: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: { name: string; in: string; required?: boolean; example?: unknown; schema: object }[];
  bodyType: string | undefined;
  body: Media | undefined;
  responses: Record<string, Response>;
}

export interface Description {
  document: OpenAPIV3_1.Document;
  operations: Operation[];
  /** The problem of a value that does not match a schema of the description. Undefined if it matches. */
  problemOf(schema: object, value: unknown): string | undefined;
  /** The problem of an answer that the description does not allow. Undefined for an allowed answer and an unknown operation. */
  problemOfAnswer(answer: GivenAnswer): string | undefined;
}

export interface GivenAnswer {
  method: string;
  /** The path of the URL, without the query. */
  path: string;
  status: number;
  contentType: string | null;
  /** The body, parsed if it is JSON. */
  body: unknown;
}

export function examplesOfMedia({ example, examples = {} }: Media): unknown[] {
  const named = Object.values(examples).map(({ value }) => value);
  return example === undefined ? named : [example, ...named];
}

/** @param options.isValid - whether the schemas need not be checked. */
export function readDescription(document: OpenAPIV3_1.Document, { isValid = false } = {}): Description {
  const ajv = newAjv(!isValid);
  // Adds each component by its name, so that Ajv compiles it once. Otherwise Ajv would compile it again for each answer schema.
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {}))
    ajv.addSchema(JSON.parse(withNames(schema)), name);
  /** By the JSON of the schema, because the answers of different operations often have equal schemas. */
  const compiled = new Map<string, ValidateFunction>();
  const texts = new WeakMap<object, string>();
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]) =>
      readOperation(document, method.toUpperCase(), path, operation as OpenAPIV3_1.OperationObject),
    ),
  );
  const patterns = operations
    .map((operation) => ({ operation, pattern: patternOf(operation.path) }))
    // As in the router, a fixed name comes before a parameter.
    .sort((a, b) => a.operation.path.split('{').length - b.operation.path.split('{').length);

  function problemOf(schema: object, value: unknown): string | undefined {
    const text = texts.get(schema) ?? withNames(schema);
    texts.set(schema, text);
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    if (validate(value)) return undefined;
    return ajv.errorsText(validate.errors, { dataVar: 'answer', separator: '; ' });
  }

  function problemOfAnswer({ method, path, status, contentType, body }: GivenAnswer): string | undefined {
    const documented = path.replace(/^\/api\/v1(?=\/)/, '/api');
    const documentedMethod = method === 'HEAD' ? 'GET' : method;
    const operation = patterns.find(
      (one) => one.operation.method === documentedMethod && one.pattern.test(documented),
    )?.operation;
    if (!operation) return undefined;
    const subject = `The description of ${operation.name}`;
    const response = operation.responses[status];
    if (!response) return `${subject} has no answer ${status}.`;
    if (method === 'HEAD') return undefined;
    const type = contentType?.split(';', 1)[0] ?? '';
    const media = response.content?.[type];
    if (!media)
      return response.content || type !== '' ? `${subject} has no ${type} for ${status}.` : undefined;
    const problem = type === 'application/json' ? problemOf(media.schema, body) : undefined;
    return problem && `${subject} does not match the answer ${status}: ${problem}.`;
  }

  return { document, operations, problemOf, problemOfAnswer };
}

let committed: Description | undefined;

/** The openapi.json in the repository. */
export function committedDescription(): Description {
  committed ??= readDescription(
    JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'openapi.json'), 'utf8')),
    { isValid: true }, // description.test.ts checks it.
  );
  return committed;
}

/** The schema as JSON, in which references are the names of components. */
function withNames(schema: object): string {
  return JSON.stringify(schema).replaceAll('"#/components/schemas/', '"');
}

function newAjv(validateSchema: boolean): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema, code: { optimize: false } });
  const formats = { date: 'calendar-date', 'date-time': 'date-time', email: 'mail-address' };
  for (const [name, ours] of Object.entries(formats)) ajv.addFormat(name, FORMATS[ours]?.check ?? /^$/);
  ajv.addFormat('binary', true);
  return ajv;
}

function readOperation(
  document: OpenAPIV3_1.Document,
  method: string,
  path: string,
  operation: OpenAPIV3_1.OperationObject,
): Operation {
  const {
    operationId = '',
    summary = '',
    description = '',
    tags = [],
    security = [],
    parameters = [],
    requestBody,
  } = operation;
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => [
    status,
    '$ref' in response ? resolve(document, response.$ref) : response,
  ]);
  const content = (requestBody as { content?: Record<string, Media> } | undefined)?.content;
  return {
    name: `${method} ${path}`,
    operationId,
    method,
    path,
    summary,
    description,
    tags,
    security: security as Operation['security'],
    parameters: parameters as Operation['parameters'],
    bodyType: Object.keys(content ?? {})[0],
    body: Object.values(content ?? {})[0],
    responses: Object.fromEntries(responses),
  };
}

export function resolve(document: OpenAPIV3_1.Document, reference: string): unknown {
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}
