import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** Raw XML of a cell, or its text. A number becomes a number cell. */
export type Cell = string | number | { xml: (reference: string) => string };

interface Workbook {
  /** The rows of each sheet by its name. An empty row is left out, as spreadsheet programs do. */
  sheets: Record<string, Cell[][]>;
  /** The formats of numbers: the style n has the n-th one, from 1. */
  formats?: string[];
  isFrom1904?: boolean;
  /** Further parts, or other contents of the usual parts. */
  parts?: Record<string, string>;
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';

/** A small XLSX workbook. Texts are shared strings, as spreadsheet programs write them. */
export async function workbook({
  sheets,
  formats = [],
  isFrom1904 = false,
  parts = {},
}: Workbook): Promise<Buffer> {
  const strings: string[] = [];
  const names = Object.keys(sheets);
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const files: Record<string, string> = {
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><workbookPr date1904="${isFrom1904 ? 1 : 0}"/><sheets>${names
      .map((name, at) => `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}">${names
      .map((_, at) => relation(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`))
      .join(
        '',
      )}${relation('rIdA', 'sharedStrings', '/xl/sharedStrings.xml')}${relation('rIdB', 'styles', 'styles.xml')}</Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${formats
      .map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${escaped(code)}"/>`)
      .join('')}</numFmts><cellXfs><xf numFmtId="0"/>${formats
      .map((_, at) => `<xf numFmtId="${164 + at}"/>`)
      .join('')}</cellXfs></styleSheet>`,
  };
  for (const [at, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map((cells, row) => {
      const inside = cells.map((cell, column) => cellXml(cell, `${letterOf(column)}${row + 1}`, strings));
      return cells.length === 0 ? '' : `<row r="${row + 1}">${inside.join('')}</row>`;
    });
    files[`xl/worksheets/sheet${at + 1}.xml`] =
      `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="${MAIN}"><sheetData>${rows.join('')}</sheetData></worksheet>`;
  }
  files['xl/sharedStrings.xml'] =
    `<sst xmlns="${MAIN}">${strings.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join('')}</sst>`;
  return zipOf({ ...files, ...parts });
}

/** A cell with a style, a type or a formula. */
export function cell(inside: string, attributes = ''): Cell {
  return { xml: (reference) => `<c r="${reference}" ${attributes}>${inside}</c>` };
}

export async function zipOf(files: Record<string, string>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), name);
  zip.end();
  return buffer(zip.outputStream);
}

function cellXml(cell: Cell, reference: string, strings: string[]): string {
  if (typeof cell === 'object') return cell.xml(reference);
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  if (cell === '') return '';
  return `<c r="${reference}" t="s"><v>${strings.push(cell) - 1}</v></c>`;
}

function letterOf(column: number): string {
  return String.fromCharCode(65 + column);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
