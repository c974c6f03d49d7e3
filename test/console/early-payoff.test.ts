import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  statValue,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('an early payoff', () => {
  const console = useConsole();

  const planNamed = async (name: string) =>
    (await console.call('GET', `/payplans?filter[name]=${encodeURIComponent(name)}`))[0];

  it('is offered by a pay plan, whose offer can be changed and ended', async () => {
    const page = await console.open('/pay-plans', { viewport: PHONE });
    const dialog = page.locator('dialog');
    const field = (name: string) => dialog.locator(`[name="${name}"]`);
    await page.getByRole('button', { name: 'New pay plan' }).click();
    await page.locator('dialog [name=name]:focus').fill('With an offer');
    await field('deposit').fill('0');
    await field('instalmentAmount').fill('100');
    await field('instalmentCount').fill('6');
    await field('frequency').selectOption('weekly');
    expect(await field('earlyPayoff.minDues').count()).toBe(0);
    await dialog.getByLabel('Discount for an early payoff (%)').fill('12.5');
    await field('earlyPayoff.until').fill(dayBefore(-90));
    await field('earlyPayoff.minDues').fill('3');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    const offerOf = async () => (await planNamed('With an offer')).earlyPayoff;
    expect(await offerOf()).toEqual({ discountBasisPoints: 1250, until: dayBefore(-90), minDues: 3 });

    const link = page.locator('tbody tr', { hasText: 'With an offer' }).getByRole('link');
    await link.click();
    await field('earlyPayoff.until').fill('');
    expect(await field('earlyPayoff.discountBasisPoints').inputValue()).toBe('12.5');
    expect(await field('earlyPayoff.minDues').inputValue()).toBe('3');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await offerOf()).toEqual({ discountBasisPoints: 1250, until: null, minDues: 3 });

    await link.click();
    await dialog.getByLabel('Discount for an early payoff (%)').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await offerOf()).toBe(null);
  });

  it('is shown on the page of an account, and recorded with its amount', async () => {
    const { id: payplanId } = await console.call('POST', '/payplans', {
      ...{ name: 'Six weeks', deposit: 0, instalmentAmount: 100, instalmentCount: 6, frequency: 'weekly' },
      earlyPayoff: { discountBasisPoints: 1000, until: '2999-06-30' },
    });
    const { customerId } = await newAccount(console);
    const { id } = await console.call('POST', '/accounts', { customerId, productId: 1, payplanId });
    const swahili = await console.open(`/accounts/${id}`, { locale: 'sw-KE', viewport: PHONE });
    await swahili.getByText(/KES\s540\.00 badala ya KES\s600\.00\. Ofa inaisha/).waitFor();
    await expectAccessible(swahili);

    const page = await console.open(`/accounts/${id}`);
    await page.getByText(/KES\s540\.00 instead of KES\s600\.00\. The offer ends on 30 Jun 2999\./).waitFor();
    await page.getByRole('button', { name: 'Record KES 540.00' }).click();
    const dialog = page.locator('dialog');
    expect(await dialog.locator('[name=amount]').inputValue()).toBe('540');
    await dialog.getByRole('button', { name: 'Pay off: KES 540.00' }).waitFor();
    await dialog.locator('[name=paymentMethodId]').selectOption({ label: 'Cash' });
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('.page-sub .badge', { hasText: 'Completed' }).waitFor();
    await statValue(page, 'Balance').getByText('KES 0.00').waitFor();
    await page.locator('.history').getByText('Early payoff').waitFor();
    await eventually(() => console.call('GET', `/accounts/${id}`)).toMatchObject({ total: 540, paid: 540 });
    expect(await page.getByRole('button', { name: /^Record\sKES/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Explain the balance' }).click();
    const due = page
      .getByRole('table', { name: 'How the balance is calculated' })
      .locator('[data-label="Due so far"]');
    await due.first().waitFor();
    expect(new Set(await due.allTextContents())).toEqual(new Set(['0.00']));
  });

  it('and the other amounts that a payment is offered follow its date, until the user types an amount', async () => {
    const { id } = await newAccount(console, { activationDate: dayBefore(40) });
    const page = await console.open(`/accounts/${id}`);
    await page.getByRole('button', { name: 'Record payment' }).click();
    const amount = page.locator('dialog [name=amount]');
    const date = page.locator('dialog [name=paymentDate]');
    const due = (sum: string) => page.getByRole('button', { name: `Amount due: KES ${sum}` });
    await due('4,000.00').click();
    expect(await amount.inputValue()).toBe('4000');
    await date.fill(dayBefore(20));
    await due('2,800.00').waitFor();
    await eventually(() => amount.inputValue()).toBe('2800');
    await expectAccessible(page);
    await amount.fill('1000');
    await date.fill(dayBefore(0));
    await due('4,000.00').waitFor();
    expect(await amount.inputValue()).toBe('1000');
    await page.locator('dialog').getByRole('button', { name: 'Pay off: KES 22,800.00' }).waitFor();
  });

  it('is not suggested for a day before other money, because it can be that of the day of this money', async () => {
    const { id: payplanId } = await console.call('POST', '/payplans', {
      ...{ name: 'Later money', deposit: 0, instalmentAmount: 100, instalmentCount: 6, frequency: 'weekly' },
      earlyPayoff: { discountBasisPoints: 1000 },
    });
    const { customerId } = await newAccount(console);
    const account = { customerId, productId: 1, payplanId, activationDate: dayBefore(3) };
    const { id } = await console.call('POST', '/accounts', account);
    await console.call('POST', '/payments', {
      ...{ accountId: id, amount: 100, paymentMethodId: 2, paymentDate: dayBefore(1) },
    });
    const page = await console.open(`/accounts/${id}`);
    await page.getByRole('button', { name: 'Record payment' }).click();
    const dialog = page.locator('dialog');
    const payOff = dialog.getByRole('button', { name: 'Pay off: ' });
    await payOff.click();
    expect(await dialog.locator('[name=amount]').inputValue()).toBe('450');
    await dialog.locator('[name=paymentDate]').fill(dayBefore(2));
    await payOff.waitFor({ state: 'detached' });
    expect(await dialog.locator('[name=amount]').inputValue()).toBe('');
    await dialog.getByRole('button', { name: 'Next instalment: ' }).waitFor();
  });

  it('that is not offered yet says why', async () => {
    const plan = { name: 'With deposit', deposit: 100, instalmentAmount: 100, instalmentCount: 6 };
    const { id: payplanId } = await console.call('POST', '/payplans', {
      ...{ ...plan, frequency: 'weekly' },
      earlyPayoff: { discountBasisPoints: 1000 },
    });
    const { customerId } = await newAccount(console);
    const { id } = await console.call('POST', '/accounts', { customerId, productId: 1, payplanId });
    const page = await console.open(`/accounts/${id}`);
    await page.getByText(/the deposit has to be paid on an earlier day/).waitFor();
  });
});
