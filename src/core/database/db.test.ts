import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { ARRAYS, columnTypes } from './db.ts';

const read = (type: number, text: string) => columnTypes.getTypeParser(type, 'text')(text);

describe('the values of a column of arrays', () => {
  it.each([
    '{}',
    '{a}',
    '{a,b}',
    '{"a,b",c}',
    '{"say \\"a\\"",b}',
    '{NULL,a}',
    '{No,a}',
    '[0:1]={a,b}',
    '{"",a}',
  ])('are those of pg: %s', (text) => {
    expect(read(ARRAYS.TEXT, text)).toEqual(pg.types.getTypeParser(ARRAYS.TEXT as number)(text));
  });

  it('are numbers, dates as text and exact amounts', () => {
    expect(read(ARRAYS.INT4, '{1,-2,30}')).toEqual([1, -2, 30]);
    expect(read(ARRAYS.INT4, '{1,NULL,3}')).toEqual([1, null, 3]);
    expect(read(ARRAYS.INT8, '{1,NULL}')).toEqual([1, null]);
    expect(read(ARRAYS.INT8, '{1,9007199254740991}')).toEqual([1, Number.MAX_SAFE_INTEGER]);
    expect(() => read(ARRAYS.INT8, '{9007199254740993}')).toThrow();
    expect(read(ARRAYS.DATE, '{2026-11-02,2026-12-01}')).toEqual(['2026-11-02', '2026-12-01']);
  });

  it.each(Object.values(ARRAYS))('are not read from two dimensions: type %i', (type) => {
    expect(() => read(type, '{{1,2},{3,4}}')).toThrow('two dimensions');
  });
});
