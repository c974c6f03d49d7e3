import serializerFactory from '@fastify/fast-json-stringify-compiler';

/** Fastify's serializers, each compiled at the first answer of its route. Compiling all of them would slow down the start. */
export const buildSerializer: ReturnType<typeof serializerFactory> = (schemas, options) => {
  const compile = serializerFactory()(schemas, options);
  return (route) => {
    let serialize: ReturnType<typeof compile> | undefined;
    return (answer) => {
      serialize ??= compile({ ...route, schema: withNullables(route.schema) });
      return serialize(answer);
    };
  };
};

/** Writes `anyOf: [T, null]` as T with `nullable`, because the serializer would validate each value against each part of a union. */
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
