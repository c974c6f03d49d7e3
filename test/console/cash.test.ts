import { describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, postsAs, useConsole } from './console.ts';

const CASH = 2;

describe.skipIf(!HAS_BROWSER)('the pages about cash', () => {
  const console = useConsole({ CASH_COUNTS: 'on', CASH_CEILING: '500' });

  it('let an agent count, explain, hand over and bank on a phone, and finance confirm', async () => {
    const [agentEmail, financeEmail] = [
      await console.createUser('agent'),
      await console.createUser('finance'),
    ];
    const [agent, finance] = [await postsAs(console, agentEmail), await postsAs(console, financeEmail)];
    const account = await newAccount(console);
    const office = await finance('/cash/counts', { paymentMethodId: CASH, counted: 0 });
    await console.call('POST', `/cash/counts/${office.id}/confirm`, { isEarlierCash: true });

    const page = await console.open('/cash', { viewport: PHONE, email: agentEmail });
    await page.getByText('Not counted yet').waitFor();
    await expectAccessible(page);
    const dialog = page.locator('dialog');
    await page.getByRole('button', { name: 'Count cash' }).click();
    await dialog.locator('input[name=counted]:focus').fill('100');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save count' }).click();
    await page.getByText('Finance must confirm your opening count.').waitFor();

    const desk = await console.open('/today', { email: financeEmail });
    await desk.getByRole('link', { name: 'Open cash-ups of all holders' }).click();
    await desk.getByRole('heading', { name: 'Cash of all holders' }).waitFor();
    await desk.locator('tr', { hasText: '100.00' }).getByRole('button', { name: 'Confirm' }).click();
    await expectAccessible(desk);
    await desk.locator('dialog').getByRole('button', { name: 'Confirm' }).click();
    await desk.locator('dialog').waitFor({ state: 'detached' });

    await agent('/payments', { accountId: account.id, amount: 600, paymentMethodId: CASH });
    await page.reload();
    await page.getByText('Too much cash: hand it over').waitFor();
    await page.getByRole('button', { name: 'Count cash' }).click();
    await dialog.locator('input[name=counted]:focus').fill('690');
    await dialog.getByRole('button', { name: 'Save count' }).click();
    await page.getByText('and KES 700.00 were expected').waitFor();
    await page.getByRole('button', { name: 'Give reason' }).click();
    await dialog.locator('textarea[name=reason]:focus').fill('Too much change');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Open differences').waitFor();

    await page.getByRole('button', { name: 'Take to the bank' }).click();
    await dialog.locator('input[name=slipNumber]:focus').fill('KCB 1');
    await dialog.locator('input[name=amount]').fill('90');
    await dialog.getByRole('button', { name: 'Take to the bank' }).click();
    await page.getByText('Bank, slip KCB 1').waitFor();
    await page.getByRole('button', { name: 'Hand over to a person' }).click();
    await dialog.locator('select[name=toUserId]').selectOption({ index: 1 });
    await dialog.locator('input[name=amount]').fill('600');
    await dialog.getByRole('button', { name: 'Hand over to a person' }).click();
    await page.getByRole('button', { name: 'Withdraw' }).waitFor();
    await expectAccessible(page);

    await desk.reload();
    await desk.locator('tr', { hasText: 'KCB 1' }).getByRole('button', { name: 'Confirm' }).click();
    await desk.locator('dialog input[name=statementDate]').fill('2026-01-05');
    await desk.locator('dialog input[name=statementText]').fill('CASH DEP KCB 1');
    await desk.locator('dialog').getByRole('button', { name: 'Confirm' }).click();
    await desk.locator('dialog').waitFor({ state: 'detached' });
    await desk.getByRole('link', { name: 'Cash, 1 waiting', exact: true }).click();
    await desk.getByRole('button', { name: 'Count and receive' }).click();
    expect(await desk.locator('dialog').textContent()).not.toContain('600');
    await desk.locator('dialog input[name=counted]').fill('600');
    await desk.locator('dialog').getByRole('button', { name: 'Count and receive' }).click();
    await desk.getByText('Received: the cash is now in your hand').waitFor();
  });
});
