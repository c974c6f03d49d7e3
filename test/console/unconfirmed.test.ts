import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  newMistypedPayment,
  PHONE,
  textOf,
  useConsole,
} from './console.ts';

const console = useConsole();

describe.skipIf(!HAS_BROWSER)('a change without an answer', () => {
  const paymentsOf = (id: number) => console.call('GET', `/accounts/${id}/payments`);

  /** Opens the form, and fills it in. */
  async function fillPayment(page: Page): Promise<void> {
    await page.locator('.page-head .button.primary').click();
    await page.locator('input[name=amount]').fill('400');
    await page.locator('select[name=paymentMethodId]').selectOption('1');
  }

  /** Does the work, and never answers. @returns the keys of all requests. */
  async function silence(page: Page, doesWork: boolean): Promise<string[]> {
    const keys: string[] = [];
    await page.route('**/api/payments', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(route.request().headers()['idempotency-key'] ?? '');
      if (keys.length > 1) return route.continue();
      if (doesWork) await route.fetch();
    });
    return keys;
  }

  it.each([
    ['en-GB', true],
    ['sw-KE', false],
  ] as const)(
    'can be left, and its outcome is found with the same key (%s, saved: %s)',
    async (locale, isSaved) => {
      const [close, unconfirmed, findOut] =
        locale === 'en-GB'
          ? ['Close', 'Not confirmed yet', 'Find out']
          : ['Funga', 'Haijathibitishwa bado', 'Hakikisha'];
      const { id } = await newAccount(console);
      const page = await console.open(`/accounts/${id}`, { viewport: PHONE, locale });
      const keys = await silence(page, isSaved);
      await fillPayment(page);
      await page.locator('dialog button[type=submit]').click();
      await page.locator('dialog').getByText(unconfirmed).waitFor();
      await expectAccessible(page);
      if (isSaved)
        await page.keyboard.press('Escape'); // Asks nothing: a question would be dismissed.
      else await page.locator('dialog').getByRole('button', { name: close }).click();
      const notice = page.locator('.unconfirmed');
      await notice.waitFor();
      await expectAccessible(page);
      await page.reload();
      await notice.getByText('Wanjiru Kamau').waitFor();
      expect(await textOf(notice)).toContain('400.00');
      await notice.getByRole('button', { name: findOut }).click();
      await notice.waitFor({ state: 'detached' });
      expect(keys[1]).toBe(keys[0]);
      expect((await paymentsOf(id)).length).toBe(1);
    },
  );

  it('has the same key when it is typed and sent again after a reload', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    const keys = await silence(page, true);
    await fillPayment(page);
    await page.locator('dialog button[type=submit]').click();
    await eventually(() => keys.length).toBe(1);
    page.once('dialog', (dialog) => void dialog.accept());
    await page.reload();
    await page.locator('.unconfirmed').waitFor();
    await fillPayment(page);
    await page.locator('dialog button[type=submit]').click();
    await page.getByText('KES 400.00 recorded').waitFor();
    expect(keys[1]).toBe(keys[0]);
    expect((await paymentsOf(id)).length).toBe(1);
    expect(await page.locator('.unconfirmed').count()).toBe(0);
  });

  it.each(['not sent again', 'refused'])('can be %s after its page was left', async (outcome) => {
    const payment = await newMistypedPayment(console);
    const page = await console.open('/unmatched');
    await page.clock.install();
    let requests = 0;
    let answers = false;
    await page.route('**/assign', (route) => {
      requests += 1;
      if (!answers) return route.abort();
      const error = { code: 'CONFLICT', message: 'It is assigned already.', details: {} };
      return route.fulfill({ status: 409, json: { success: false, error } });
    });
    await page.locator('.choices').waitFor();
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await eventually(() => requests > 0).toBe(true);
    await page.evaluate("history.pushState(null, '', '/find')");
    const notice = page.locator('.unconfirmed');
    await notice.waitFor();
    if (outcome === 'refused') {
      answers = true;
      await page.locator('.toast', { hasText: 'It is assigned already.' }).waitFor();
      await notice.waitFor({ state: 'detached' });
    } else {
      await notice.getByRole('button', { name: 'Do not send again' }).click();
      await notice.waitFor({ state: 'detached' });
      const before = requests;
      await page.clock.runFor(60_000); // Longer than the pause between two requests.
      await page.evaluate("fetch('/healthz')"); // A request of before would be sent first.
      expect(requests).toBe(before);
    }
    expect(await console.call('GET', `/payments/${payment.paymentId}`)).toMatchObject({ accountId: null });
    await page.context().close(); // Its clock is another one.
    console.complaints.splice(0); // The browser reports the lost connection and the answer 409.
  });

  it('is not kept after the sign-out', async () => {
    const { id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    await silence(page, true);
    await fillPayment(page);
    await page.locator('dialog button[type=submit]').click();
    await page.locator('dialog').getByText('Not confirmed yet').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Close' }).click();
    await page.locator('.unconfirmed').waitFor();
    await page.locator('.avatar').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate("sessionStorage.getItem('kept')")).toBe(null);
  });

  it('is not kept if it has a password', async () => {
    const page = await console.open('/users');
    const sent: string[] = [];
    await page.route('**/api/users', (route) => {
      if (route.request().method() !== 'POST') return void route.continue();
      sent.push(route.request().postData() ?? '');
    });
    await page.locator('.page-head .button.primary').click();
    for (const [name, value] of Object.entries({
      firstName: 'Otieno',
      lastName: 'Odhiambo',
      email: 'o@example.com',
    }))
      await page.locator(`dialog input[name=${name}]`).fill(value);
    await page.locator('dialog input[name=password]').fill('maize and beans');
    await page.locator('dialog select[name=role]').selectOption('viewer');
    await page.locator('dialog button[type=submit]').click();
    await eventually(() => sent.length).toBe(1);
    expect(sent[0]).toContain('maize and beans');
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain(
      'maize',
    );
  });
});

