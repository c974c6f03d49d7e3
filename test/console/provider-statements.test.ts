import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { notification } from '../support/http.ts';
import { eventually } from '../support/waiting.ts';
import {
  expectAccessible,
  HAS_BROWSER,
  loseFirstAnswer,
  newAccount,
  openFilters,
  PHONE,
  refuseFirst,
  statementFile,
  statValue,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('statements of providers', () => {
  const console = useConsole();
  let files = 0;

  /** A file with one payment that the books have and one that they lack. */
  async function newFile() {
    const { id, accountNumber } = await newAccount(console);
    files += 1;
    const known = `KNOWN${files}`;
    const fields = { TransID: known, BillRefNumber: accountNumber, TransAmount: '400.00' };
    await console.call('POST', '/webhooks/payments/mobilemoney', notification(fields));
    const missing = { receipt: `MISSING${files}`, amount: '800.00', account: accountNumber };
    const lines = [{ receipt: known, amount: '400.00' }, missing];
    // Each file has another organisation, because the service stores a file once.
    return { file: statementFile(`november-${files}.csv`, `Sunrise ${files}`, lines), accountId: id };
  }

  it('offer to reconcile only payments that no earlier statement has reconciled', async () => {
    const { accountNumber } = await newAccount(console);
    for (const TransID of ['TWICE1', 'TWICE2'])
      await console.call(
        'POST',
        '/webhooks/payments/mobilemoney',
        notification({ TransID, BillRefNumber: accountNumber, TransAmount: '400.00' }),
      );
    const page = await console.open('/statements');
    const upload = async (organisation: string, receipts: string[]) => {
      await page.goto(`${console.origin}/statements`);
      await page.getByRole('button', { name: 'Choose a file' }).waitFor();
      const lines = receipts.map((receipt) => ({ receipt, amount: '400.00', account: accountNumber }));
      await choose(page, statementFile(`${organisation}.csv`, organisation, lines));
      await page.waitForURL('**/statements/*');
      await page.locator('.page-sub .badge', { hasText: 'Compared' }).waitFor();
    };
    const reconcile = async (name: string) => {
      await page.getByRole('button', { name }).click();
      await page.locator('dialog input:focus').waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name }).waitFor({ state: 'detached' });
    };
    await upload('Morning', ['TWICE1']);
    await reconcile('Reconcile 1 payment');
    await upload('Whole day', ['TWICE1', 'TWICE2']);
    await reconcile('Reconcile 1 payment');
    await statValue(page, 'Reconciled').getByText('1', { exact: true }).waitFor();
    await page.getByText('1 more was reversed, or reconciled in another way').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('button', { name: /^Reconcile/ }).count()).toBe(0);
  });

  const choose = (page: Page, file: ReturnType<typeof statementFile>) =>
    page.locator('input[type=file]').setInputFiles(file);

  it('are uploaded, imported and reconciled', async () => {
    const { file, accountId } = await newFile();
    const page = await console.open('/statements', { viewport: PHONE });
    await page.getByRole('button', { name: 'Choose a file' }).waitFor();
    await expectAccessible(page);
    await choose(page, file);
    await page.waitForURL('**/statements/*');
    await page.locator('.page-sub .badge', { hasText: 'Compared' }).waitFor();
    await page.getByText('The provider has this payment, but the books do not.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Import 1 missing payment' }).click();
    await statValue(page, 'Matched').getByText('2', { exact: true }).waitFor();
    expect(await console.call('GET', `/accounts/${accountId}`)).toMatchObject({ paid: 1200 });
    await page.getByRole('button', { name: 'Reconcile 2 payments' }).click();
    await page.locator('dialog input:focus').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await statValue(page, 'Reconciled').getByText('2', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Reconcile 2 payments' }).waitFor({ state: 'detached' });
    const payments = await console.call('GET', `/accounts/${accountId}/payments`);
    expect(
      payments.map(({ reconciliationId }: { reconciliationId: number }) => reconciliationId > 0),
    ).toEqual([true, true]);
    await page.goBack();
    await page.getByRole('cell', { name: '1 Nov 2026' }).first().waitFor();
    await expectAccessible(page);
  });

  it('have tabs on one line of a phone, with the chosen tab in view', async () => {
    const page = await console.open('/statements?view=proof', { viewport: PHONE });
    const tabs = page.locator('.tabs a');
    await tabs.first().waitFor();
    const boxes = await Promise.all((await tabs.all()).map((tab) => tab.boundingBox()));
    expect(boxes.length).toBe(3);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    expect(
      await page.locator('.tabs').evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth),
    ).toBe(true);
    const chosen = await page.locator('.tabs [aria-current]').boundingBox();
    expect(chosen && chosen.x + chosen.width).toBeLessThanOrEqual(PHONE.width);
    await expectAccessible(page);
    await tabs.last().focus();
    for (const _tab of boxes.slice(1)) await page.keyboard.press('Shift+Tab');
    expect((await tabs.first().boundingBox())?.x).toBeGreaterThanOrEqual(0);
  });

  it('show the lines of each difference, with the choice in the URL', async () => {
    const { file } = await newFile();
    const page = await console.open('/statements');
    await choose(page, file);
    await page.getByRole('heading', { name: 'Missing in the books' }).waitFor();
    await page.getByRole('cell', { name: /^MISSING/ }).waitFor();
    await page.getByRole('link', { name: 'Matched', exact: true }).click();
    await page.getByRole('cell', { name: /^KNOWN/ }).waitFor();
    expect(page.url()).toContain('?result=matched');
    await page.goBack();
    await page.getByRole('cell', { name: /^MISSING/ }).waitFor();
  });

  it('are stored once if the answer to the upload is lost', async () => {
    const { file } = await newFile();
    const before = (await console.call('GET', '/reconciliations/statements')).length;
    const page = await console.open('/statements');
    const uploads = await loseFirstAnswer(page, '**/reconciliations/statements');
    await choose(page, file);
    await page.getByText('The upload starts again by itself.').waitFor();
    await page.getByText('This file was uploaded before.').waitFor();
    await page.waitForURL('**/statements/*');
    expect(uploads.length).toBe(2);
    expect((await console.call('GET', '/reconciliations/statements')).length).toBe(before + 1);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost answer and the answer 409.
  });

  it('wait for a busy service, and show how much is sent', async () => {
    const { file } = await newFile();
    const page = await console.open('/statements');
    await refuseFirst(page, '**/reconciliations/statements', 4);
    await choose(page, file);
    await page.getByRole('progressbar').waitFor();
    const notice = page.locator('.notice', { hasText: 'The service is busy. Trying again…' });
    await notice.getByText('The upload starts again by itself.').waitFor();
    await expectAccessible(page);
    await page.waitForURL('**/statements/*');
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 503.
  });

  it('are refused with the reason', async () => {
    const csv = (content: Buffer<ArrayBuffer>) => ({ name: 'a.csv', mimeType: '', buffer: content });
    const page = await console.open('/statements');
    for (const [file, reason] of [
      [{ name: 'november.xls', mimeType: '', buffer: Buffer.from('PK') }, 'This is a spreadsheet.'],
      [csv(Buffer.from('a,b\n1,2\n')), 'Receipt No.'],
      [csv(Buffer.from('')), 'The file is empty.'],
      [csv(Buffer.alloc(8_000_000, 'a,b\n')), 'Receipt No.'],
    ] as const) {
      await choose(page, file);
      await page.getByRole('alert').getByText(reason).waitFor();
    }
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answers 400.
  });

  it('have a tab of payments that the user chooses and reconciles', async () => {
    const { id } = await newAccount(console);
    const cash = { accountId: id, paymentMethodId: 2, paymentDate: '2026-11-01' };
    const reference = 'CASH';
    const paid = await console.call('POST', '/payments', {
      ...cash,
      amount: 500.5,
      transactionRef: reference,
    });
    const page = await console.open('/statements');
    await page.getByRole('link', { name: 'To reconcile' }).click();
    await openFilters(page);
    await page.getByLabel('Method').selectOption('Cash');
    await page.waitForURL('**/statements?view=payments&paymentMethodId=2');
    await page.getByRole('checkbox', { name: reference }).check();
    await page.getByText('1 chosen, KES 500.50').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Reconcile', exact: true }).click();
    await page.locator('dialog').getByRole('button', { name: 'Reconcile' }).dblclick();
    await page.getByText('1 reconciled.').waitFor();
    await page.getByRole('checkbox', { name: reference }).waitFor({ state: 'detached' });
    expect((await console.call('GET', `/payments/${paid.id}`)).reconciliationId).toBeGreaterThan(0);
  });

  it('have a tab of payments that is filtered like every list, with the filters in the URL', async () => {
    const { id } = await newAccount(console);
    const reference = 'BANK';
    const body = { accountId: id, paymentMethodId: 2, paymentDate: '2026-10-01', amount: 5 };
    await console.call('POST', '/payments', { ...body, transactionRef: reference });
    const page = await console.open('/statements?view=payments');
    const payment = page.getByRole('checkbox', { name: reference });
    await payment.waitFor();
    await openFilters(page);
    await page.getByLabel('From').fill('2026-10-02');
    await page.keyboard.press('Enter');
    await payment.waitFor({ state: 'detached' });
    expect(page.url()).toContain('/statements?view=payments&from=2026-10-02');
    await page.reload();
    await page.locator('.panel-body[aria-busy=false]').waitFor();
    expect(await payment.count()).toBe(0);
    await page.goBack();
    await payment.waitFor();
    expect(page.url()).toMatch(/\?view=payments$/);
    await page.getByRole('link', { name: reference }).click();
    await page.waitForURL('**/payments/*');
  });

  it('have a tab of payments that stay chosen while other rows are loaded', async () => {
    const { id } = await newAccount(console);
    const body = { accountId: id, paymentMethodId: 2, paymentDate: '2026-09-01' };
    for (const amount of [10, 20]) await console.call('POST', '/payments', { ...body, amount });
    const page = await console.open('/statements?view=payments&from=2026-09-01&until=2026-09-01');
    await page.getByRole('button', { name: 'Choose all on this page' }).click();
    await page.getByText('2 chosen, KES 30.00').waitFor();
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/payments?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Amount' }).click();
    await page.locator('.panel-body[aria-busy=true]').waitFor();
    expect(await page.locator('tbody input:checked').count()).toBe(2);
    await page.getByText('2 chosen, KES 30.00').waitFor();
    await page.getByRole('button', { name: 'Choose none' }).waitFor();
    answer();
    await page.locator('.panel-body[aria-busy=false]').waitFor();
    await page.getByText('2 chosen, KES 30.00').waitFor();
  });

  it('have a tab of payments that stay chosen on other pages, until they are reconciled', async () => {
    const { id } = await newAccount(console);
    const body = { accountId: id, paymentMethodId: 2, paymentDate: '2026-08-01' };
    const items = Array.from({ length: 51 }, (_, i) => ({
      ...body,
      amount: 10,
      transactionRef: `CHOSEN-${i}`,
    }));
    await console.call('POST', '/payments/bulk', { items });
    const day = 'from=2026-08-01&until=2026-08-01';
    const page = await console.open(`/statements?view=payments&${day}`);
    await page.getByRole('button', { name: 'Choose all on this page' }).click();
    await page.getByText('50 chosen, KES 500.00', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('50 chosen, KES 500.00 (50 not on this page)', { exact: true }).waitFor();
    await page.locator('tbody').getByRole('checkbox').check();
    await page.getByText('51 chosen, KES 510.00 (50 not on this page)', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Previous page' }).click();
    await page.getByText('51 chosen, KES 510.00 (1 not on this page)', { exact: true }).waitFor();
    const references = page.locator('tbody').getByRole('link', { name: /^CHOSEN-/ });
    const kept = await references.first().textContent();
    await page.locator('tbody').getByRole('checkbox').first().uncheck();
    await page.getByText('50 chosen, KES 500.00 (1 not on this page)', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('50 chosen, KES 500.00 (49 not on this page)', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Reconcile', exact: true }).click();
    await page.locator('dialog').getByText('50 chosen, KES 500.00', { exact: true }).waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Reconcile' }).click();
    await page.getByText('50 reconciled.').waitFor();
    await page.getByText('Choose the payments whose money has arrived.').waitFor();
    await eventually(() => references.allTextContents()).toEqual([kept]);
  });

  it('have a tab for the proof of a day', async () => {
    const page = await console.open('/statements?view=proof', { viewport: PHONE });
    await page.locator('input[type=date]').fill('2026-11-01');
    await page.getByRole('button', { name: 'Prove the books' }).click();
    await page.getByText('The books of 1 Nov 2026 agree').waitFor();
    expect(await page.getByRole('row', { name: /^All methods/ }).textContent()).toContain('Agrees');
    await expectAccessible(page);
  });

  it('are shown in Swahili to a user with this language', async () => {
    const { file } = await newFile();
    const page = await console.open('/statements', { locale: 'sw', viewport: PHONE });
    await page.getByRole('button', { name: 'Chagua faili' }).waitFor();
    await choose(page, file);
    await page.getByRole('button', { name: 'Ingiza malipo 1 yanayokosekana' }).waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(
      /(providerStatements|lineResult|providerStatementStatus)\./,
    );
  });

  it('show a viewer the results, but no payers and no button', async () => {
    const { file } = await newFile();
    const page = await console.open('/statements');
    await choose(page, file);
    await page.getByRole('button', { name: 'Match again' }).waitFor();
    const path = new URL(page.url()).pathname;
    await page.context().close();
    const viewer = await console.open(path, { email: await console.createUser('viewer') });
    await viewer.getByRole('heading', { name: 'Compared with the books' }).waitFor();
    expect(await viewer.getByRole('button', { name: /Import|Reconcile|Match again/ }).count()).toBe(0);
    expect(await viewer.getByText('WANJIRU KAMAU').count()).toBe(0);
    await viewer.getByRole('link', { name: 'Statements' }).click();
    await viewer.getByRole('cell', { name: '1 Nov 2026' }).first().waitFor();
    expect(await viewer.getByRole('button', { name: 'Choose a file' }).count()).toBe(0);
  });
});
