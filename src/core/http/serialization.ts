import serializerFactory from '@fastify/fast-json-stringify-compiler';

/**
 * Fastify's serializers, each made when its route first answers: made at the start, for both addresses of every
 * route, they would be a good part of what a start takes.
 */
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

/**
 * The same schema with `nullable` for "this or null": of a union the serializer would hold each value against each
 * of its schemas.
 */
function withNullables(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNullables);
  if (!isObject(schema)) return schema;
  const { anyOf, ...others } = schema;
  const [value, none, ...more] = Array.isArray(anyOf) ? anyOf : [];
  if (isObject(value) && typeof value.type === 'string' && none?.type === 'null' && more.length === 0) {
    return withNullables({ ...others, ...value, nullable: true });
  }
  return Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, withNullables(part)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
