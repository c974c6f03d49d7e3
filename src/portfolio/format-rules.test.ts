import { expect, test } from 'vitest';
import { FILE_NAMES, FORMAT } from './format-rules.ts';

const files = FILE_NAMES.map((file) => ({ file, ...FORMAT[file] }));

test.each(files)('every reference of $file leads to an earlier file that has a key', ({ file, columns }) => {
  for (const column of columns) {
    if (column.kind !== 'reference') continue;
    expect(FORMAT[column.file].key).not.toBeNull();
    expect(FILE_NAMES.indexOf(column.file)).toBeLessThan(FILE_NAMES.indexOf(file));
  }
});

test.each(files)('the key of $file is required and unique', ({ key, columns }) => {
  if (key === null) return;
  expect(columns.find(({ name }) => name === key)).toMatchObject({ required: true, unique: true });
});

test.each(files)(
  'every column of $file has a unique snake_case name, and its meaning is a sentence',
  ({ columns }) => {
    const names = columns.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, meaning } of columns) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(meaning).toMatch(/^\S.*[.]$/);
    }
  },
);

test.each(files)('if a column of $file has an example, every required column has one', ({ columns }) => {
  if (columns.every(({ example }) => example === '')) return;
  for (const column of columns) if (column.required) expect(column.example, column.name).not.toBe('');
});

test('references in the examples lead to the examples of the other files', () => {
  for (const { columns } of files) {
    for (const column of columns) {
      if (column.kind !== 'reference' || column.example === '' || column.file === 'payment_methods') continue;
      const { key, columns: others } = FORMAT[column.file];
      expect(others.find(({ name }) => name === key)?.example).toBe(column.example);
    }
  }
});
