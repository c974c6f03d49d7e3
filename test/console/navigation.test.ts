import { beforeAll, describe, expect, it } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  newMistypedPayment,
  PHONE,
  postsAs,
  useConsole,
} from './console.ts';

const CASH = 2;
/** The event of a change repeats the counts after 30 seconds. */
const SHORTER_THAN_EVENTS_MS = 20_000;

describe.skipIf(!HAS_BROWSER)('the counts in the navigation', () => {
  const console = useConsole({ APPROVAL_LIMIT: '0', CASH_COUNTS: 'on' });

  /** Two people have open opening counts. */
  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    await newMistypedPayment(console);
    await newMistypedPayment(console);
    const { id: accountId } = await newAccount(console);
    const { id } = await console.call('POST', '/payments', { accountId, amount: 400, paymentMethodId: 2 });
    await console.call('POST', `/payments/${id}/reverse`, { reason: 'Entered twice' });
    for (let others = 2; others > 0; others -= 1) await countFirst(await console.createUser('agent'), 5);
  });

  async function countFirst(email: string, counted: number) {
    return (await postsAs(console, email))('/cash/counts', { paymentMethodId: CASH, counted });
  }

  async function newHolder(counted: number) {
    const email = await console.createUser('agent');
    const { id, holderId } = await countFirst(email, counted);
    await console.call('POST', `/cash/counts/${id}/confirm`, { isEarlierCash: true });
    return { email, id: holderId };
  }

  /** @returns the e-mail address of an agent to whom another person gives cash. */
  async function newReceiver(): Promise<string> {
    const [giver, agent] = [await newHolder(100), await newHolder(0)];
    const handOver = { paymentMethodId: CASH, toUserId: agent.id, amount: 40 };
    await (await postsAs(console, giver.email))('/cash/hand-overs', handOver);
    return agent.email;
  }

  it('say how much work waits for the user, also to screen readers, on every page', async () => {
    const page = await console.open('/find', { email: await console.createUser('manager') });
    await page.getByRole('link', { name: 'Unmatched, 2 waiting', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Approvals, 1 waiting', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Approvals' }).waitFor();
    expect(await page.locator('.side .nav-count').allTextContents()).toEqual(['2', '1']);
    await expectAccessible(page);
  });

  it('leave out what the user may not decide or read', async () => {
    const ofRequester = await console.open('/find');
    await ofRequester.getByRole('link', { name: 'Unmatched, 2 waiting', exact: true }).waitFor();
    await ofRequester.getByRole('link', { name: 'Approvals', exact: true }).waitFor();
    const ofAgent = await console.open('/find', { email: await newReceiver() });
    await ofAgent.getByRole('link', { name: 'Cash, 1 waiting', exact: true }).waitFor();
    expect(await ofAgent.locator('.side .nav-count').allTextContents()).toEqual(['1']);
  });

  it('change soon after finance has confirmed cash', async () => {
    const page = await console.open('/cash/office', { email: await console.createUser('finance') });
    await page.getByRole('link', { name: 'Cash of all holders, 2 waiting', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Confirm' }).first().click();
    await page.locator('dialog').getByRole('button', { name: 'Confirm' }).click();
    await page
      .getByRole('link', { name: 'Cash of all holders, 1 waiting', exact: true })
      .waitFor({ timeout: SHORTER_THAN_EVENTS_MS });
  });

  it('change soon after an agent, who does not see the event, has received cash', async () => {
    const page = await console.open('/cash', { email: await newReceiver() });
    await page.getByRole('link', { name: 'Cash, 1 waiting', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Count and receive' }).click();
    await page.locator('dialog input[name=counted]').fill('40');
    await page.locator('dialog').getByRole('button', { name: 'Count and receive' }).click();
    await page.getByRole('link', { name: 'Cash', exact: true }).waitFor({ timeout: SHORTER_THAN_EVENTS_MS });
  });

  it('are in the menu of a phone, in Swahili', async () => {
    const page = await console.open('/find', { viewport: PHONE, locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Menyu' }).click();
    await page.getByRole('link', { name: /: 2$/ }).waitFor();
    await expectAccessible(page);
  });
});
