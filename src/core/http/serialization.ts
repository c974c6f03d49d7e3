import serializerFactory from '@fastify/fast-json-stringify-compiler';

type Serializer = (answer: unknown) => string;

/** By the JSON of the schema and of everything else on which a serializer depends. */
const compiled = new Map<string, Serializer>();

/**
 * Fastify's serializers. Each is compiled at the first answer with its schema, because compiling all of them delays the start.
 * Equal schemas share a serializer: those of `/api` and `/api/v1`, and the errors of all routes.
 *
 * The answer to a change (any method but GET) may lack required fields: it can be an answer that an earlier version stored for an
 * Idempotency-Key, before the fields existed. A stored answer is not sent as it is, because it can have fields that the schema does
 * not have.
 */
export const buildSerializer: ReturnType<typeof serializerFactory> = (schemas, options) => {
  const compile = serializerFactory()(schemas, options);
  const common = JSON.stringify([schemas, options]);
  return (route) => {
    let serialize: Serializer | undefined;
    return (answer) => {
      serialize ??= find(route);
      return serialize(answer);
    };
  };

  function find(route: Parameters<typeof compile>[0]): Serializer {
    const isChange = route.method !== 'GET';
    const key = `${JSON.stringify([route.schema, isChange])} ${common}`;
    const known = compiled.get(key) ?? compile({ ...route, schema: schemaOf(route.schema, isChange) });
    compiled.set(key, known);
    return known;
  }
};

function schemaOf(schema: unknown, isChange: boolean): unknown {
  return isChange ? withoutRequired(withNullables(schema)) : withNullables(schema);
}

/** Replaces `anyOf: [T, null]` by T with `nullable`. For a union, the serializer would validate each value against each part. */
function withNullables(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNullables);
  if (!isObject(schema)) return schema;
  const { anyOf, ...others } = schema;
  const [value, nullPart, ...more] = Array.isArray(anyOf) ? anyOf : [];
  if (isObject(value) && typeof value.type === 'string' && nullPart?.type === 'null' && more.length === 0) {
    return withNullables({ ...others, ...value, nullable: true });
  }
  return Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, withNullables(part)]));
}

/** Removes the keyword `required`, except in the parts of a union, where the serializer needs it to choose a part. */
function withoutRequired(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([name, part]) => name !== 'required' || !Array.isArray(part));
  return Object.fromEntries(
    kept.map(([name, part]) => [name, UNIONS.has(name) ? part : withoutRequired(part)]),
  );
}

const UNIONS = new Set(['anyOf', 'oneOf']);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
