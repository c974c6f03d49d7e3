import { register } from 'node:module';

/**
 * npm installs @hey-api/openapi-ts beside the TypeScript 7 of this repository, whose compiler it cannot call. Resolves TypeScript from
 * packages/client instead, which has version 5.
 */
const client = new URL('../../packages/client/package.json', import.meta.url).href;
const hooks = `export const resolve = (specifier, context, next) =>
  next(specifier, specifier === 'typescript' ? { ...context, parentURL: '${client}' } : context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
