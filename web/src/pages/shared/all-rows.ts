export interface Page<Row> {
  data?: { data: Row[]; pagination: { nextCursor?: string | null } };
  error?: unknown;
}

/**
 * Reads all rows of a list, page by page. Uses cursors, because page numbers could skip a row or return it twice: if a row
 * disappears between two reads, a later row moves to a page that was already read.
 * @param readPage - reads the page after a cursor. The cursor of the first page is empty.
 */
export async function readAllRows<Row>(readPage: (after: string) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const { data, error }: Page<Row> = await readPage(after);
    if (!data) throw error;
    rows.push(...data.data);
    after = data.pagination.nextCursor ?? null;
  }
  return rows;
}
