import { expect, it } from 'vitest';
import { RequestedPlanChange } from '../../staff/approvals/plan-change-schema.ts';
import { NewPlanChange } from './schema.ts';

it('a request for approval shows each field of a requested change, apart from its confirmation', () => {
  const { confirm, ...requested } = NewPlanChange.properties;
  const { payplanName, ...shown } = RequestedPlanChange.properties;
  expect(Object.keys(shown).sort()).toEqual(Object.keys(requested).sort());
  const keysOf = (schema: { items: { properties: object } }) => Object.keys(schema.items.properties);
  expect(keysOf(shown.dues)).toEqual(keysOf(requested.dues));
  expect(Object.keys(shown.harvest.properties)).toEqual(Object.keys(requested.harvest.properties));
  expect(keysOf(shown.harvest.properties.entries)).toEqual(keysOf(requested.harvest.properties.entries));
});