describe.skipIf(!HAS_BROWSER)('typed text in a dialog', () => {
  async function openForm(email?: string): Promise<Page> {
    const { id } = await newAccount(console);
    const page = await console.open('/find', email === undefined ? {} : { email });
    await page.goto(`${console.origin}/accounts`);
    await page.locator('.avatar').waitFor();
    await page.evaluate(`history.pushState(null, '', '/accounts/${id}')`);
    await page.locator('.page-head .button.primary').click();
    await page.locator('input[name=amount]').fill('123');
    return page;
  }

  it('is lost by a reload, Back or Escape only after a question', async () => {
    const page = await openForm();
    const asked: string[] = [];
    let answer = false;
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void (answer ? dialog.accept() : dialog.dismiss());
    });
    void page.reload().catch(() => {}); // Dismissed.
    await eventually(() => asked).toEqual(['beforeunload']);
    await page.evaluate('history.back()');
    await eventually(() => asked).toEqual(['beforeunload', 'confirm']);
    await page.keyboard.press('Escape');
    await eventually(() => asked).toEqual(['beforeunload', 'confirm', 'confirm']);
    expect(await page.locator('input[name=amount]').inputValue()).toBe('123');
    answer = true;
    await page.evaluate('history.back()');
    await page.waitForURL('**/accounts');
    expect(await page.locator('dialog').count()).toBe(0);
    expect(asked.length).toBe(4);
  });

  it('adds no step to Back and Forward after it was saved', async () => {
    const page = await openForm();
    const account = page.url();
    await page.locator('select[name=paymentMethodId]').selectOption('1');
    await page.locator('dialog button[type=submit]').click();
    await page.getByText('KES 123.00 recorded').waitFor();
    for (let round = 0; round < 2; round++) {
      await page.goBack();
      await page.waitForURL('**/accounts');
      await page.goForward();
      await page.waitForURL(account);
    }
    expect(await page.locator('dialog').count()).toBe(0);
  });

  it('does not come back by Back after it was saved in a dialog with an address', async () => {
    const { id } = await console.call('POST', '/employees', { name: 'Barasa Wafula' });
    const page = await console.open('/find');
    await page.evaluate(`history.pushState(null, '', '/employees?open=${id}')`);
    const name = page.locator('dialog input[name=name]');
    await name.fill('Barasa Wekesa');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('td', { hasText: 'Barasa Wekesa' }).waitFor();
    await page.waitForURL('**/employees');
    await page.goBack();
    await page.waitForURL('**/find');
    await page.goForward();
    await page.waitForURL('**/employees');
    expect(await page.locator('dialog').count()).toBe(0);
  });

  it('survives the end of the session, for the same user', async () => {
    const email = await console.createUser('finance');
    const page = await openForm(email);
    await page.locator('select[name=paymentMethodId]').selectOption('1');
    // The service refuses the token, and the browser has no cookie to renew it.
    await page.context().clearCookies();
    const error = { code: 'UNAUTHORIZED', message: 'The session has ended.', details: {} };
    await page.route(
      '**/api/payments',
      (route) => route.fulfill({ status: 401, json: { success: false, error } }),
      { times: 1 },
    );
    await page.locator('dialog button[type=submit]').click();
    await page.getByText('what you have typed is still here').waitFor();
    await expectAccessible(page);
    await page.locator('input[name=email]').fill(email);
    await page.locator('input[name=password]').fill('a long enough password');
    await page.keyboard.press('Enter');
    await page.getByText('what you have typed is still here').waitFor({ state: 'detached' });
    expect(await page.locator('input[name=amount]').inputValue()).toBe('123');
    await page.locator('dialog button[type=submit]').click();
    await page.getByText('KES 123.00 recorded').waitFor();
    console.complaints.splice(0); // The browser reports the answers 401.
  });
});

describe.skipIf(!HAS_BROWSER)('a page whose code is not loaded', () => {
  it('says so inside the shell, and appears when the connection is back', async () => {
    const page = await console.open('/find', { viewport: PHONE, isNew: true });
    await page.context().setOffline(true);
    await page.evaluate("history.pushState(null, '', '/portfolio')");
    await page.getByText('This page is not loaded yet').waitFor();
    await page.locator('.avatar').waitFor();
    await expectAccessible(page);
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Portfolio' }).waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the lost connection.
  });
});
