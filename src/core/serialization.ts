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
      serialize ??= compile(route);
      return serialize(answer);
    };
  };
};
