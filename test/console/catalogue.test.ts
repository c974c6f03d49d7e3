import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the catalogue', () => {
  const console = useConsole();

  const field = (page: Page, name: string) => page.locator(`dialog [name=${name}]`);

  it('creates and changes a product, and adds a configuration', async () => {
    const page = await console.open('/products', { viewport: PHONE });
    await page.getByRole('button', { name: 'New product' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Lamp</b>');
    await field(page, 'sku').fill('SHS-40');
    await field(page, 'category').fill('<i>lamps</i>');
    await field(page, 'price').fill('1200');
    await field(page, 'description').fill('<script>alert(1)</script>');
    await page.keyboard.press('Tab');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('dialog [name=sku][aria-invalid=true]:focus').waitFor();
    await expectAccessible(page);
    await field(page, 'sku').fill('LAMP');
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await expectAccessible(page);
    await page.getByRole('link', { name: '<b>Lamp</b>' }).click();
    await page.getByText('<script>alert(1)</script>').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('dialog [name=name]:focus').fill('Lamp');
    await page.getByLabel('Can be sold').uncheck();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Lamp', level: 1 }).waitFor();
    await page.locator('.page-sub').getByText('Inactive').waitFor();
    await page.getByRole('button', { name: 'New configuration' }).click();
    await page.locator('dialog [name=name]:focus').fill('<u>Red</u>');
    await field(page, 'attributes').fill('colour: <b>red</b>');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByText('colour: <b>red</b>').waitFor();
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('creates and deactivates a pay plan', async () => {
    const page = await console.open('/pay-plans', { viewport: PHONE });
    await page.getByRole('button', { name: 'New pay plan' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Plan</b>');
    await field(page, 'deposit').fill('1000');
    await field(page, 'instalmentAmount').fill('500');
    await field(page, 'instalmentCount').fill('10');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.locator('dialog [name=frequency][aria-invalid=true]:focus').selectOption('weekly');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    const row = page.locator('tbody tr', { hasText: '<b>Plan</b>' });
    await row.getByText('KES 6,000.00').waitFor();
    await row.getByRole('link').click();
    await page.getByLabel('Can be chosen for new accounts').uncheck();
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('Inactive').waitFor();
  });

  it('creates and changes an employee', async () => {
    const page = await console.open('/employees', { viewport: PHONE });
    await page.getByRole('button', { name: 'New employee' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Joseph</b>');
    await field(page, 'phone').fill('12');
    await page.keyboard.press('Enter');
    await page.locator('dialog [name=phone][aria-invalid=true]:focus').fill('0712 000 111');
    await page.keyboard.press('Enter');
    const row = page.locator('tbody tr', { hasText: '<b>Joseph</b>' });
    await row.getByText('+254712000111').waitFor();
    await row.getByRole('link').click();
    await page.getByLabel('Works here').uncheck();
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('Inactive').waitFor();
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('creates and renames a payment method', async () => {
    const page = await console.open('/payment-methods', { viewport: PHONE });
    await page.getByRole('button', { name: 'New payment method' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Cheque</b>');
    await field(page, 'code').fill('Not a code');
    await page.keyboard.press('Enter');
    await page.locator('dialog [name=code][aria-invalid=true]:focus').fill('cheque');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: '<b>Cheque</b>' }).click();
    await expectAccessible(page);
    await page.locator('dialog [name=name]:focus').fill('Cheque');
    expect(await page.getByLabel('Cash: staff take the money').isChecked()).toBe(false);
    await page.getByLabel('Cash: staff take the money').check();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Cheque Cash', exact: true }).waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('shows a viewer the catalogue without a way to change it', async () => {
    const email = await console.createUser('viewer');
    const page = await console.open('/pay-plans', { email });
    await page.locator('tbody tr').first().waitFor();
    expect(await page.locator('main button:not(.sort), tbody a').count()).toBe(0);
  });
});
