import { register } from 'node:module';

/**
 * @hey-api/openapi-ts cannot call the compiler of TypeScript 7, which this repository uses. So these hooks resolve TypeScript
 * from packages/client, which has version 5.
 */
const client = new URL('../../packages/client/package.json', import.meta.url).href;
const hooks = `export const resolve = (specifier, context, next) =>
  next(specifier, specifier === 'typescript' ? { ...context, parentURL: '${client}' } : context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
