import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, HAS_BROWSER, newAccount, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('a customer', () => {
  const console = useConsole();

  async function openForm(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('dialog [name=firstName]:focus').waitFor();
  }

  const save = (page: Page) => page.locator('dialog').getByRole('button', { name: 'Save' }).click();

  it('can be changed, and shows problems at their fields', async () => {
    const { customerId } = await newAccount(console);
    const page = await console.open(`/customers/${customerId}`, { viewport: PHONE });
    await openForm(page);
    await expectAccessible(page);
    await page.locator('dialog [name=firstName]').fill('Neema');
    await page.locator('dialog [name=phone]').fill('12');
    await save(page);
    await page.locator('dialog [name=phone][aria-invalid=true]:focus').waitFor();
    await expectAccessible(page);
    await page.locator('dialog [name=phone]').fill('0712 345 678');
    await page.locator('dialog [name=language]').selectOption('Kiswahili');
    await save(page);
    await page.getByRole('heading', { name: 'Neema Kamau' }).waitFor();
    expect(await console.call('GET', `/customers/${customerId}`)).toMatchObject({
      ...{ firstName: 'Neema', lastName: 'Kamau', phone: '+254712345678', email: null },
      language: 'sw',
    });
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('is not overwritten by somebody whose form is older than the last change', async () => {
    const { customerId } = await newAccount(console);
    const [first, second] = await Promise.all([
      console.open(`/customers/${customerId}`),
      console.open(`/customers/${customerId}`),
    ]);
    await openForm(first);
    await openForm(second);
    await first.locator('dialog [name=phone]').fill('0712 000 111');
    await save(first);
    await first.locator('dialog').waitFor({ state: 'detached' });
    // The second page follows the change. The open form does not.
    await second.locator('main', { hasText: '+254712000111' }).waitFor();
    await second.locator('dialog [name=lastName]').fill('Mushi');
    await save(second);
    await second.getByText('Somebody else has changed this.').waitFor();
    await expectAccessible(second);
    expect(await console.call('GET', `/customers/${customerId}`)).toMatchObject({
      ...{ lastName: 'Kamau', phone: '+254712000111' },
    });
    second.once('dialog', (question) => void question.accept()); // The typed text is lost.
    await second.keyboard.press('Escape');
    await openForm(second);
    expect(await second.locator('dialog [name=phone]').inputValue()).toBe('+254712000111');
    await second.locator('dialog [name=lastName]').fill('Mushi');
    await save(second);
    await second.getByRole('heading', { name: 'Wanjiru Mushi' }).waitFor();
    await Promise.all([first, second].map((page) => page.context().close()));
    console.complaints.splice(0); // The browser reports the answer 412.
  });

  it('shows a change that was made while the page was hidden', async () => {
    const { customerId } = await newAccount(console);
    const page = await console.open(`/customers/${customerId}`);
    const setVisibility = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const following = () => page.waitForResponse(/\/api\/events\?from=latest/);
    await page.getByRole('heading', { name: 'Wanjiru Kamau' }).waitFor();
    await setVisibility('hidden');
    await console.call('PUT', `/customers/${customerId}`, { lastName: 'Mushi' });
    await Promise.all([following(), setVisibility('visible')]);
    await page.getByRole('heading', { name: 'Wanjiru Mushi' }).waitFor();
  });

  it('has a history that shows who changed the phone, and from which number', async () => {
    const { customerId, id } = await newAccount(console);
    const before = (await console.call('GET', `/customers/${customerId}`)).phone;
    await console.call('PUT', `/customers/${customerId}`, { phone: '0722 000 111' });
    await console.call('POST', '/payments', { accountId: id, amount: 60, paymentMethodId: 2 });
    const page = await console.open(`/customers/${customerId}`, { viewport: PHONE });
    const history = page.getByRole('list', { name: 'History' });
    const change = history.locator('li', { hasText: 'Customer changed' });
    await change.getByText(`Phone: ${before} → +254722000111`).waitFor();
    await change.getByText('amina@example.com').waitFor();
    await history.getByRole('link', { name: 'Payment' }).waitFor();
    await expectAccessible(page);
  });

  it('has notes that are pinned, corrected and hidden, and never run as scripts', async () => {
    const { customerId, id } = await newAccount(console);
    const page = await console.open(`/accounts/${id}`);
    const text = '<img src=x onerror=alert(1)> Is paid\non the 5th.';
    await page.getByRole('button', { name: 'Write a note' }).click();
    await page.locator('dialog textarea:focus').fill(text);
    await page.locator('dialog').getByRole('checkbox').check();
    await save(page);
    const pinned = page.getByRole('list', { name: 'Pinned note' });
    await pinned.getByText('<img src=x onerror=alert(1)>').waitFor();
    const [note] = await console.call('GET', `/customers/${customerId}/notes`);
    expect(note).toMatchObject({ text, pinned: true, accountId: id });
    await expectAccessible(page);

    await pinned.getByRole('button', { name: 'Correct' }).click();
    await page.locator('dialog textarea:focus').fill('Is paid on the 6th.');
    await save(page);
    await page.locator('dialog').waitFor({ state: 'detached' });
    await pinned.getByText('Is paid on the 6th.').waitFor();
    const history = page.getByRole('list', { name: 'History' });
    await history.getByRole('button', { name: 'Corrected 1 ×: show' }).click();
    await history.locator('s', { hasText: 'on the 5th.' }).waitFor();

    await pinned.getByRole('button', { name: 'Hide' }).click();
    await page.locator('dialog textarea:focus').fill('Wrong customer');
    await page.locator('dialog').getByRole('button', { name: 'Hide' }).click();
    await pinned.waitFor({ state: 'detached' });
    const viewer = await console.open(`/accounts/${id}`, { email: await console.createUser('viewer') });
    await viewer.getByText('The text is hidden.').waitFor();
    expect(await viewer.getByText('on the 6th').count()).toBe(0);
    expect(await viewer.getByRole('button', { name: 'Write a note' }).count()).toBe(0);
  });

  it('cannot be changed by a viewer', async () => {
    const { customerId } = await newAccount(console);
    const page = await console.open(`/customers/${customerId}`, {
      email: await console.createUser('viewer'),
    });
    await page.getByRole('heading', { name: 'Wanjiru Kamau' }).waitFor();
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  });
});
