import serializerFactory from '@fastify/fast-json-stringify-compiler';

type Serializer = (answer: unknown) => string;

/** By the JSON of the schema and of everything else on which a serializer depends. */
const compiled = new Map<string, Serializer>();

/**
 * Fastify's serializers. Each is compiled at the first answer with its schema, because compiling all of them delays the start.
 * Equal schemas share a serializer: those of `/api` and `/api/v1`, and the errors of all routes.
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
    const key = `${JSON.stringify(route.schema)} ${common}`;
    const known = compiled.get(key) ?? compile({ ...route, schema: withNullables(route.schema) });
    compiled.set(key, known);
    return known;
  }
};

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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
