import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { csvFile, expectAccessible, HAS_BROWSER, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('imports', () => {
  const console = useConsole();
  let companies = 0;

  /** The files of a customer with an account. The old system says that more is paid. */
  function newCompany() {
    companies += 1;
    const [customer, account] = [`CRM-${companies}`, `LOAN-${companies}`];
    const customers = (phone: string) =>
      csvFile('Customers (1).csv', [
        'external_id,first_name,last_name,phone',
        `${customer},Wanjiru,Company ${companies},${phone}`,
      ]);
    const accounts = csvFile('accounts.csv', [
      'external_id,customer,product,pay_plan,opened_at,source_paid',
      `${account},${customer},SHS-40,"Weekly, one year",2026-01-05,2400.00`,
    ]);
    const payments = csvFile('payments.csv', [
      'account,amount,payment_date,payment_method',
      `${account},2000.00,2026-01-05,cash`,
    ]);
    return { customers, accounts, payments, account };
  }

  const choose = (page: Page, ...files: ReturnType<typeof csvFile>[]) =>
    page.locator('input[type=file]').setInputFiles(files);
  const status = (page: Page, name: string) => page.locator('.page-sub .badge', { hasText: name }).waitFor();

  it('are uploaded, checked, corrected, run and undone', async () => {
    const { customers, accounts, payments, account } = newCompany();
    const page = await console.open('/imports', { viewport: PHONE });
    await page.getByRole('button', { name: 'payments.csv' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'New import' }).click();
    await page.getByText('Add the files, then check them.').waitFor();
    await expectAccessible(page);

    await choose(page, customers('2.54712E+11'), accounts, payments);
    await page.getByRole('cell', { name: 'payments.csv' }).waitFor();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await status(page, 'Checked');
    await page.getByText('customers.csv, line 2').waitFor();
    await page.getByText('is a number that the spreadsheet has shortened').waitFor();
    await page.getByRole('button', { name: 'Run the import' }).waitFor({ state: 'detached' });
    await expectAccessible(page);

    await choose(page, customers('0712345678'));
    await status(page, 'Adding files');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('No errors. You can run the import.').waitFor();
    await page.getByRole('cell', { name: '2400.00' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Run the import' }).click();
    await page.getByText('Some figures differ from those of the old system.').waitFor();
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Run the import' }).click();
    await status(page, 'Imported');
    await page.getByText('The books agree').waitFor();
    expect(await console.call('GET', `/accounts/by-external-id/${account}`)).toMatchObject({ paid: 2000 });

    await page.getByRole('button', { name: 'Undo the import' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Undo the import' }).click();
    await status(page, 'Undone');
    await expectAccessible(page);
    const customer = `filter[externalId]=CRM-${companies}`;
    expect(await console.call('GET', `/customers?${customer}`)).toEqual([]);
  });

  it('refuse spreadsheets and files with other names, and accept the rest', async () => {
    const page = await console.open('/imports');
    await page.getByRole('button', { name: 'New import' }).click();
    await page.getByRole('button', { name: 'Choose files' }).waitFor();
    await choose(
      page,
      csvFile('customers.xls', ['PK']),
      csvFile('clients.csv', ['a']),
      newCompany().payments,
    );
    await page.getByRole('alert').getByText('customers.xls is a spreadsheet.').waitFor();
    await page.getByRole('alert').getByText('clients.csv is not the name of an import file.').waitFor();
    await page.getByRole('cell', { name: 'payments.csv' }).waitFor();
  });

  it('show a manager the new customers at once', async () => {
    const manager = await console.open('/customers', { email: await console.createUser('manager') });
    await manager.locator('h1').waitFor();
    const { customers, accounts, payments } = newCompany();
    const name = `Wanjiru Company ${companies}`;
    const page = await console.open('/imports');
    await page.getByRole('button', { name: 'New import' }).click();
    await page.getByRole('button', { name: 'Choose files' }).waitFor();
    await choose(page, customers('0712345699'), accounts, payments);
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('No errors. You can run the import.').waitFor();
    expect(await manager.getByText(name).count()).toBe(0);
    await page.getByRole('button', { name: 'Run the import' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Run the import' }).click();
    await manager.getByText(name).waitFor();
  });

  it('are hidden from a manager', async () => {
    const page = await console.open('/imports', { email: await console.createUser('manager') });
    await page.getByRole('link', { name: 'Customers' }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Imports' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'New import' }).count()).toBe(0);
  });

  it('offer the templates and the whole portfolio for download', async () => {
    const page = await console.open('/imports');
    for (const [button, file] of [
      ['customers.csv', /^customers\.csv$/],
      ['Export the portfolio', /^portfolio_\d{4}-\d\d-\d\d\.zip$/],
    ] as const) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: button }).click();
      expect((await download).suggestedFilename()).toMatch(file);
    }
  });
});
