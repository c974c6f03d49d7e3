import { BYTE_ORDER_MARK } from '../core/values/csv.ts';
import { type FileName, FORMAT } from './format-rules.ts';
import { guarded } from './spreadsheet-guard-rules.ts';

/** A CSV file with the header, and with an example row if the format has examples. */
export function templateOf(file: FileName): string {
  const { columns } = FORMAT[file];
  const header = columns.map(({ name }) => name);
  const example = columns.map((column) => guarded(column.example, 1));
  const lines = example.some((cell) => cell !== '') ? [header, example] : [header];
  return BYTE_ORDER_MARK + lines.map((cells) => `${cells.map(quotedIfNeeded).join(',')}\r\n`).join('');
}

function quotedIfNeeded(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
