import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { Nullable } from './fields.ts';
import { buildSerializer } from './serialization.ts';

function write(schema: object, value: unknown, method = 'GET'): unknown {
  const serialize = buildSerializer({}, {})({ schema, method, url: '/', httpStatus: '200' });
  return JSON.parse(serialize(value));
}

describe('a serializer', () => {
  const Row = Type.Object({
    text: Nullable(Type.String()),
    amount: Nullable(Type.Number()),
    inner: Nullable(Type.Object({ day: Nullable(Type.String({ format: 'date-time' })) })),
    list: Type.Array(Nullable(Type.Integer())),
  });

  it('writes null where the schema allows it, at every depth', () => {
    const none = { text: null, amount: null, inner: null, list: [null, 0] };
    expect(write(Row, none)).toEqual(none);
    expect(write(Row, { ...none, inner: { day: null } })).toEqual({ ...none, inner: { day: null } });
  });

  it('distinguishes a missing value from null', () => {
    const some = { text: '', amount: 0, inner: { day: '2026-11-02T08:15:30.000Z' }, list: [] };
    expect(write(Row, some)).toEqual(some);
  });

  it('is shared only by schemas that are equal, with all that they refer to', () => {
    const route = { schema: { $ref: 'Row#' }, method: 'GET', url: '/', httpStatus: '200' };
    const writeWith = (name: string) => {
      const Row = { $id: 'Row', type: 'object', properties: { [name]: { type: 'string' } } };
      return buildSerializer({ Row }, {})(route)({ first: 'a', second: 'b' });
    };
    const written = ['first', 'second', 'first'].map(writeWith);
    expect(written).toEqual(['{"first":"a"}', '{"second":"b"}', '{"first":"a"}']);
  });

  it('writes each type of a union', () => {
    const Either = Type.Object({ value: Type.Union([Type.String(), Type.Number(), Type.Null()]) });
    for (const value of ['12', 12, null]) expect(write(Either, { value })).toEqual({ value });
  });

  it('writes an answer to a change without the required fields that a stored answer does not have, at every depth', () => {
    const some = { inner: {}, list: [] };
    expect(write(Row, some, 'POST')).toEqual(some);
    expect(write(Type.Array(Row), [some, {}], 'POST')).toEqual([some, {}]);
    expect(() => write(Row, some)).toThrow('is required');
  });

  it('removes no field that is named required', () => {
    const Named = Type.Object({ required: Type.Boolean() });
    expect(write(Named, { required: true }, 'POST')).toEqual({ required: true });
  });
});
