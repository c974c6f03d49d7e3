import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import { HAS_BROWSER, useConsole } from './console.ts';

const { schemas } = JSON.parse(
  readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
).components;
const exampleOf = (schema: string, fields: object) => ({ ...schemas[schema].examples[0], ...fields });

/** Pages of a record with rows: their path, the answer of the API for the record, and its answer for a row that contains a text. */
const PAGES = [
  {
    page: '/imports',
    path: '/api/imports',
    rowsPath: 'problems',
    recordOf: (id: number) => exampleOf('Import', { id, status: 'checked', errors: 1 }),
    rowOf: (text: string) => exampleOf('ImportProblem', { value: text }),
  },
  {
    page: '/statements',
    path: '/api/reconciliations/statements',
    rowsPath: 'lines',
    recordOf: (id: number) => exampleOf('ProviderStatement', { id }),
    rowOf: (text: string) => exampleOf('ProviderStatementLine', { receipt: text }),
  },
  {
    page: '/webhook-endpoints',
    path: '/api/webhook-endpoints',
    rowsPath: 'deliveries',
    recordOf: (id: number) => exampleOf('WebhookEndpoint', { id }),
    rowOf: (text: string) => exampleOf('WebhookDelivery', { eventType: text }),
  },
];

describe.skipIf(!HAS_BROWSER)('the pages of two records', () => {
  const console = useConsole();

  /** Answers for records 1 and 2. @returns a function that sends the rows of one of them. */
  async function answer(page: Page, { path, rowsPath, recordOf, rowOf }: (typeof PAGES)[number]) {
    const waiting: { id: number; send(): void }[] = [];
    const sent = new Set<number>();
    await page.route(`**${path}/*`, (route) => {
      const id = Number(new URL(route.request().url()).pathname.split('/').at(-1));
      return route.fulfill({ json: { success: true, data: recordOf(id) } });
    });
    await page.route(`**${path}/*/${rowsPath}?*`, async (route) => {
      const id = Number(new URL(route.request().url()).pathname.split('/').at(-2));
      if (!sent.has(id)) await new Promise<void>((resolve) => waiting.push({ id, send: resolve }));
      const pagination = { page: 1, limit: 25, total: 1, totalPages: 1 };
      const json = { success: true, data: [rowOf(`row of ${id}`)], pagination };
      await route.fulfill({ json }).catch(() => undefined); // The page no longer waits for it.
    });
    return async (id: number) => {
      await eventually(() => waiting.some((one) => one.id === id)).toBe(true);
      sent.add(id); // The page may request the rows again when it is shown again.
      for (const one of waiting) if (one.id === id) one.send();
    };
  }

  it.each(PAGES)('never show the rows of the other record after "back": $page', async (tested) => {
    const page = await console.open('/find');
    const sendRows = await answer(page, tested);
    const rows = (id: number) => page.getByText(`row of ${id}`, { exact: true });
    const skeleton = page.locator('main .skeleton').first();
    const go = (id: number) => page.evaluate(`history.pushState(null, '', '${tested.page}/${id}')`);
    await go(1);
    await page.locator('.page-head').waitFor();
    await skeleton.waitFor();
    await go(2);
    await sendRows(2);
    await rows(2).waitFor();
    await page.goBack(); // The record is in the cache, and its rows are not.
    await skeleton.waitFor();
    expect(await rows(2).count()).toBe(0);
    await sendRows(1);
    await rows(1).waitFor();
  });
});
