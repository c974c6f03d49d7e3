import {
  ProviderApiError,
  type PulledPage,
  type PullSource,
  type PullWindow,
} from '../providers/provider.ts';

// Reads all pages of a period from a provider. The documentation of a provider may not say whether an offset counts rows or pages,
// so a period is complete only if it has as many rows or pages as the provider names.

/** After this many pages of a period, the pull fails: the provider probably never reports the end of its rows. */
const MAX_PAGES = 5_000;
/** Each page starts with the last rows of the previous page, because rows shift if the provider adds or hides rows. */
const OVERLAPPING_ROWS = 10;
/** A period is read at most this many times. */
const MAX_PASSES = 6;

/** The provider answered, but its list of a period contradicts itself or the books. */
export class IncompleteList extends ProviderApiError {
  constructor(reason: string) {
    const message = `The provider’s list of the period is incomplete: ${reason}. The service will read the period again.`;
    super('no_answer', message);
  }
}

/**
 * Reads a period. A period of several pages is read again until no new row appears, because the pages may have shifted.
 * @param take - called with each page that has new rows.
 * @returns the number of different rows.
 * @throws IncompleteList if the answers contradict each other. ProviderApiError if the provider refuses or cannot answer.
 */
export async function readPeriod(
  source: PullSource,
  window: PullWindow,
  take: (page: PulledPage) => Promise<void>,
  signal: AbortSignal,
): Promise<number> {
  const seen = new Set<string>();
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    let newPages = 0;
    let rowsNamed = 0;
    for await (const page of readPages(source, window, signal)) {
      rowsNamed = Math.max(rowsNamed, page.rowsInPeriod ?? 0);
      if (page.rowIds.every((id) => seen.has(id))) continue;
      newPages += 1;
      for (const id of page.rowIds) seen.add(id);
      await take(page);
    }
    const isRead = newPages === 0 || (pass === 1 && newPages === 1);
    if (isRead && seen.size >= rowsNamed) return seen.size;
    if (isRead) throw new IncompleteList(`the provider counts ${rowsNamed} rows, and lists ${seen.size}`);
  }
  throw new IncompleteList(`the list was still changing after ${MAX_PASSES} readings`);
}

async function* readPages(
  source: PullSource,
  window: PullWindow,
  signal: AbortSignal,
): AsyncGenerator<PulledPage> {
  const read = (offset: number) => source.readPage(window, offset, signal);
  const first = await read(0);
  const offsets = pageCountOf(first) > 1 ? yield* readNumberedPages(read, first) : 'rows';
  if (offsets === 'rows') yield* readRows(read, first);
}

type ReadPage = (offset: number) => Promise<PulledPage>;

/**
 * Reads pages whose number is the offset. The first page has the number 0 or 1.
 * @returns `rows` if the offset counts rows instead: most rows of the next page are on the pages before it.
 */
async function* readNumberedPages(
  read: ReadPage,
  first: PulledPage,
): AsyncGenerator<PulledPage, 'pages' | 'rows'> {
  yield first;
  const seen = new Set(first.rowIds);
  let pagesNamed = pageCountOf(first);
  let pagesRead = 1;
  for (let number = 1; number <= Math.min(pagesNamed, MAX_PAGES) && pagesRead < pagesNamed; number += 1) {
    const page = await read(number);
    yield page;
    const isFirstAgain = number === 1 && page.content === first.content;
    const newRows = page.rowIds.filter((id) => !seen.has(id)).length;
    if (newRows > page.rowIds.length / 2) pagesRead += 1;
    else if (page.rowIds.length > 0 && !isFirstAgain) return 'rows';
    for (const id of page.rowIds) seen.add(id);
    pagesNamed = Math.max(pagesNamed, page.pagesInPeriod ?? 0);
  }
  if (pagesRead < pagesNamed)
    throw new IncompleteList(`the provider names ${pagesNamed} pages, and sends ${pagesRead}`);
  return 'pages';
}

/** The number of pages that an answer names. If it names only a number of rows, all pages have as many rows as this one. */
function pageCountOf({ pagesInPeriod, rowsInPeriod, rowIds }: PulledPage): number {
  return pagesInPeriod ?? Math.ceil((rowsInPeriod ?? 0) / Math.max(rowIds.length, 1));
}

/** Reads pages that start at a row, until a page is empty. */
async function* readRows(read: ReadPage, first: PulledPage): AsyncGenerator<PulledPage> {
  let offset = 0;
  let largestPage = 0;
  let previous = '';
  let page = first;
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const rowCount = page.rowIds.length;
    if (rowCount === 0) return;
    if (page.content === previous) break;
    previous = page.content;
    yield page;
    // A page that is smaller than an earlier one is the last page.
    largestPage = Math.max(largestPage, rowCount);
    const overlap = rowCount < largestPage ? 0 : Math.min(OVERLAPPING_ROWS, Math.floor(rowCount / 2));
    offset += rowCount - overlap;
    page = await read(offset);
  }
  throw new IncompleteList(
    `the provider repeated a page, or sent more than ${MAX_PAGES} pages, after row ${offset}`,
  );
}
