import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { useService } from '../harness.ts';

vi.setConfig({ testTimeout: 60_000 });

const CHROMIUM = '/usr/bin/chromium';
const isThere = existsSync(CHROMIUM);
if (!isThere) process.stdout.write(`The documentation page is not tested: there is no ${CHROMIUM}.\n`);

describe.skipIf(!isThere)('the documentation page in a browser whose network is the service alone', () => {
  const service = useService();
  const refused: string[] = [];
  const complaints: string[] = [];
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage({ viewport: { width: 1200, height: 1600 } });
    await page.route('**/*', (route) => {
      const url = route.request().url();
      if (url.startsWith(`${service.origin}/`) || url.startsWith('data:')) return route.continue();
      refused.push(url);
      return route.abort();
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await page.goto(`${service.origin}/api-docs`);
  });
  afterAll(() => browser?.close());

  it('lists the operations under their tags', async () => {
    await page.locator('.opblock-tag-section').first().waitFor();
    expect(await page.locator('.info .title').textContent()).toContain('Account Management Service');
    expect(await page.locator('.opblock-tag-section').count()).toBeGreaterThan(14);
  });

  it('takes a token in its Authorize dialog', async () => {
    await page.locator('button.authorize').first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input[aria-label="auth-bearer-value"]').fill(service.adminToken);
    await dialog.locator('.auth-container', { hasText: 'bearer' }).locator('button.authorize').click();
    await dialog.locator('button.btn-done').first().click();
  });

  it('sends GET /api/auth/me by "Try it out" and shows the 200 with the user', async () => {
    await page.locator('#operations-tag-Authentication').click();
    const operation = page.locator('#operations-Authentication-getAuthMe');
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('button.execute').click();
    const answer = operation.locator('.live-responses-table .response');
    expect(await answer.locator('.response-col_status').textContent()).toMatch(/^200/);
    expect(await answer.locator('.response-col_description').textContent()).toContain('admin@example.com');
  });

  it('asked nobody else for anything, and complained about nothing', () => {
    expect(refused).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
