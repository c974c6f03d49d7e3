import type { OpenAPIV3_1 } from 'openapi-types';
import { FORMATS } from '../../core/http/validation.ts';
import { MAX_AMOUNT_TEXT } from '../../core/values/money.ts';
import { type ErrorName, errorResponses } from './errors.ts';

/**
 * Completes the document of @fastify/swagger: translates the project's own keywords (`x-…`), and turns error answers and schemas
 * with a title into components.
 */

type Schema = Record<string, unknown>;
type Operation = OpenAPIV3_1.OperationObject & {
  'x-errors'?: ErrorName[];
  'x-snapshot'?: true;
};
type Named = Record<string, unknown>;

export function finishDocument(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const hoisted: Named = {};
  const schemas: Named = Object.fromEntries(
    Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [
      name,
      hoist(translate(schema as Schema), hoisted),
    ]),
  );
  Object.assign(schemas, hoisted);
  const responses: Named = {};
  const toSchema = (schema: unknown) => hoist(translate(schema as Schema), schemas);
  const paths = Object.fromEntries(
    Object.entries(document.paths ?? {}).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods ?? {}).map(([method, operation]) => [
          method,
          finishOperation(operation as Operation, toSchema, responses),
        ]),
      ),
    ]),
  );
  const used = new Set(operationsOf(paths).flatMap(({ tags = [] }) => tags));
  return {
    ...document,
    tags: (document.tags ?? []).filter(({ name }) => used.has(name)),
    paths,
    components: { ...document.components, schemas: sorted(schemas), responses: sorted(responses) },
  } as OpenAPIV3_1.Document;
}

function operationsOf(paths: Record<string, Record<string, object>>): Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods)) as Operation[];
}

function finishOperation(
  {
    'x-errors': errors = [],
    'x-snapshot': isSnapshot,
    parameters = [],
    requestBody,
    responses = {},
    ...operation
  }: Operation,
  toSchema: (schema: unknown) => unknown,
  components: Named,
): object {
  const takesKey = parameters.some(
    (parameter) => 'name' in parameter && parameter.name === 'Idempotency-Key',
  );
  const headers = {
    'X-Request-Id': { $ref: '#/components/headers/RequestId' },
    ...(takesKey && { 'Idempotent-Replayed': { $ref: '#/components/headers/IdempotentReplayed' } }),
    ...(isSnapshot && { 'Snapshot-Age': { $ref: '#/components/headers/SnapshotAge' } }),
  };
  const own = Object.entries(responses).map(([status, response]) => [
    status,
    {
      ...response,
      headers: { ...headers, ...(isPdf(response) && PDF_HEADERS) },
      ...withContent(response, toSchema),
    },
  ]);
  const failures = errorResponses(errors).map(({ name, status, response }) => {
    components[name] = response;
    return [String(status), { $ref: `#/components/responses/${name}` }];
  });
  return {
    ...operation,
    parameters: parameters.map((parameter) => finishParameter(parameter as Schema, toSchema)),
    ...(requestBody && { requestBody: finishBody(requestBody, toSchema) }),
    // An answer that the route declares, such as the 503 of /health, replaces the common answer with the same status.
    responses: Object.fromEntries([...failures, ...own]),
  };
}

const PDF_HEADERS = { 'Unprintable-Characters': { $ref: '#/components/headers/UnprintableCharacters' } };
const isPdf = (response: object) =>
  'content' in response && 'application/pdf' in (response.content as object);

/** A request without a body counts as `{}`, so the body is required only if `{}` is not valid. */
function finishBody(body: object, toSchema: (schema: unknown) => unknown): object {
  const [media] = Object.values((body as OpenAPIV3_1.RequestBodyObject).content);
  const {
    type,
    required = [],
    minProperties = 0,
  } = { ...(media?.schema as Schema) } as { type?: string; required?: string[]; minProperties?: number };
  return {
    ...body,
    required: type === 'string' || required.length + minProperties > 0,
    ...withContent(body, toSchema),
  };
}

/**
 * `filter[status]` is an object of operators, a style that OpenAPI calls deepObject. Its example is empty, because otherwise
 * tools fill in every operator.
 */
