import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { providerSettings, startRealProvider } from '../support/identity-providers.ts';
import { expectAccessible, HAS_BROWSER, PASSWORD, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('signing in through an identity provider', () => {
  let provider: Awaited<ReturnType<typeof startRealProvider>>;
  beforeAll(async () => {
    provider = await startRealProvider({
      baraka: {
        email: 'baraka@example.com',
        email_verified: true,
        given_name: 'Baraka',
        family_name: 'Mwangi',
      },
      amina: { email: 'amina@example.com', email_verified: true, given_name: 'Amina', family_name: 'Otieno' },
      neema: { email: 'neema@example.com', email_verified: true, given_name: 'Neema', family_name: 'Mushi' },
    });
    Object.assign(settings, providerSettings('LOCAL', provider.issuer));
  });
  afterAll(() => provider.close());
  const settings: Record<string, string> = {};
  const console = useConsole(settings);
  beforeAll(() => {
    console.otherOrigins.push(provider.issuer);
    provider.open(`${console.origin}/api/auth/local/callback`);
  });

  /** The page of the provider asks for a name, as the body of a POST. */
  async function signInAs(page: Page, person: string): Promise<void> {
    await page.getByRole('link', { name: 'Continue with Local' }).click();
    await page.getByText('Who are you?').waitFor();
    const { headers } = await page.request
      .post(page.url(), { data: person, headers: { 'content-type': 'text/plain' }, maxRedirects: 0 })
      .then((answer) => ({ headers: answer.headers() }));
    await page.goto(new URL(headers.location ?? '', page.url()).href);
  }

  it('opens the console', async () => {
    const page = await console.open('/find', { email: '' });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expectAccessible(page);
    await signInAs(page, 'baraka');
    await page.locator('.avatar').waitFor();
  });

  it('offers the sign-out at the provider after the sign-out, in the language of the user', async () => {
    const page = await console.open('/find', { email: '' });
    await signInAs(page, 'baraka');
    await page.locator('.avatar').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out here. You are still signed in at Local.').waitFor();
    await expectAccessible(page);
    await page.getByText('Kiswahili').click();
    await page.getByRole('link', { name: 'Toka pia kwenye Local' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.waitForURL(`${console.origin}/`);
    await page.getByRole('link', { name: 'Endelea na Local' }).click();
    await page.getByText('Who are you?').waitFor();
  });

  it.each([
    ['cancel', 'The identity provider did not sign you in.'],
    ['amina', 'Another user has this e-mail.'],
  ])('says why it failed for %s', async (person, message) => {
    const page = await console.open('/find', { email: '' });
    await signInAs(page, person);
    await page.getByRole('alert').getByText(message).waitFor();
    await expectAccessible(page);
  });

  it('links the identity to a user who opens the link of an invitation', async () => {
    const neema = { email: 'neema@example.com', firstName: 'Neema', lastName: 'Mushi', role: 'viewer' };
    await console.call('POST', '/users', { ...neema, password: PASSWORD });
    const admin = await console.open('/users');
    await admin.locator('tbody tr', { hasText: neema.email }).getByRole('link').click();
    await admin.getByRole('button', { name: 'Link an identity provider' }).click();
    await admin.locator('dialog').getByRole('button', { name: 'Create invitation' }).click();
    const link = await admin.locator('dialog .secret input').inputValue();
    await admin.context().close();
    const page = await console.open(link.replace(console.origin, ''), { email: '' });
    await page.getByRole('heading', { name: 'Link an identity' }).waitFor();
    await expectAccessible(page);
    await signInAs(page, 'neema');
    await page.locator('.avatar').click();
    await page.getByText(neema.email).waitFor();
  });
});
