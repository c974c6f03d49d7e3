import { beforeAll, describe, expect, it } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  newMistypedPayment,
  PHONE,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('the counts in the navigation', () => {
  const console = useConsole({ APPROVAL_LIMIT: '0' });
  let accountId: number;

  beforeAll(async () => {
    if (!HAS_BROWSER) return;
    await newMistypedPayment(console);
    await newMistypedPayment(console);
    accountId = (await newAccount(console)).id;
    const { id } = await console.call('POST', '/payments', { accountId, amount: 400, paymentMethodId: 2 });
    await console.call('POST', `/payments/${id}/reverse`, { reason: 'Entered twice' });
  });

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
    const ofAgent = await console.open('/today', { email: await console.createUser('agent') });
    await ofAgent.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    await ofAgent.locator('.skeleton').first().waitFor({ state: 'detached' });
    expect(await ofAgent.locator('.nav-count').count()).toBe(0);
  });

  it('are in the menu of a phone, in Swahili', async () => {
    const page = await console.open('/find', { viewport: PHONE, locale: 'sw-KE' });
    await page.getByRole('button', { name: 'Menyu' }).click();
    await page.getByRole('link', { name: /, 2 zinasubiri$/ }).waitFor();
    await expectAccessible(page);
  });
});
