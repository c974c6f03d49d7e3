import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { openBook } from '../../tools/simulator/provider-api/book.ts';
import { startProviderApi } from '../../tools/simulator/provider-api/server.ts';
import {
  type StatusPlan,
  statusOperations,
  USUAL_STATUS_PLAN,
} from '../../tools/simulator/provider-api/status.ts';
import { notification } from '../support/http.ts';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

const CALLBACK_URL = 'http://service.test';
const SHORT_CODE = '600638';

describe.skipIf(!HAS_BROWSER)('a status query', async () => {
  let plan: StatusPlan = USUAL_STATUS_PLAN;
  const book = openBook(SHORT_CODE);
  const status = statusOperations({
    books: [book],
    plan: () => plan,
    answerMs: 1_000,
    answerUrl: (given) => given.replace(CALLBACK_URL, console.origin),
  });
  const provider = await startProviderApi({ operations: status.operations });
  const publicKeyFile = join(mkdtempSync(join(tmpdir(), 'provider-')), 'key.pem');
  writeFileSync(publicKeyFile, status.publicKey);
  const console = useConsole({
    MOBILEMONEY_API_URL: provider.url,
    MOBILEMONEY_CONSUMER_KEY: provider.credentials.consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: provider.credentials.consumerSecret,
    MOBILEMONEY_SHORT_CODE: SHORT_CODE,
    MOBILEMONEY_INITIATOR: status.operator.initiator,
    MOBILEMONEY_INITIATOR_PASSWORD: status.operator.password,
    MOBILEMONEY_CERTIFICATE: publicKeyFile,
    MOBILEMONEY_CALLBACK_URL: CALLBACK_URL,
  });
  afterAll(async () => {
    await status.settled();
    await provider.close();
  });

  let paid = 0;

  /** Makes a payment at the simulated provider. @returns the body of its notification. */
  function newPayment(amountMinor = 80_000n) {
    paid += 1;
    const transId = `ASKED${String(paid).padStart(5, '0')}`;
    return book.pay({ transId, amountMinor, time: new Date(), reference: 'SOLAR', payer: '254701000000' });
  }

  async function notify(fields: Record<string, unknown>): Promise<number> {
    const answer = await console.call('POST', '/webhooks/payments/mobilemoney', notification(fields));
    return Number(answer.paymentId);
  }

  const panel = (page: Page) => page.getByRole('region', { name: 'Provider' });

  it('is answered beside an unmatched payment without a reload', async () => {
    plan = { ...USUAL_STATUS_PLAN, parameters: { Amount: 900 } };
    const paymentId = await notify(newPayment());
    const page = await console.open('/unmatched', { viewport: PHONE });
    await panel(page).getByRole('button', { name: 'Ask the provider' }).click();
    await panel(page).getByText('The answer appears here.').waitFor();
    await expectAccessible(page);
    await panel(page).getByText('Completed', { exact: true }).first().waitFor();
    await panel(page).getByText('254701000000 · GRACE WANJIRU').waitFor();
    await panel(page).getByText('In the books: 800').waitFor();
    await expectAccessible(page);
    await page.context().close();
    await console.call('POST', `/payments/${paymentId}/reverse`, { reason: 'The end of a test' });
  });

  it('shows on the page of a payment that the answer agrees with the books', async () => {
    plan = USUAL_STATUS_PLAN;
    const paymentId = await notify(newPayment());
    const page = await console.open(`/payments/${paymentId}`, { viewport: PHONE });
    await panel(page).getByRole('button', { name: 'Ask the provider' }).click();
    await panel(page).getByText('The answer agrees with the books.').waitFor();
    await panel(page).getByText('Asked by').waitFor();
    await expectAccessible(page);
    await page.context().close();
    await console.call('POST', `/payments/${paymentId}/reverse`, { reason: 'The end of a test' });
  });

  it('shows the answer beside a conflict, before staff decide', async () => {
    plan = USUAL_STATUS_PLAN;
    const body = newPayment();
    const { id: accountId } = await newAccount(console);
    const manual = { accountId, amount: 750, paymentMethodId: 1, transactionRef: body.TransID };
    await console.call('POST', '/payments', manual);
    await notify(body);
    const page = await console.open('/unmatched?view=conflicts');
    await panel(page).getByRole('button', { name: 'Ask the provider' }).click();
    await panel(page).getByText('KES 800.00').waitFor();
    await panel(page).getByText('The answer agrees with the books.').waitFor();
  });

  it('shows in Swahili why there is no answer', async () => {
    plan = USUAL_STATUS_PLAN;
    const paymentId = await notify({ TransID: 'NEVERPAID1', BillRefNumber: 'SOLAR' });
    const page = await console.open(`/payments/${paymentId}`, { locale: 'sw' });
    await page.getByRole('button', { name: 'Muulize mtoa huduma' }).click();
    await page.getByText('Mtoa huduma hajui muamala huu').waitFor();
    await page.getByText('The transaction receipt number does not exist. (2032)').waitFor();
    await page.getByRole('button', { name: 'Uliza tena' }).waitFor();
    await page.context().close();
    await console.call('POST', `/payments/${paymentId}/reverse`, { reason: 'The end of a test' });
  });

  it('about a notification without a readable transaction asks for its number', async () => {
    plan = USUAL_STATUS_PLAN;
    const { TransID: transactionRef = '' } = newPayment();
    const unreadable = notification({ TransID: '?'.repeat(300), TransAmount: 'eight hundred' });
    const refused = await fetch(`${console.origin}/api/webhooks/payments/mobilemoney`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(unreadable),
    });
    expect(refused.status).toBe(400);
    const page = await console.open('/unmatched?view=rejected');
    await panel(page).locator('[name=transactionRef]').fill(transactionRef);
    await panel(page).getByRole('button', { name: 'Ask the provider' }).click();
    await panel(page).getByText('KES 800.00').waitFor();
  });
});
