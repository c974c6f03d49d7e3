import { expect, it } from 'vitest';
import { PROVIDER_NAMES } from '../../payments/provider-name-rules.ts';
import { PROVIDERS } from './registry.ts';

it('the registry has one provider for each name, in the same order', () => {
  expect(PROVIDERS.map(({ name }) => name)).toEqual([...PROVIDER_NAMES]);
});
