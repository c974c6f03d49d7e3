import { afterAll, describe, expect, it } from 'vitest';
import { openBook } from '../../tools/simulator/provider-api/book.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import { createStkPush, type PromptPlan, USUAL_PLAN } from '../../tools/simulator/provider-api/stk-push.ts';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

const CALLBACK_URL = 'http://service.test';
const SHORT_CODE = '600638';

describe.skipIf(!HAS_BROWSER)('a payment request', async () => {
  let plan: PromptPlan = USUAL_PLAN;
  const stk = createStkPush({
    book: openBook(SHORT_CODE),
    planOf: () => plan,
    notificationUrl: () => `${console.origin}/api/webhooks/payments/mobilemoney`,
    reportUrl: (given) => given.replace(CALLBACK_URL, console.origin),
    answerMs: 1_000,
  });
  const provider = await startProviderApi({ operations: stk.operations });
  const console = useConsole({
    MOBILEMONEY_API_URL: provider.url,
    MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
    MOBILEMONEY_SHORT_CODE: SHORT_CODE,
    MOBILEMONEY_PASSKEY: 'passkey',
    MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
    PAYMENT_REQUEST_INTERVAL: '0',
    PAYMENT_REQUEST_SAME_AMOUNT_INTERVAL: '0',
  });
  afterAll(async () => {
    await stk.settled();
    await provider.close();
  });

  it('asks the customer for the due amount, and shows the outcome without a reload', async () => {
    plan = USUAL_PLAN;
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`, { viewport: PHONE });
    await page.getByRole('button', { name: 'Ask the customer to pay' }).click();
    const dialog = page.locator('dialog');
    expect(Number(await dialog.locator('[name=amount]').inputValue())).toBeGreaterThan(0);
    expect(await dialog.locator('[name=phone]').inputValue()).toMatch(/^\+254/);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Send request' }).click();
    const requests = page.locator('section', {
      has: page.getByRole('heading', { name: 'Payment requests' }),
    });
    await requests.getByText('Paid', { exact: true }).waitFor();
    await expectAccessible(page);
  });

  it('that the customer cancels shows the reason, also to an agent, in Swahili', async () => {
    plan = { ...USUAL_PLAN, customer: 'cancelled' };
    const { id } = await newAccount(console);
    const email = await console.createUser('agent');
    const page = await console.open(`/accounts/${id}`, { email, locale: 'sw' });
    await page.getByRole('button', { name: 'Mwombe mteja alipe' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Tuma ombi' }).click();
    await page.getByText('Mteja alighairi').waitFor();
  });
});
