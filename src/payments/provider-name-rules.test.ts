import { expect, it } from 'vitest';
import { methodCodeOf, PROVIDER_NAMES } from './provider-name-rules.ts';

it('each provider has the payment method of its payments', () => {
  expect(PROVIDER_NAMES.map((name) => [name, methodCodeOf(name)])).toEqual([
    ['mobilemoney', 'mobile_money'],
    ['tigopesa', 'mobile_money'],
  ]);
});

it('an unknown provider has no payment method', () => {
  expect(() => methodCodeOf('other')).toThrow('There is no payment provider other.');
});
