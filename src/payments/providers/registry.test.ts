import { expect, it } from 'vitest';
import { PROVIDER_NAMES } from './provider-name-rules.ts';
import { PROVIDERS } from './registry.ts';

it('each name of a provider has its provider', () => {
  expect(PROVIDERS.map(({ name }) => name)).toEqual([...PROVIDER_NAMES]);
});
