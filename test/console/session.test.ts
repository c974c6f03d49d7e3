import { describe, expect, it } from 'vitest';
import { DESKTOP, expectAccessible, HAS_BROWSER, PASSWORD, PHONE, signIn, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('a session', () => {
  const console = useConsole();

  it('starts at the page of the URL after the sign-in', async () => {
    const page = await console.open('/accounts/999?x=1', { viewport: PHONE, email: '' });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expectAccessible(page);
    await signIn(page, 'amina@example.com');
    expect(new URL(page.url()).pathname).toBe('/accounts/999');
    await page.getByText('This could not be loaded').waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 404: there is no such account.
  });

  it('does not start with a wrong password, and says why', async () => {
    const page = await console.open('/', { email: '' });
    await page.locator('input[name=email]').fill('amina@example.com');
    await page.locator('input[name=password]').fill('another password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('E-mail or password is wrong.').waitFor();
    await expectAccessible(page);
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 401.
  });

  it('can start with a new account while registration is open', async () => {
    const page = await console.open('/find', { email: '' });
    await page.getByRole('button', { name: 'Create an account' }).click();
    await page.locator('input[name=firstName]').fill('Baraka');
    await page.locator('input[name=lastName]').fill('Mwangi');
    await page.locator('input[name=email]').fill('baraka@example.com');
    await page.locator('input[name=password]').fill('short');
    await page.keyboard.press('Enter');
    await page.locator('input[name=password][aria-invalid=true]').waitFor();
    await expectAccessible(page);
    console.complaints.splice(0); // The browser reports the answer 400.
    await page.locator('input[name=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Find' }).waitFor();
  });

  it('survives a reload of four tabs at once, and keeps no token in storage', async () => {
    const page = await console.open('/find');
    const tabs = [page];
    for (let more = 3; more > 0; more -= 1) {
      const tab = await page.context().newPage();
      await tab.goto(`${console.origin}/find`);
      tabs.push(tab);
    }
    await Promise.all(tabs.map((tab) => tab.reload()));
    await Promise.all(tabs.map((tab) => tab.locator('.avatar').waitFor()));
    const stored = await page.evaluate(
      'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie',
    );
    expect(stored).toBe('{}');
  });

  it('ends with a sign-out, also in other tabs', async () => {
    const page = await console.open('/find');
    const other = await page.context().newPage();
    await other.goto(`${console.origin}/find`);
    await other.locator('.avatar').waitFor();
    await page.locator('.avatar').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.reload();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it('never books in the name of a user who has signed in in another tab', async () => {
    const [finance, manager] = [await console.createUser('finance'), await console.createUser('manager')];
    const names = { firstName: 'Grace', lastName: 'Wanjiku' };
    const customer = await console.call('POST', '/customers', { ...names, phone: '0712345678' });
    const sale = { customerId: customer.id, productId: 1, payplanId: 2 };
    const { id } = await console.call('POST', '/accounts', sale);
    const page = await console.open(`/accounts/${id}`, { email: finance });
    await page.getByRole('button', { name: 'Record payment' }).click();
    await page.locator('input[name=amount]').fill('100');
    await page.locator('select[name=paymentMethodId]').selectOption('1');
    const other = await page.context().newPage();
    // A tab that hears nothing of the other one, as in a browser that suspends it.
    await page.evaluate('BroadcastChannel.prototype.postMessage = () => {}');
    await other.addInitScript('BroadcastChannel.prototype.postMessage = () => {}');
    await other.goto(`${console.origin}/find`);
    await other.locator('.avatar').click();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await signIn(other, manager);
    await page.getByRole('dialog').getByRole('button', { name: 'Record' }).click();
    await page.getByText('Another user has signed in in this browser').waitFor();
    await expectAccessible(page);
    expect(await console.call('GET', `/accounts/${id}/payments`)).toEqual([]);
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.locator('.avatar').click();
    await page.getByText(manager).waitFor();
    console.complaints.splice(0); // The browser reports the answers 401 and 409.
  });

  it('shows in open tabs that another user has signed in', async () => {
    const [finance, manager] = [await console.createUser('finance'), await console.createUser('manager')];
    const page = await console.open('/find', { email: finance });
    const other = await page.context().newPage();
    await other.goto(`${console.origin}/find`);
    await other.locator('.avatar').click();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await signIn(other, manager);
    await page.getByText('Another user has signed in in this browser').waitFor();
    console.complaints.splice(0);
  });

  it('offers theme, language and password in the menu', async () => {
    const email = await console.createUser('manager');
    const page = await console.open('/find', { viewport: PHONE, email });
    await page.locator('.avatar').click();
    await expectAccessible(page);
    await page.getByText('Dark', { exact: true }).click();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.getByText('Kiswahili').click();
    await page.getByRole('heading', { name: 'Tafuta' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Tafuta' }).waitFor();
    await page.locator('.avatar').click();
    await page.getByText('English').click();
    await page.getByRole('heading', { name: 'Find' }).waitFor();
    await page.locator('.avatar').click();
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.locator('input[name=currentPassword]').fill('not this one');
    await page.locator('input[name=newPassword]').fill('another long enough password');
    await page.keyboard.press('Enter');
    await page.getByText('This is not your current password.').waitFor();
    await expectAccessible(page);
    console.complaints.splice(0); // The browser reports the answer 401.
    await page.locator('input[name=currentPassword]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('Password changed.').waitFor();
  });

  it('shows the navigation of a phone in a menu that the keyboard opens', async () => {
    const page = await console.open('/find', { viewport: PHONE });
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    await page.getByRole('link', { name: 'Find' }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize(DESKTOP);
  });
});
