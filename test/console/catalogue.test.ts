import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import { expectAccessible, HAS_BROWSER, PHONE, textOf, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the catalogue', () => {
  const console = useConsole();

  const field = (page: Page, name: string) => page.locator(`dialog [name=${name}]`);

  /** Goes to the choice of the plan in a new sale. */
  async function planCard(page: Page, name: string) {
    await page.goto(`${console.origin}/sales/new`);
    await page.locator('.sale-step .form-buttons button').click();
    await page.locator('input[name=firstName]').fill('Mercy');
    await page.locator('input[name=lastName]').fill('Cherono');
    await page.locator('input[name=phone]').fill('0722600700');
    await page.keyboard.press('Enter');
    await page.locator('input[name=documentNumber]').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('input[name=productId]').first().check();
    return page.locator('label.sale-option', { hasText: name });
  }

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

  it('creates a harvest plan, whose shares must be 100 %, and offers it in a sale', async () => {
    const page = await console.open('/pay-plans', { viewport: PHONE });
    await page.getByRole('button', { name: 'New pay plan' }).click();
    const dialog = page.locator('dialog');
    const create = dialog.getByRole('button', { name: 'Create' });
    await page.locator('dialog [name=name]:focus').fill('Pump, two harvests');
    await dialog.getByLabel('Kind of plan').selectOption({ label: 'A price, paid on harvest days' });
    expect(await dialog.locator('[name=frequency], [name^=instalment]').count()).toBe(0);
    await field(page, 'price').fill('1000');
    await field(page, 'deposit').fill('6000');
    await field(page, 'roundingUnit').fill('100');
    await dialog.getByLabel('Month').selectOption({ label: 'April' });
    await dialog.getByLabel('Day', { exact: true }).fill('31');
    await dialog.getByLabel('Share (%)').fill('60');
    await dialog.getByRole('button', { name: 'Add a harvest day' }).click();
    await page.locator('[name="harvest.entries[1].month"]:focus').selectOption({ label: 'September' });
    await page.locator('[name="harvest.entries[1].day"]').fill('30');
    await page.locator('[name="harvest.entries[1].shareBasisPoints"]').fill('39.5');
    await page.locator('[name="harvest.cycles"]').fill('2');
    await page.locator('[name="harvest.leadDays"]').fill('60');
    await dialog.getByText('Shares together: 99.5%').waitFor();
    await create.click();
    await dialog.getByText('The shares must be 100% together, but are 99.5%.').waitFor();
    await expectAccessible(page);
    await page.locator('[name="harvest.entries[1].shareBasisPoints"]').fill('40');
    await create.click();
    await page.locator('dialog [name=price][aria-invalid=true]:focus').fill('60000');
    await create.click();
    await page.locator('[name="harvest.entries[0].day"][aria-invalid=true]:focus').fill('30');
    await create.click();
    await dialog.waitFor({ state: 'detached' });
    const row = page.locator('tbody tr', { hasText: 'Pump, two harvests' });
    const terms = /4 instalments, each year on 30 Apr \(60%\), 30 Sept \(40%\)/;
    await eventually(() => textOf(row)).toMatch(terms);
    await expectAccessible(page);
    await row.getByRole('link').click();
    await eventually(() => textOf(dialog.locator('.facts'))).toMatch(terms);
    await page.keyboard.press('Escape');
    const card = await planCard(page, 'Pump, two harvests');
    expect(await textOf(card)).toMatch(terms);
    expect(await textOf(card)).toContain('Total: KES 60,000.00');
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answers 400.
  });

  it('creates a plan with a price, every second month and months without instalments, in Swahili', async () => {
    const page = await console.open('/pay-plans', { locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Mpango mpya wa malipo' }).click();
    const dialog = page.locator('dialog');
    await page.locator('dialog [name=name]:focus').fill('Bila miezi ya njaa');
    await dialog.getByLabel('Aina ya mpango').selectOption({ label: 'Bei, kwa idadi ya awamu' });
    await field(page, 'price').fill('48000');
    await field(page, 'deposit').fill('6000');
    await field(page, 'instalmentCount').fill('8');
    await field(page, 'roundingUnit').fill('500');
    await field(page, 'frequency').selectOption('monthly');
    await dialog.getByLabel('Mara chache zaidi, au si miezi yote').check();
    await field(page, 'every').fill('12');
    await dialog.getByLabel('Mei').check();
    await dialog.getByLabel('Juni').check();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await dialog.locator('fieldset', { hasText: 'Miezi isiyo na awamu' }).getByText('Haikubaliki').waitFor();
    await field(page, 'every').fill('2');
    await page.keyboard.press('Enter');
    const row = page.locator('tbody tr', { hasText: 'Bila miezi ya njaa' });
    const terms = '8 × KES 5,500.00, ya mwisho KES 3,500.00, kila miezi 2, isipokuwa Mei, Juni';
    await eventually(() => textOf(row)).toContain(terms);
    const card = await planCard(page, 'Bila miezi ya njaa');
    expect(await textOf(card)).toContain(terms);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
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
