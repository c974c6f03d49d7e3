import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { report } from '../acceptance/process.ts';
import {
  dayBefore,
  HAS_BROWSER,
  newAccount,
  newMistypedPayment,
  statementFile,
  textOf,
  useConsole,
} from './console.ts';

interface Job {
  name: string;
  times: number;
  /** The most clicks and keys for each time. */
  mostClicks: number;
  mostKeys: number;
}

/** Clicks include the way to the page. Keys are characters and other keys. */
const JOBS = {
  assign: { name: 'unmatched payment assigned', times: 20, mostClicks: 0.1, mostKeys: 2 },
  sale: { name: 'sale with customer, KYC, account and deposit', times: 5, mostClicks: 10, mostKeys: 40 },
  quote: { name: 'quote for a customer on the phone', times: 3, mostClicks: 1, mostKeys: 12 },
  statement: { name: 'statement uploaded and reconciled', times: 1, mostClicks: 4, mostKeys: 1 },
} satisfies Record<string, Job>;

describe.skipIf(!HAS_BROWSER)('a clerk', () => {
  const console = useConsole();
  const effort = { clicks: 0, keys: 0 };
  const lines: string[] = [];
  const payments: Awaited<ReturnType<typeof newMistypedPayment>>[] = [];
  const callers: { lastName: string }[] = [];
  let page: Page;

  const click = async (target: Locator) => {
    await target.click();
    effort.clicks += 1;
  };
  const press = async (key: string) => {
    await page.keyboard.press(key);
    effort.keys += 1;
  };
  const type = async (text: string) => {
    await page.keyboard.type(text);
    effort.keys += text.length;
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  /** A link of the menu. Its name ends with a count once the counts of the menu are read. */
  const link = (name: string) =>
    page.locator('nav.side').getByRole('link', { name: new RegExp(`^${name}(, \\d+ waiting)?$`) });

  /** Does the work with a stopwatch, and expects few clicks and keys. */
  async function work({ name, times, mostClicks, mostKeys }: Job, task: () => Promise<void>): Promise<void> {
    Object.assign(effort, { clicks: 0, keys: 0 });
    const start = performance.now();
    await task();
    const seconds = (performance.now() - start) / 1000;
    const each = (figure: number) => (figure / times).toFixed(1).padStart(6);
    lines.push(
      `${String(times).padStart(2)} × ${name.padEnd(46)}${each(effort.clicks)}${each(effort.keys)}${each(seconds)}`,
    );
    expect(effort.clicks, `clicks: ${name}`).toBeLessThanOrEqual(mostClicks * times);
    expect(effort.keys, `keys: ${name}`).toBeLessThanOrEqual(mostKeys * times);
  }

  beforeAll(async () => {
    for (let left = JOBS.assign.times; left > 0; left -= 1) payments.push(await newMistypedPayment(console));
    for (const lastName of ['Achieng', 'Barasa', 'Chebet']) {
      await newAccount(console, { firstName: 'Grace', lastName, activationDate: dayBefore(30) });
      callers.push({ lastName });
    }
    page = await console.open('/find');
  });
  afterAll(() => page?.context().close());

  async function assignPayments(): Promise<void> {
    await work(JOBS.assign, async () => {
      await click(link('Unmatched'));
      for (const { reference, accountNumber } of payments) {
        await page.locator('.queue-facts dd').first().getByText(reference).waitFor();
        await page.locator('.queue-work:focus').waitFor();
        const choice = page.locator('.choice-row', { hasText: accountNumber }).locator('kbd');
        await press((await choice.textContent()) ?? '');
        await press('Enter');
      }
      await page.getByText('Every payment has its account.').waitFor();
    });
    for (const { paymentId, accountId } of payments)
      expect(await console.call('GET', `/payments/${paymentId}`)).toMatchObject({ accountId });
  }

  async function sell(): Promise<void> {
    await work(JOBS.sale, async () => {
      for (let sale = 1; sale <= JOBS.sale.times; sale += 1) {
        await click(sale === 1 ? link('New sale') : button('Next sale'));
        await page.getByLabel('Name or phone of the customer').waitFor();
        await click(page.getByLabel('Name or phone of the customer'));
        await type(`Neema${'ABCDE'[sale - 1]} Mushi`);
        await page.getByText('0 customers found').waitFor();
        await press('Enter');
        await page.locator('input[name=phone]:focus').waitFor();
        await type(`071155500${sale}`);
        await press('Enter');
        await page.locator('input[name=documentNumber]:focus').waitFor();
        await type(`2345678${sale}`);
        await press('Enter');
        for (const title of ['Home system 40 W', 'Weekly, one year'])
          await click(
            page.locator('label.sale-option').filter({ has: page.getByText(title, { exact: true }) }),
          );
        await click(button('Next'));
        await click(button(/^Deposit: /));
        await page.getByLabel('Payment method').selectOption({ label: 'Cash' });
        effort.clicks += 2;
        await click(button('Next'));
        await click(button('Save sale'));
        await page.getByText('Sale saved.').waitFor();
      }
    });
    const sold = await console.call('GET', '/customers?filter[lastName]=Mushi');
    expect(sold).toHaveLength(JOBS.sale.times);
  }

  async function quote(): Promise<void> {
    await work(JOBS.quote, async () => {
      for (const { lastName } of callers) {
        await page.locator('body').press('/');
        effort.keys += 1;
        await type(lastName);
        await page
          .getByRole('option', { name: new RegExp(lastName) })
          .first()
          .waitFor();
        await press('ArrowDown');
        await press('Enter');
        await page.getByRole('heading', { name: `Grace ${lastName}` }).waitFor();
        // The search finds the customer or the account.
        if (page.url().includes('/customers/')) await click(page.locator('main tbody a').first());
        expect(await textOf(page.locator('.quote-answer strong').first())).toMatch(/^KES [1-9]/);
      }
    });
  }

  async function reconcileStatement(): Promise<void> {
    const [known] = payments;
    const { transactionRef } = await console.call('GET', `/payments/${known?.paymentId}`);
    const file = statementFile('november.csv', 'Sunrise', [
      { receipt: transactionRef, amount: '400.00', account: known?.reference },
      { receipt: 'MISSING1', amount: '800.00', account: known?.accountNumber },
    ]);
    await work(JOBS.statement, async () => {
      await click(link('Statements'));
      const chooser = page.waitForEvent('filechooser');
      await click(button('Choose a file'));
      await (await chooser).setFiles(file);
      await click(button('Import 1 missing payment'));
      await click(button('Reconcile 2 payments'));
      await page.locator('dialog input:focus').waitFor();
      await press('Enter');
      await page.locator('.stat', { hasText: 'Reconciled' }).getByText('2', { exact: true }).waitFor();
    });
    expect((await console.call('GET', `/payments/${known?.paymentId}`)).reconciliationId).toBeGreaterThan(0);
  }

  it('assigns payments, sells, makes quotes and reconciles a statement with few clicks and keys', async () => {
    await assignPayments();
    await sell();
    await quote();
    await reconcileStatement();
    report(
      `A clerk's day: times × job, and for each: clicks, keys, seconds of the console\n${lines.join('\n')}`,
    );
    expect(lines).toHaveLength(Object.keys(JOBS).length);
  });
});
