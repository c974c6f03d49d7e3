import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { report } from '../acceptance/process.ts';
import { eventually } from '../support/waiting.ts';
import {
  clickTwice,
  expectAccessible,
  HAS_BROWSER,
  PHONE,
  SHARE_SHEET,
  signIn,
  textOf,
  useConsole,
  watchFocus,
} from './console.ts';

const MOST_CLICKS = 12;
const MOST_KEYS = 60;

/** The clicks and keys of a user. */
interface Effort {
  clicks: number;
  keys: number;
}

interface Buyer {
  firstName: string;
  lastName: string;
  phone: string;
}

describe.skipIf(!HAS_BROWSER)('a new sale', () => {
  const console = useConsole();
  let buyers = 0;

  function newBuyer(): Buyer {
    buyers += 1;
    return { firstName: `Buyer${letters(buyers)}`, lastName: 'Mwangi', phone: `0711${100_000 + buyers}` };
  }

  const customersOf = ({ firstName }: Buyer) =>
    console.call('GET', `/customers?filter[firstName]=${firstName}`);
  const accountsOf = (customerId: number) => console.call('GET', `/accounts?customerId=${customerId}`);
  const verificationsOf = (customerId: number) => console.call('GET', `/customers/${customerId}/kyc`);
  const paymentsOf = (accountId: number) => console.call('GET', `/accounts/${accountId}/payments`);

  async function expectOneSale(buyer: Buyer, amounts: readonly number[] = [2000]): Promise<void> {
    const customers = await customersOf(buyer);
    expect(customers.length, 'customers').toBe(1);
    const accounts = await accountsOf(customers[0].id);
    expect(accounts.length, 'accounts').toBe(1);
    expect((await verificationsOf(customers[0].id)).length, 'KYC records').toBe(1);
    const payments = await paymentsOf(accounts[0].id);
    expect(payments.map(({ amount }: { amount: number }) => amount)).toEqual(amounts);
  }

  async function openSale(options: Parameters<typeof console.open>[1] = {}): Promise<Page> {
    const page = await console.open('/sales/new', options);
    await page.locator('#sale-find').waitFor();
    return page;
  }

  async function fillCustomer(page: Page, buyer: Buyer, effort: Effort = newEffort()): Promise<void> {
    const name = `${buyer.firstName} ${buyer.lastName}`;
    await type(page, 'Name or phone of the customer', name, effort);
    await page.getByText('0 customers found').waitFor();
    await click(page, 'New customer', effort);
    await type(page, 'Phone', buyer.phone, effort);
    await click(page, 'Next', effort);
  }

  /** Fills in the first step in fewer turns than a user, who also searches. */
  async function enterCustomer(page: Page, buyer: Buyer): Promise<void> {
    await page.getByRole('button', { name: 'New customer' }).click();
    await fillNames(page, buyer);
    await page.getByRole('button', { name: 'Next' }).click();
  }

  /** Does the steps from the second to the last. */
  async function fillRest(page: Page, effort: Effort = newEffort()): Promise<void> {
    await type(page, 'Number of the document', `ID-${Math.random()}`.slice(0, 10), effort);
    await click(page, 'Next', effort);
    await choose(page, 'Home system 40 W', effort);
    await choose(page, 'Weekly, one year', effort);
    await click(page, 'Next', effort);
    await click(page, /^Deposit: /, effort);
    await page.getByLabel('Payment method').selectOption({ label: 'Cash' });
    effort.clicks += 2;
    await click(page, 'Next', effort);
    await page.getByRole('button', { name: 'Save sale' }).waitFor();
  }

  const saved = (page: Page) => page.getByText('Sale saved.').waitFor();
  const states = (page: Page) => page.locator('.sale-state .badge').allTextContents();

  it('saves customer, KYC, account and deposit, with at most 12 clicks and 60 keys, and once for two clicks', async () => {
    const buyer = newBuyer();
    const effort = newEffort();
    const page = await openSale({ viewport: PHONE, email: await console.createUser('agent') });
    await expectAccessible(page);
    await fillCustomer(page, buyer, effort);
    await page.getByLabel('Number of the document').waitFor();
    await expectAccessible(page);
    await fillRest(page, effort);
    expect(await states(page)).toEqual(Array(4).fill('Not saved yet'));
    await expectAccessible(page);
    await clickTwice(page.getByRole('button', { name: 'Save sale' }));
    effort.clicks += 1;
    await saved(page);
    report(`a sale: ${effort.clicks} clicks, ${effort.keys} keys`);
    expect(effort.clicks).toBeLessThanOrEqual(MOST_CLICKS);
    expect(effort.keys).toBeLessThanOrEqual(MOST_KEYS);
    expect(await states(page)).toEqual(Array(4).fill('Saved'));
    await expectAccessible(page);
    await expectOneSale(buyer);
    await page.getByRole('link', { name: 'Open account' }).click();
    await page.getByRole('heading', { name: `${buyer.firstName} ${buyer.lastName}` }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Next sale' }).click();
    await page.getByLabel('Name or phone of the customer').waitFor();
  });

  it('is empty after a saved sale, and not the last one again', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    await fillCustomer(page, buyer, newEffort());
    await fillRest(page, newEffort());
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    await page.getByRole('link', { name: 'New sale' }).click();
    const customer = page.getByLabel('Name or phone of the customer');
    await customer.waitFor();
    expect(await customer.inputValue()).toBe('');
    await page.goBack();
    await page.getByLabel('Name or phone of the customer').waitFor();
  });

  it('works with the keyboard alone, because each step has the focus when it appears', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    const press = async (key: string, control: string) => {
      const hadFocus = await watchFocus(page, `document.querySelector(${JSON.stringify(control)})`, control);
      await page.keyboard.press(key);
      expect(await hadFocus(), control).toBe(true);
    };
    await page.keyboard.type(`${buyer.firstName} ${buyer.lastName}`);
    await page.getByText('0 customers found').waitFor();
    await press('Enter', 'input[name=phone]');
    await page.keyboard.type(buyer.phone);
    await press('Enter', 'input[name=documentNumber]');
    await page.keyboard.type('KEYS-1');
    await press('Enter', 'input[name=productId]');
    await page.keyboard.press('Space');
    await page.locator('input[name=payplanId]').first().waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.locator('input[name=amount]:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('button:focus', { hasText: 'Save sale' }).waitFor();
    await page.keyboard.press('Enter');
    await saved(page);
    await expectOneSale(buyer, []);
  });

  it('shows beside the steps what is sold, and what is left to pay', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    const summary = page.getByRole('complementary', { name: 'Summary' });
    await enterCustomer(page, buyer);
    await summary.getByText(`${buyer.firstName} ${buyer.lastName}`).waitFor();
    await fillRest(page);
    expect(await textOf(summary.locator('.facts'))).toContain('TotalKES 22,800.00');
    expect(await textOf(summary.locator('.facts'))).toContain('Left to payKES 20,800.00');
    const { dates } = await console.call('GET', '/payplans/2');
    const terms = `First instalment${shownDate(dates.firstInstalment)}Last instalment${shownDate(dates.lastInstalment)}`;
    expect(await textOf(summary.locator('.facts'))).toContain(terms);
    const [step, side] = [await page.locator('.sale-step').boundingBox(), await summary.boundingBox()];
    expect(step?.width).toBeGreaterThan(600);
    expect(side?.x).toBeGreaterThan((step?.x ?? 0) + (step?.width ?? 0));
    expect(side?.y).toBe(step?.y);
    await page.getByRole('button', { name: 'Change: Deposit' }).click();
    await page.getByLabel('Amount received').fill('30000');
    await eventually(() => textOf(summary.locator('.facts'))).toContain('Left to payKES 0.00');
    await page.setViewportSize(PHONE);
    await summary.waitFor({ state: 'detached' });
  });

  it('shows on each plan the first instalment of the day on which the account starts, and nothing until it is known', async () => {
    const page = await openSale({ viewport: PHONE });
    await enterCustomer(page, newBuyer());
    await page.getByRole('button', { name: 'Next' }).click();
    await choose(page, 'Home system 40 W', newEffort());
    const card = page.locator('label.sale-option', { hasText: 'Monthly, two years' });
    await card.locator('.note').waitFor();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/payplans\?.*activationDate=2027-01-31/, async (route) => {
      await answered;
      await route.continue();
    });
    await page.locator('[name=activationDate]').fill('2027-01-31');
    await card.locator('.note').waitFor({ state: 'detached' });
    answer();
    await card.getByText('First instalment on 28 Feb 2027, if it starts on 31 Jan 2027').waitFor();
    await expectAccessible(page);
  });

  it('shows on each plan the total and the first instalment, and the dates of the account before it is opened', async () => {
    const buyer = newBuyer();
    const page = await openSale({ viewport: PHONE });
    await enterCustomer(page, buyer);
    await page.getByRole('button', { name: 'Next' }).click();
    await choose(page, 'Home system 40 W', newEffort());
    for (const { name, total, dates } of await console.call('GET', '/payplans')) {
      const card = page.locator('label.sale-option', { has: page.getByText(name, { exact: true }) });
      const amount = new Intl.NumberFormat('en-KE', { minimumFractionDigits: 2 }).format(total);
      const [first, start] = [shownDate(dates.firstInstalment), shownDate(dates.activationDate)];
      await card.getByText(`First instalment on ${first}, if it starts on ${start}`).waitFor();
      expect(await textOf(card)).toContain(`Total: KES ${amount}`);
    }
    await expectAccessible(page);
    await choose(page, 'Monthly, two years', newEffort());
    await page.locator('[name=activationDate]').fill('2027-01-31');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Nothing received yet' }).click();
    const terms = page.locator('.sale-step .facts');
    await terms.getByText('28 Feb 2027').waitFor();
    expect(await textOf(terms)).toContain('Instalments24 × KES 2,500.00, monthlyTotalKES 65,000.00');
    expect(await textOf(terms)).toContain('First instalment28 Feb 2027Last instalment31 Jan 2029');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    const [customer] = await customersOf(buyer);
    const [{ id }] = await accountsOf(customer.id);
    const { items } = await console.call('GET', `/accounts/${id}/schedule`);
    expect([items[1].dueDate, items.at(-1).dueDate]).toEqual(['2027-02-28', '2029-01-31']);
  });

  it('sells with a chosen date of the first instalment, and shows the whole schedule before', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    const terms = page.getByRole('complementary', { name: 'Summary' }).locator('.facts');
    await enterCustomer(page, buyer);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator('[name=activationDate]').fill('2027-01-31');
    await choose(page, 'Home system 40 W', newEffort());
    expect(await page.getByText('Choose the date of the first instalment').count()).toBe(0);
    await choose(page, 'Monthly, two years', newEffort());
    const date = page.locator('[name=firstDueDate]');
    expect(await date.isVisible()).toBe(false);
    await page.getByText('Choose the date of the first instalment').click();
    await date.fill('2027-01-31');
    await page.getByText('must be after the activation date (2027-01-31)').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Product and plan' }).waitFor();
    await date.fill('2027-03-15');
    const card = page.locator('label.sale-option', { hasText: 'Monthly, two years' });
    await card.getByText('First instalment on 15 Mar 2027, if it starts on 31 Jan 2027').waitFor();
    await eventually(() => textOf(terms)).toContain('First instalment15 Mar 2027Last instalment15 Feb 2029');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show all instalments' }).click();
    const schedule = page.getByRole('dialog', { name: 'All instalments' });
    const rows = schedule.locator('tbody tr');
    await rows.nth(24).waitFor();
    expect(await textOf(rows.first())).toBe('Deposit31 Jan 2027KES 5,000.00');
    expect(await textOf(rows.nth(1))).toBe('Instalment 115 Mar 2027KES 2,500.00');
    expect(await textOf(rows.nth(24))).toBe('Instalment 2415 Feb 2029KES 2,500.00');
    expect(await rows.count()).toBe(25);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Nothing received yet' }).click();
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    const [customer] = await customersOf(buyer);
    const [{ id }] = await accountsOf(customer.id);
    const { items } = await console.call('GET', `/accounts/${id}/schedule`);
    expect([items[1].dueDate, items.at(-1).dueDate]).toEqual(['2027-03-15', '2029-02-15']);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('sells a harvest plan, whose days cannot be chosen, on a phone in Swahili', async () => {
    const buyer = newBuyer();
    const entries = [
      { month: 3, day: 15, shareBasisPoints: 6000 },
      { month: 9, day: 30, shareBasisPoints: 4000 },
    ];
    const harvest = { entries, cycles: 2, leadDays: 60 };
    await console.call('POST', '/payplans', { name: 'Pump', price: 60_000, deposit: 6000, harvest });
    const page = await openSale({ viewport: PHONE, locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Mteja mpya' }).click();
    for (const [name, text] of Object.entries(buyer)) await page.locator(`[name=${name}]`).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('[name=documentNumber]:focus').press('Enter');
    await page.locator('[name=activationDate]').fill('2027-02-01');
    await choose(page, 'Home system 40 W', newEffort());
    await choose(page, 'Weekly, one year', newEffort());
    await page.getByText('Chagua tarehe ya awamu ya kwanza').click();
    await page.locator('[name=firstDueDate]').fill('2027-02-20');
    await choose(page, 'Pump', newEffort());
    await page.locator('[name=firstDueDate]').waitFor({ state: 'detached' });
    await page.locator('.sale-step .form-buttons .primary').click();
    await page.getByRole('button', { name: 'Hakuna kilichopokelewa bado' }).click();
    await page.getByRole('button', { name: 'Onyesha awamu zote' }).click();
    const rows = page.locator('dialog tbody tr');
    await rows.nth(4).waitFor();
    expect(await rows.locator('td:nth-child(2)').allTextContents()).toEqual([
      '1 Feb 2027',
      '30 Sep 2027',
      '15 Mac 2028',
      '30 Sep 2028',
      '15 Mac 2029',
    ]);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Hifadhi mauzo' }).click();
    await page.getByRole('button', { name: 'Tuma namba ya akaunti' }).waitFor();
    const [customer] = await customersOf(buyer);
    const [{ id }] = await accountsOf(customer.id);
    const { items } = await console.call('GET', `/accounts/${id}/schedule`);
    expect(items.map(({ amount }: { amount: number }) => amount)).toEqual([
      6000, 10_800, 16_200, 10_800, 16_200,
    ]);
  });

  it('saves the second phone and the language of the customer, and shares the account number in this language', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    await page.getByRole('button', { name: 'New customer' }).click();
    await fillNames(page, buyer);
    await page.getByLabel('Second phone').fill('not a phone');
    await page.getByLabel('Language').selectOption({ label: 'Kiswahili' });
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator('input[name=secondPhone][aria-invalid=true]:focus').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Second phone').fill('0733111222');
    await page.getByRole('button', { name: 'Next' }).click();
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    const [customer] = await customersOf(buyer);
    expect(customer).toMatchObject({ secondPhone: '+254733111222', language: 'sw' });
    await expectAccessible(page);
    await page.evaluate(SHARE_SHEET);
    await page.getByRole('button', { name: 'Share account number' }).click();
    const [{ accountNumber }] = await accountsOf(customer.id);
    await eventually(() => page.evaluate('globalThis.shared')).toEqual({
      text: `Sunrise Pumps Ltd\nNamba ya akaunti: ${accountNumber}\nTaja namba hii ya akaunti kama kumbukumbu kwa kila malipo.`,
    });
  });

  it('offers the terms, the second phone and the language in Swahili, on a phone', async () => {
    const buyer = newBuyer();
    const page = await console.open('/sales/new', { locale: 'sw', viewport: PHONE });
    await page.getByRole('button', { name: 'Mteja mpya' }).click();
    await page.getByLabel('Simu ya pili').fill('0733111223');
    await page.getByLabel('Lugha').selectOption({ label: 'English' });
    await page.locator('input[name=firstName]').fill(buyer.firstName);
    await page.locator('input[name=lastName]').fill(buyer.lastName);
    await page.locator('input[name=phone]').fill(buyer.phone);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Endelea' }).click();
    await page.locator('input[name=documentNumber]').waitFor();
    await page.getByRole('button', { name: 'Endelea' }).click();
    await choose(page, 'Home system 40 W', newEffort());
    await page.getByText('Jumla: KES 22,800.00').waitFor();
    await expectAccessible(page);
    await choose(page, 'Weekly, one year', newEffort());
    await page.getByRole('button', { name: 'Endelea' }).click();
    await page.getByRole('button', { name: 'Hakuna kilichopokelewa bado' }).click();
    await page.locator('.sale-step .facts').getByText('Awamu ya mwisho').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hifadhi mauzo' }).click();
    await page.getByRole('button', { name: 'Tuma namba ya akaunti' }).waitFor();
    await expectAccessible(page);
    expect((await customersOf(buyer))[0]).toMatchObject({ language: 'en' });
  });

  it('groups the products, and finds one of many pages of products, plans and methods with the keyboard', async () => {
    const page = await openSale();
    await enterCustomer(page, newBuyer());
    await page.getByRole('button', { name: 'Next' }).click();
    const products = page.getByRole('group', { name: 'Product', exact: true });
    await products.getByRole('group', { name: 'home system' }).getByText('Home system 40 W').waitFor();
    expect(await products.getByRole('radio').count()).toBe(5);
    expect(await products.getByRole('searchbox').count()).toBe(0);
    await expectAccessible(page);
    await page.locator('input[name=productId]').first().focus();
    await page.keyboard.press('Space');
    const first = await page.locator('input[name=productId]:checked').inputValue();
    for (let at = 1; at < 5; at += 1) await page.keyboard.press('ArrowDown'); // Through all groups.
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('input[name=productId]:checked').inputValue()).toBe(first);

    await addSecondPage(page, 'products', (row) =>
      Array.from({ length: 20 }, (_, at) => ({
        ...row,
        ...{ id: 1_000 + at, sku: `TV-${at}`, name: `Television ${20 + at}″`, category: 'television' },
      })),
    );
    await addSecondPage(page, 'payplans', (row) => [
      { ...row, id: 1_000, name: 'Plan of page 2', productId: null },
    ]);
    await addSecondPage(page, 'payment-methods', (row) => [
      { ...row, id: 1_000, name: 'Method of page 2', active: true },
    ]);
    await reload(page);
    await page.locator('#productId-search').focus();
    await page.keyboard.type('tv television');
    await page.getByText('20 found').waitFor();
    await expectAccessible(page);
    expect(await page.locator('input[name=productId]').count()).toBe(20 + 1); // And the choice.
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.fill('tv-12');
    await page.getByText('1 found').waitFor();
    await page.keyboard.press('Enter');
    const chosen = page.locator('label.sale-option', { has: page.locator(':checked') });
    expect(await textOf(chosen)).toContain('Television 32″');
    await search.fill('tv');
    await page.getByText('20 found').waitFor();
    await page.keyboard.press('Enter'); // Several match, so none is chosen.
    expect(await textOf(chosen)).toContain('Television 32″');
    await search.fill('home system');
    await page.getByRole('radio', { name: 'Home system 40 W' }).focus();
    await page.keyboard.press('Space'); // The other choice is not found, so its group disappears.
    await page.getByText('Television 32″').waitFor({ state: 'detached' });
    await page.locator('input[name=productId]:focus:checked').waitFor();
    await search.fill('nothing like this');
    await page.getByText('0 found').waitFor();
    expect(await page.locator('input[name=productId]').count()).toBe(1); // The choice.
    await expectAccessible(page);
    await choose(page, 'Plan of page 2', newEffort());
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: /^Deposit: / }).click();
    await page.getByLabel('Payment method').selectOption({ label: 'Method of page 2' });
  });

  it('offers a registered customer with the same phone, asks before it discards a sale, and sells to a customer who was found', async () => {
    const buyer = newBuyer();
    const { id } = await console.call('POST', '/customers', buyer);
    const page = await openSale({ viewport: PHONE });
    await page.getByRole('button', { name: 'New customer' }).click();
    await page.getByLabel('Phone', { exact: true }).fill(buyer.phone);
    await page.getByText('has this phone number.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sell to this customer' }).click();
    await page.getByLabel('Number of the document').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    const dialog = page.getByRole('dialog', { name: 'Discard this sale?' });
    await dialog.getByText(buyer.firstName).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Keep the sale' }).click();
    await page.getByLabel('Number of the document').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await page.getByLabel('Name or phone of the customer').waitFor();
    expect(await keptText(page)).toBe(null);
    await page.getByLabel('Name or phone of the customer').fill(buyer.phone);
    await page.getByRole('button', { name: buyer.firstName }).click();
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    await expectOneSale(buyer);
    expect((await customersOf(buyer))[0].id).toBe(id);
  });

  it('keeps the sale and its step on other pages and after a reload, and asks before the tab is closed', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    await enterCustomer(page, buyer);
    await page.getByLabel('Number of the document').fill('KEPT-1');
    await page.getByRole('link', { name: 'Find' }).click();
    await page.getByRole('heading', { name: 'Find' }).waitFor();
    await page.getByRole('link', { name: 'New sale' }).click();
    await page.getByRole('button', { name: 'Next' }).click();
    expect(await page.getByLabel('Number of the document').inputValue()).toBe('KEPT-1');
    await page.goBack();
    const step = page.locator('.sale-step');
    await step.getByText(`${buyer.firstName} ${buyer.lastName}`).or(step.getByLabel('First name')).waitFor();
    expect(page.url()).not.toContain(buyer.firstName);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('KEPT-1');
    const asked = new Promise<string>((resolve) => {
      page.once('dialog', (dialog) => {
        resolve(dialog.type());
        void dialog.dismiss();
      });
    });
    void page.reload().catch(() => {}); // Dismissed.
    expect(await asked).toBe('beforeunload');
    await page.getByRole('button', { name: 'Next' }).click();
    await fillRest(page);
    await reload(page);
    await page.getByText(`${buyer.firstName} ${buyer.lastName}`).first().waitFor();
    expect(await states(page)).toEqual(Array(4).fill('Not saved yet'));
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    await expectOneSale(buyer);
    expect(await keptText(page)).toBe(null);
  });

  it('loses and repeats nothing if the connection is lost in the middle of the steps, also of two sales', async () => {
    const page = await openSale({ viewport: PHONE });
    const [first, second] = [newBuyer(), newBuyer()];
    await catalogueHasLoaded(page);
    await enterCustomer(page, first);
    await page.context().setOffline(true);
    await page.getByText('You are offline').waitFor();
    await expectAccessible(page);
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    await page.locator('.sale-state').getByText('Trying again…').waitFor();
    await expectAccessible(page);
    expect(await customersOf(first)).toEqual([]);
    await page.getByRole('button', { name: 'Next sale' }).click();
    await page.getByText('1 other sale is not saved yet').waitFor();
    await expectAccessible(page);
    await enterCustomer(page, second);
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    await page.context().setOffline(false);
    await saved(page);
    await page.getByText('1 other sale is not saved yet').waitFor({ state: 'detached' });
    await expectOneSale(first);
    await expectOneSale(second);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost connection.
  });

  it('says what is missing if the connection is lost before the products are loaded, and continues when it is back', async () => {
    const buyer = newBuyer();
    const page = await console.open('/find', { viewport: PHONE });
    const catalogue = /\/api\/(products|payplans|payment-methods)/;
    await page.route(catalogue, (route) => route.abort('connectionreset'));
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'New sale' }).click();
    await page.getByRole('button', { name: 'New customer' }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'New customer' }).click();
    await fillNames(page, buyer);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Number of the document').fill('OFFLINE-1');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('The products are not loaded yet.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Product and plan' }).waitFor();
    await page.unroute(catalogue);
    await page.context().setOffline(false);
    await choose(page, 'Home system 40 W', newEffort());
    await choose(page, 'Weekly, one year', newEffort());
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Nothing received yet' }).click();
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    await expectOneSale(buyer, []);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost connection.
  });

  it('saves everything once if the connection is lost before the answer of each part', async () => {
    const buyer = newBuyer();
    const page = await openSale({ viewport: PHONE });
    const requests: Record<string, number> = { customers: 0, kyc: 0, accounts: 0, payments: 0 };
    const lost: string[] = [];
    for (const part of Object.keys(requests))
      await page.route(`**/api/**/${part}`, async (route) => {
        if (route.request().method() === 'GET') return route.continue();
        requests[part] = (requests[part] ?? 0) + 1;
        if (requests[part] > 1) return route.continue();
        await route.fetch(); // The service does the work, and its answer is lost.
        await page.context().setOffline(true);
        await route.abort('connectionreset');
        lost.push(part);
      });
    await enterCustomer(page, buyer);
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    for (const part of Object.keys(requests)) {
      await eventually(() => lost).toContain(part);
      await page.locator('.sale-state').getByText('Trying again…').waitFor();
      await page.context().setOffline(false);
    }
    await saved(page);
    for (const part of Object.keys(requests)) expect(requests[part], part).toBeGreaterThan(1);
    await expectOneSale(buyer);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost answers.
  });

  it('returns to the step that was refused, and saves only the rest after a failure, with the same keys', async () => {
    const buyer = newBuyer();
    const taken = { ...newBuyer(), nationalId: 'TAKEN-1' };
    const page = await openSale({ viewport: PHONE });
    let failures = 0;
    await page.route('**/api/accounts', async (route) => {
      if (failures > 0) return route.continue();
      failures += 1;
      await route.fetch(); // Done, although the answer says that it failed.
      await route.fulfill({ status: 500, body: 'Bad gateway' });
    });
    await page.getByRole('button', { name: 'New customer' }).click();
    await fillNames(page, buyer);
    await page.getByLabel('National ID').fill('TAKEN-1');
    await page.getByRole('button', { name: 'Next' }).click();
    expect(await page.getByLabel('Number of the document').inputValue()).toBe('TAKEN-1');
    await fillRest(page);
    await console.call('POST', '/customers', taken);
    await page.getByRole('button', { name: 'Save sale' }).click();
    const field = page.locator('input[name=nationalId][aria-invalid=true]');
    await field.waitFor();
    await expectAccessible(page);
    await field.fill('FREE-1');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Not confirmed').waitFor();
    expect(await states(page)).toEqual(['Saved', 'Saved', 'Not confirmed', 'Not saved yet']);
    await page.locator('.notice', { hasText: 'status 500' }).getByText('may already be saved.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save the rest' }).click();
    await saved(page);
    await expectOneSale(buyer);
    expect((await customersOf(buyer))[0].nationalId).toBe('FREE-1');
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answers 409 and 500.
  });

  it('opens the next step only by Next, also at the address of the review', async () => {
    const buyer = newBuyer();
    const page = await console.open('/sales/new?step=review', { viewport: PHONE });
    await page.getByRole('button', { name: 'New customer' }).click();
    await page.getByLabel('Phone', { exact: true }).fill(buyer.phone);
    await page.getByLabel('First name').fill(buyer.firstName);
    await page.getByLabel('Last name').pressSequentially(buyer.lastName);
    expect(await page.getByLabel('Last name').inputValue()).toBe(buyer.lastName);
    expect(await page.getByRole('button', { name: 'Review' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Next' }).click();
    await fillRest(page);
    await page.getByRole('button', { name: 'Change: Customer' }).click();
    await page.getByLabel('Last name').fill('Njeri');
    expect(await page.getByRole('button', { name: 'Review' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Save sale' }).click();
    await saved(page);
    await expectOneSale(buyer);
    expect((await customersOf(buyer))[0].lastName).toBe('Njeri');
  });

  it.each(['en-GB', 'sw-KE'])(
    'checks the customer by the rules of the service at Next (%s)',
    async (locale) => {
      const [next, wrong] =
        locale === 'sw-KE' ? ['Endelea', 'Hii si namba ya simu.'] : ['Next', 'This is not a phone number.'];
      const nationalId = `CHECKED-${locale}`;
      await console.call('POST', '/customers', { ...newBuyer(), nationalId });
      const buyer = newBuyer();
      const page = await console.open('/sales/new', { viewport: PHONE, locale });
      await page.locator('#sale-find').fill(buyer.firstName);
      await page.keyboard.press('Enter');
      const fill = (name: string, text: string) => page.locator(`input[name=${name}]`).fill(text);
      const problemOf = async (name: string) => {
        const field = page.locator(`input[name=${name}][aria-invalid=true]`);
        await field.waitFor();
        return page
          .locator(`[id="${(await field.getAttribute('aria-describedby'))?.split(' ')[0]}"]`)
          .textContent();
      };
      await fill('firstName', buyer.firstName);
      await fill('lastName', '   ');
      await fill('phone', '12');
      await page.getByRole('button', { name: next }).click();
      expect(await problemOf('lastName')).toBe(locale === 'sw-KE' ? 'Inahitajika' : 'Required');
      await fill('lastName', buyer.lastName);
      await page.getByRole('button', { name: next }).click();
      expect(await problemOf('phone')).toBe(wrong);
      await expectAccessible(page);
      await fill('phone', '+254712');
      await page.getByRole('button', { name: next }).click();
      expect(await problemOf('phone')).toContain(
        locale === 'sw-KE' ? 'Hii si namba ya simu' : '8 to 15 digits',
      );
      await fill('phone', buyer.phone);
      await fill('nationalId', nationalId);
      await page.getByRole('button', { name: next }).click();
      expect(await problemOf('nationalId')).not.toBe('');
      await fill('nationalId', '');
      await page.getByRole('button', { name: next }).click();
      await page.locator('input[name=documentNumber]').waitFor();
      expect(await customersOf(buyer)).toEqual([]);
      console.complaints.splice(0); // The browser reports the answers 400 and 409.
    },
  );

  it('goes on from the first step if the service answers neither the check nor the renewal of the session', async () => {
    const page = await openSale();
    const error = { code: 'UNAUTHORIZED', message: 'The session has ended.', details: {} };
    let isSilent = true;
    await page.route('**/api/customers/check', async (route) => {
      if (!isSilent) await route.fulfill({ status: 401, json: { success: false, error } });
    });
    await page.route('**/api/auth/session/refresh*', () => {}); // Silent.
    await enterCustomer(page, newBuyer());
    await page.getByLabel('Number of the document').waitFor();
    isSilent = false;
    await page.goBack();
    await page.getByLabel('Last name').fill('Njeri');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByLabel('Number of the document').waitFor();
    console.complaints.splice(0); // The browser reports the answer 401.
  });

  it('saves everything once if the page is reloaded before the answer of each part', async () => {
    const buyer = newBuyer();
    const page = await openSale({ viewport: PHONE });
    const keys: Record<string, (string | undefined)[]> = { customers: [], accounts: [], payments: [] };
    for (const [part, sent] of Object.entries(keys))
      await page.route(`**/api/${part}`, async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        sent.push(route.request().headers()['idempotency-key']);
        if (sent.length > 1) return route.continue();
        await route.fetch(); // The service does the work, and its answer never arrives.
      });
    await enterCustomer(page, buyer);
    await fillRest(page);
    await page.getByRole('button', { name: 'Save sale' }).click();
    for (const [part, sent] of Object.entries(keys)) {
      await eventually(() => sent.length).toBe(1);
      await reload(page);
      await page.locator('.sale-state').getByText('Not confirmed').waitFor();
      if (part === 'customers') await expectAccessible(page);
      await page.getByRole('button', { name: 'Save the rest' }).click();
    }
    await saved(page);
    for (const [part, [first, second]] of Object.entries(keys)) expect(second, part).toBe(first);
    await expectOneSale(buyer);
  });

  it('erases a kept sale at the sign-out, also in other tabs, and after eight hours, and shows it to nobody who signs in later', async () => {
    const buyer = newBuyer();
    const page = await openSale();
    const other = await page.context().newPage();
    for (const tab of [page, other]) {
      if (tab === other) await tab.goto(`${console.origin}/sales/new`);
      await enterCustomer(tab, buyer);
      expect(await keptText(tab)).toContain(buyer.firstName);
    }
    const eightHoursAgo = `"changedAtMs":${Date.now() - 8 * 3_600_000}`;
    const aged = (await keptText(page))?.replaceAll(/"changedAtMs":\d+/g, eightHoursAgo);
    await page.evaluate(`sessionStorage.setItem('kept', ${JSON.stringify(aged)})`);
    await reload(page);
    await page.getByLabel('Name or phone of the customer').waitFor();
    await page.locator('.avatar').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [page, other]) {
      await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await keptText(tab)).toBe(null);
    }
    await signIn(page, await console.createUser('agent'));
    await page.getByLabel('Name or phone of the customer').waitFor();
    expect(await page.getByText(buyer.firstName).count()).toBe(0);
  });

  it('shows a kept sale to its user only, after the session was ended elsewhere', async () => {
    const [first, second] = [await console.createUser('agent'), await console.createUser('agent')];
    const buyer = newBuyer();
    const page = await openSale({ email: first });
    await enterCustomer(page, buyer);
    await page.context().clearCookies();
    await reload(page);
    await signIn(page, first);
    await page.getByLabel('Number of the document').or(page.getByLabel('Last name')).waitFor();
    expect(await keptText(page)).toContain(buyer.firstName);
    await page.context().clearCookies();
    await reload(page);
    await signIn(page, second);
    await page.getByLabel('Name or phone of the customer').waitFor();
    expect(await keptText(page)).toBe(null);
  });
});

/** Reloads the page, and accepts the question of the browser. */
async function reload(page: Page): Promise<void> {
  page.once('dialog', (dialog) => void dialog.accept());
  await page.reload();
}

/** What the tab keeps for its user. */
function keptText(page: Page): Promise<string | null> {
  return page.evaluate("sessionStorage.getItem('kept')");
}

function newEffort(): Effort {
  return { clicks: 0, keys: 0 };
}

/** A click on the field if it has no focus, and a key for each character. */
async function type(page: Page, label: string, text: string, effort: Effort): Promise<void> {
  const field = page.getByLabel(label).first();
  await field.waitFor();
  const hasFocus = await field.evaluate(
    (element: object) => element === (globalThis as never as Doc).document.activeElement,
  );
  if (!hasFocus) await field.click();
  effort.clicks += hasFocus ? 0 : 1;
  effort.keys += text.length;
  await field.pressSequentially(text);
}

interface Doc {
  document: { activeElement: unknown };
}

async function click(page: Page, name: string | RegExp, effort: Effort): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  effort.clicks += 1;
}

