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
    '{{a,b},{c,d}}',
    '[0:1]={a,b}',
    '{"",a}',
  ])('are those of pg: %s', (text) => {
    expect(read(ARRAYS.TEXT, text)).toEqual(pg.types.getTypeParser(ARRAYS.TEXT as number)(text));
  });

  it('are numbers, dates as text and exact amounts', () => {
    expect(read(ARRAYS.INT4, '{1,-2,30}')).toEqual([1, -2, 30]);
    expect(read(ARRAYS.INT8, '{1,9007199254740991}')).toEqual([1, Number.MAX_SAFE_INTEGER]);
    expect(() => read(ARRAYS.INT8, '{9007199254740993}')).toThrow();
    expect(read(ARRAYS.DATE, '{2026-11-02,2026-12-01}')).toEqual(['2026-11-02', '2026-12-01']);
  });
});
