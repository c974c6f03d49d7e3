import { expect, it } from 'vitest';
import { readRecords } from './csv-records.ts';

async function read(text: string, size = text.length) {
  async function* chunks() {
    for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
  }
  const found = [];
  for await (const { line, record } of readRecords(chunks(), ',', 1_000)) found.push([line, ...record]);
  return found;
}

it.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('reads lines that end with %s, in chunks of any size', async (_name, end) => {
  const text = ['a,b', `1,"x${end}y"`, '', '"2,3",z', '4,5'].join(end);
  for (const size of [1, 2, 3, 100])
    expect(await read(text, size)).toEqual([
      [1, 'a', 'b'],
      [2, '1', `x${end}y`],
      [5, '2,3', 'z'],
      [6, '4', '5'],
    ]);
});

it('keeps a CR within a cell if the lines end with LF', async () => {
  expect((await read('a,b\nx\ry,1\n')).map(([, ...cells]) => cells)).toEqual([
    ['a', 'b'],
    ['x\ry', '1'],
  ]);
});

it('reads lines that end with LF after a first line that ends with CR', async () => {
  expect(await read('a,b\r1,2\n3,4\r\n5,6')).toEqual([
    [1, 'a', 'b'],
    [2, '1', '2'],
    [3, '3', '4'],
    [4, '5', '6'],
  ]);
});

it('reads a file without a line end, and an empty file', async () => {
  expect(await read('a,b')).toEqual([[1, 'a', 'b']]);
  expect(await read('a,b\r')).toEqual([[1, 'a', 'b']]);
  expect(await read('', 1)).toEqual([]);
});