function finishParameter(parameter: Schema, toSchema: (schema: unknown) => unknown): Schema {
  const deep = String(parameter.name).startsWith('filter[') && {
    style: 'deepObject',
    explode: true,
    example: {},
  };
  const { 'x-choices': choices } = parameter.schema as Schema;
  const schema = choices
    ? { type: 'array', items: { type: 'string', enum: choices } }
    : (toSchema(parameter.schema) as Schema);
  // The values of a list are separated by commas.
  const list = schema.type === 'array' && {
    style: 'form',
    explode: false,
    ...(typeof parameter.example === 'string' && { example: parameter.example.split(',') }),
  };
  return { ...parameter, schema, ...deep, ...list };
}

function withContent(part: object, toSchema: (schema: unknown) => unknown): object {
  const { content } = part as { content?: Record<string, { schema?: unknown }> };
  if (!content) return {};
  const translated = Object.entries(content).map(([type, media]) => {
    // Tools expect the description in the response, and the example next to the schema.
    const {
      examples,
      description: _description,
      ...schema
    } = media.schema as Schema & { examples?: unknown[] };
    const example = examples?.[0] !== undefined && { example: examples[0] };
    return [type, { ...media, ...example, schema: toSchema(schema) }];
  });
  return { content: Object.fromEntries(translated) };
}

/**
 * Moves every schema with a title to the components and puts a reference in its place. If the schema is an enum, other keywords
 * of the field, such as a default, stay beside the reference.
 */
function hoist(schema: unknown, components: Named): unknown {
  return mapSchema(schema as Schema, (inner) => {
    const { title, ...whole } = inner;
    if (typeof title !== 'string') return inner;
    const { type, enum: values, ...others } = whole;
    const [component, siblings] = values === undefined ? [whole, {}] : [{ type, enum: values }, others];
    const present = components[title];
    if (present !== undefined && JSON.stringify(present) !== JSON.stringify(component)) {
      throw new Error(`Two schemas have the title ${title}.`);
    }
    components[title] = component;
    return { $ref: `#/components/schemas/${title}`, ...siblings };
  });
}

/** Replaces the project's own keywords by JSON Schema. */
function translate(schema: Schema): Schema {
  return mapSchema(schema, (inner) =>
    'x-described-as' in inner ? translate(inner['x-described-as'] as Schema) : publicSchema(inner),
  );
}

function publicSchema({ format, 'x-amount': amount, 'x-decimals': _decimals, ...rest }: Schema): Schema {
  return {
    ...(Array.isArray(rest.enum) && rest.type === undefined && { type: typeof rest.enum[0] }),
    ...rest,
    ...(amount === true && { maximum: Number(MAX_AMOUNT_TEXT) }),
    ...(typeof format === 'string' && publicFormat(format, rest.description)),
  };
}

/** Replaces a format by the one that OpenAPI tools know, or by a description in words. */
function publicFormat(format: string, description: unknown): Schema {
  const known = PUBLIC_FORMATS[format];
  if (known) return { format: known };
  if (typeof description === 'string' || format === 'query-text') return {};
  const meaning = format.endsWith('phone') ? PHONE_MEANING : FORMATS[format]?.rule;
  if (meaning === undefined)
    throw new Error(`The format ${format} is not in PUBLIC_FORMATS and has no rule in FORMATS.`);
  return { description: `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.` };
}

const PUBLIC_FORMATS: Record<string, string> = {
  'calendar-date': 'date',
  'entry-date': 'date',
  'past-date': 'date',
  'date-time': 'date-time',
  'mail-address': 'email',
  binary: 'binary',
};

const PHONE_MEANING =
  'must be a local phone number, or + followed by the 8 to 15 digits of a number of another country';

/** Replaces each schema within a schema, the innermost first. Leaves examples and enums unchanged. */
function mapSchema(schema: Schema, replace: (schema: Schema) => Schema): Schema {
  const inner = (value: unknown) => mapSchema(value as Schema, replace);
  const mapped: Schema = { ...schema };
  for (const key of ['items', 'additionalProperties', 'propertyNames']) {
    if (typeof schema[key] === 'object') mapped[key] = inner(schema[key]);
  }
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    if (Array.isArray(schema[key])) mapped[key] = schema[key].map(inner);
  }
  if (schema.properties) {
    mapped.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, inner(property)]),
    );
  }
  return replace(mapped);
}

function sorted(named: Named): Named {
  return Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)));
}
