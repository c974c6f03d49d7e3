import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import { type FileName, VERSION_COLUMN } from '../../src/portfolio/format-rules.ts';
import type { AdminCalls } from './imports.ts';
import { readZip } from './zip.ts';

export type PortfolioFiles = Record<FileName, Buffer>;
export type PortfolioRow = Record<string, string>;

/** The files of an export over the API. */
export async function exportFiles(service: AdminCalls): Promise<PortfolioFiles> {
  const response = await fetch(`${service.origin}/api/exports/portfolio`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  });
  expect(response.status).toBe(200);
  const files = readZip(Buffer.from(await response.arrayBuffer()));
  return Object.fromEntries(
    [...files].map(([name, bytes]) => [name.replace('.csv', ''), bytes]),
  ) as PortfolioFiles;
}

/** The rows of a file, with the unchanged text of their cells, without the column that names the version of the format. */
export function rowsOf(file: Buffer): PortfolioRow[] {
  const rows: PortfolioRow[] = parse(file, { bom: true, columns: true });
  return rows.map(({ [VERSION_COLUMN]: _, ...row }) => row);
}
