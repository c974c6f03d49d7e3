import serializerFactory from '@fastify/fast-json-stringify-compiler';

/** Fastify's serializers. Each is compiled at the first answer of its route, because compiling all of them delays the start. */
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
