import { type Column, FILE_NAMES, FORMAT } from '../src/portfolio/format-rules.ts';

/** The files of a portfolio and their columns, as tables in Markdown. */
export function portfolioTables(): string {
  return FILE_NAMES.map((file) => {
    const { meaning, columns } = FORMAT[file];
    const rows = columns.map(
      (column) => `| ${nameOf(column)} | ${contentOf(column)} | ${column.meaning} | ${exampleOf(column)} |`,
    );
    const table = ['| column | contains | meaning | example |', '| --- | --- | --- | --- |', ...rows];
    return [`### ${file}.csv`, '', meaning, '', ...table].join('\n');
  }).join('\n\n');
}

function nameOf({ name, required }: Column): string {
  return required ? `**${name}**` : name;
}

function exampleOf({ example }: Column): string {
  return example === '' ? '' : `\`${example}\``;
}

function contentOf(column: Column): string {
  switch (column.kind) {
    case 'text':
    case 'name':
    case 'paragraph':
    case 'code':
      return `text, at most ${column.maxLength} characters`;
    case 'external_id':
      return 'your id';
    case 'national_id':
      return 'text, at most 50 characters';
    case 'reference':
      return `a row of ${column.file}.csv`;
    case 'amount':
      return column.allowsZero ? 'amount, 0 or more' : 'amount above 0';
    case 'count':
      return `number, ${column.min} to ${column.max.toLocaleString('en')}`;
    case 'date':
      return 'date';
    case 'timestamp':
      return 'date or time';
    case 'phone':
      return 'phone number';
    case 'email':
      return 'e-mail address';
    case 'account_number':
      return 'account number';
    case 'months':
      return 'numbers from 1 to 12';
    case 'harvest':
      return 'days with shares';
    case 'flag':
      return 'yes or no';
    case 'choice':
      return column.values.map((value) => `\`${value}\``).join(', ');
    case 'metadata':
    case 'assignments':
    case 'runs':
      return 'JSON';
  }
}