async function fillNames(page: Page, { firstName, lastName, phone }: Buyer): Promise<void> {
  await page.getByLabel('First name').fill(firstName);
  await page.getByLabel('Last name').fill(lastName);
  await page.getByLabel('Phone', { exact: true }).fill(phone);
}

/** As the console shows a date in English. */
function shownDate(date: string): string {
  const parts = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat('en-KE', parts).format(new Date(date));
}

/** Waits for the products, without which a sale cannot continue. */
async function catalogueHasLoaded(page: Page): Promise<void> {
  for (const path of ['/api/products', '/api/payplans', '/api/payment-methods']) {
    const isLoaded = (wanted: string) =>
      performance.getEntriesByType('resource').some(({ name }) => new URL(name).pathname === wanted);
    // Not page.waitForFunction: the content security policy refuses its later tries.
    await eventually(() => page.evaluate(isLoaded, path)).toBe(true);
  }
}

async function choose(page: Page, title: string, effort: Effort): Promise<void> {
  await page
    .locator('label.sale-option')
    .filter({ has: page.getByText(title, { exact: true }) })
    .click();
  effort.clicks += 1;
}

/** 1 becomes AB, and 27 becomes BB. No result contains another. */
function letters(number: number): string {
  return String.fromCharCode(65 + Math.floor(number / 26), 65 + (number % 26));
}

/** Adds a second page to the answers of a list. @param rowsOf - makes its rows from the first row of the first page. */
async function addSecondPage(
  page: Page,
  list: string,
  rowsOf: (row: object | undefined) => object[],
): Promise<void> {
  let first: { data: object[]; pagination: object } | undefined;
  await page.route(`**/api/${list}?*`, async (route) => {
    if (new URL(route.request().url()).searchParams.get('after') === 'second') {
      const pagination = { ...first?.pagination, nextCursor: null };
      return route.fulfill({ json: { ...first, data: rowsOf(first?.data[0]), pagination } });
    }
    const response = await route.fetch();
    first = (await response.json()) as { data: object[]; pagination: object };
    const pagination = { ...first.pagination, nextCursor: 'second' };
    await route.fulfill({ response, json: { ...first, pagination } });
  });
}
