import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilPasses } from '../support/waiting.ts';
import {
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  openFilters,
  PHONE,
  textOf,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('administration', () => {
  const console = useConsole({ WEBHOOKS_OUT_ALLOW: '127.0.0.1' });
  let receiver: Server;
  let receiverUrl = '';

  beforeAll(async () => {
    receiver = createServer((_request, response) => response.end('<b>thanks</b>'));
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  });
  afterAll(() => new Promise((resolve) => receiver.close(resolve)));

  const field = (page: Page, name: string) => page.locator(`dialog [name=${name}]`);

  /** Reads the secret of the dialog, and closes it. */
  async function takeSecret(page: Page): Promise<string> {
    const shown = page.locator('dialog .secret input');
    await shown.waitFor();
    const secret = await shown.inputValue();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.locator('dialog .secret').waitFor({ state: 'detached' });
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.cookie])',
    );
    expect(`${page.url()} ${kept} ${await page.content()}`).not.toContain(secret);
    return secret;
  }

  it('has an icon of its own for each page of the navigation', async () => {
    const page = await console.open('/users');
    const drawings = page.locator('.side .nav-link path');
    const icons = await Promise.all((await drawings.all()).map((icon) => icon.getAttribute('d')));
    expect(icons.length).toBeGreaterThan(15);
    expect(new Set(icons).size).toBe(icons.length);
  });

  it('creates and changes a user', async () => {
    const page = await console.open('/users', { viewport: PHONE });
    await page.getByRole('button', { name: 'New user' }).click();
    await page.locator('dialog [name=firstName]:focus').fill('<b>Neema</b>');
    await field(page, 'lastName').fill('Mushi');
    await field(page, 'email').fill('amina@example.com');
    await field(page, 'password').fill('several words that nobody guesses');
    await field(page, 'role').selectOption('finance');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('dialog [name=email][aria-invalid=true]:focus').waitFor();
    await expectAccessible(page);
    await field(page, 'email').fill('neema@example.com');
    await page.keyboard.press('Enter');
    const row = page.locator('tbody tr', { hasText: 'neema@example.com' });
    await row.getByText('<b>Neema</b> Mushi').waitFor();
    await expectAccessible(page);
    await row.getByRole('link').click();
    await page.getByLabel('May sign in').uncheck();
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await row.getByText('Inactive').waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 409.
  });

  it('creates, rotates and revokes an API key, whose secret is shown once', async () => {
    const page = await console.open('/api-keys', { viewport: PHONE });
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Sync</b>');
    await page.getByLabel('customers:read').check();
    await field(page, 'networks').fill('not a network');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('dialog [name=networks][aria-invalid=true]:focus').waitFor();
    await expectAccessible(page);
    await field(page, 'networks').fill('');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('dialog .secret input').waitFor();
    await expectAccessible(page);
    const first = await takeSecret(page);
    expect(first).toMatch(/^ams_key_/);
    await page.getByRole('link', { name: '<b>Sync</b>' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('dialog [name=name]:focus').fill('<b>Sync 2</b>');
    await field(page, 'networks').fill('203.0.113.0/24\n2001:db8::/32');
    await field(page, 'expiresAt').fill('2099-12-31');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    const [changed] = await console.call('GET', '/api-keys?filter[name]=<b>Sync 2</b>');
    expect(changed).toMatchObject({
      permissions: ['customers:read'],
      networks: ['203.0.113.0/24', '2001:db8::/32'],
      expiresAt: '2099-12-31T23:59:59.000Z',
    });
    await page.getByRole('link', { name: '<b>Sync 2</b>' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    expect(await takeSecret(page)).not.toBe(first);
    await page.getByRole('link', { name: '<b>Sync 2</b>' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Revoke key' }).click();
    await page.locator('tbody tr', { hasText: 'Sync 2' }).getByText('Revoked').waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400.
  });

  it('creates a webhook endpoint, tests it, and shows each delivery', async () => {
    const page = await console.open('/webhook-endpoints', { viewport: PHONE });
    await page.getByRole('button', { name: 'New endpoint' }).click();
    await page.locator('dialog [name=url]:focus').fill(`${receiverUrl}?phone`);
    await field(page, 'types').fill('employee.*\nno such type');
    await field(page, 'description').fill('<b>ERP</b>');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    await page.locator('dialog [name=types][aria-invalid=true]:focus').fill('employee.*');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
    const secret = await takeSecret(page);
    expect(secret).toMatch(/^whsec_/);
    await expectAccessible(page);
    await page.getByRole('link', { name: `${receiverUrl}?phone` }).click();
    await page.getByText('<b>ERP</b>').waitFor();
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.locator('tbody tr').first().getByText('Delivered').waitFor();
    await page.route('**/test', (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.getByText('Not confirmed', { exact: true }).waitFor();
    await console.call('POST', '/employees', { name: '<i>Event</i>' });
    const deliveries = `${new URL(page.url()).pathname}/deliveries`;
    await untilPasses(async () =>
      expect(JSON.stringify(await console.call('GET', deliveries))).toContain('employee.created'),
    );
    await page.reload();
    const row = page.locator('tbody tr', { hasText: 'employee.created' });
    await row.first().waitFor();
    await expectAccessible(page);
    await row.first().getByRole('link').click();
    await page.locator('dialog').getByText('<b>thanks</b>').waitFor();
    await page.locator('dialog').getByText('webhook-signature').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('The event is sent again.').waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled by a user').waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText('Disabled by a user').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByRole('button', { name: 'Rotate secret' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    expect(await takeSecret(page)).not.toBe(secret);
    await page.getByText('Events are signed with two secrets').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.locator('.menu').getByRole('button', { name: 'Delete' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No other system receives events yet.').waitFor();
    await page.context().close();
    console.complaints.splice(0); // The browser reports the answer 400 and the lost answer.
  });

  it('opens a delivery that the shown page of the list does not have, or says that there is none', async () => {
    const endpoint = { url: `${receiverUrl}?open`, types: ['user.created'] };
    const { id } = await console.call('POST', '/webhook-endpoints', endpoint);
    await console.call('POST', `/webhook-endpoints/${id}/test`, {});
    const [delivery] = await console.call('GET', `/webhook-endpoints/${id}/deliveries`);
    const page = await console.open(`/webhook-endpoints/${id}?outcome=failed&open=${delivery.id}`);
    await page.getByRole('dialog').getByText('webhook-signature').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.waitForURL('**?outcome=failed');
    await page.goto(`${console.origin}/webhook-endpoints/${id}?open=999999`);
    await page.getByRole('dialog').getByText('There is no entry 999999').waitFor();
    await console.call('DELETE', `/webhook-endpoints/${id}`);
  });

  it('filters the audit log by the kind of resource, and shows a change', async () => {
    const { id } = await console.call('POST', '/employees', { name: '<b>Before</b>' });
    await console.call('PUT', `/employees/${id}`, { name: '<b>After</b>' });
    const page = await console.open('/audit');
    await openFilters(page);
    await page.getByLabel('What').selectOption({ label: 'Employee' });
    await page.getByLabel('ID', { exact: true }).fill(String(id));
    await page.keyboard.press('Enter');
    await page.waitForURL('**/audit?resource=employee&resourceId=*');
    await page.reload();
    await page.locator('tbody tr', { hasText: 'Employee changed' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
    await expectAccessible(page);
    await page.locator('tbody tr', { hasText: 'Employee changed' }).locator('.row-link').click();
    await page.locator('dialog').getByText('<b>Before</b>').waitFor();
    await page.locator('dialog').getByText('<b>After</b>').waitFor();
    await expectAccessible(page);
  });

  it('names what the audit log records, and links to the changed records', async () => {
    const { id } = await newAccount(console);
    const payment = { accountId: id, amount: 400.5, paymentMethodId: 2, transactionRef: 'AUDIT' };
    const { id: paymentId } = await console.call('POST', '/payments', payment);
    await console.call('PUT', `/accounts/${id}`, { status: 'suspended', reason: 'moved away' });
    const path = `/audit?resource=account&resourceId=${id}`;
    const page = await console.open(path, { viewport: PHONE });
    const change = page.locator('tbody tr', { hasText: 'Account status changed' });
    await change.waitFor();
    await page.locator('tbody tr', { hasText: 'Account opened' }).waitFor();
    await expectAccessible(page);
    await change.locator('.row-link').click();
    const dialog = page.getByRole('dialog', { name: 'Account status changed' });
    await dialog.getByText('Suspended').waitFor();
    await dialog.getByText('moved away').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await change.getByRole('link', { name: `Account ${id}` }).click();
    await page.waitForURL(`**/accounts/${id}`);
    await page.context().close();

    const swahili = await console.open(`/audit?resource=payment&resourceId=${paymentId}`, {
      viewport: PHONE,
      locale: 'sw',
    });
    await swahili.locator('tbody tr', { hasText: 'Malipo yameingizwa' }).locator('.row-link').click();
    const recorded = swahili.getByRole('dialog', { name: 'Malipo yameingizwa' });
    expect(await textOf(recorded.locator('tr', { hasText: 'Kiasi' }))).toContain('KES 400.50');
    await recorded.getByRole('link', { name: `Akaunti ${id}` }).click();
    await swahili.waitForURL(`**/accounts/${id}`);
  });

  it('opens the dialog of a row that is on another page, or says that there is no such row', async () => {
    const ids: number[] = [];
    for (let at = 10; at < 37; at++)
      ids.push((await console.call('POST', '/employees', { name: `Zuri ${at}` })).id);
    const last = ids.at(-1);
    const page = await console.open(`/audit?resource=employee&resourceId=${last}`);
    await page
      .locator('tbody')
      .getByRole('link', { name: `Employee ${last}` })
      .click();
    await page.waitForURL(`**/employees?open=${last}`);
    const dialog = page.getByRole('dialog', { name: 'Zuri 36' });
    await dialog.waitFor();
    expect(await page.locator('tbody tr', { hasText: 'Zuri 36' }).count()).toBe(0);
    await dialog.getByLabel('Phone').fill('+254700000036');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await console.call('GET', `/employees/${last}`)).phone).toBe('+254700000036');
    await page.goto(`${console.origin}/users?open=999999`);
    await page.getByRole('dialog').getByText('There is no entry 999999').waitFor();
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.waitForURL('**/users');
    const invited = { email: 'audited@example.com', role: 'viewer' };
    const { id: invitationId } = await console.call('POST', '/users/invitations', invited);
    await page.goto(`${console.origin}/audit?resource=invitation&resourceId=${invitationId}`);
    await page
      .locator('tbody')
      .getByRole('link', { name: `Invitation ${invitationId}` })
      .click();
    await page.getByRole('dialog', { name: invited.email }).waitFor();
    const viewer = await console.open(`/employees?open=${last}`, {
      email: await console.createUser('viewer'),
    });
    await viewer.getByRole('dialog').getByText('Your role may not do this.').waitFor();
  });

  it('shows fields and statuses of the audit log in words', async () => {
    const { id } = await console.call('POST', '/payplans', {
      name: 'Audited plan',
      deposit: 10,
      instalmentAmount: 5,
      instalmentCount: 12,
      frequency: 'weekly',
      autoSuspend: true,
    });
    const page = await console.open(`/audit?resource=payplan&resourceId=${id}`);
    await page.locator('tbody tr', { hasText: 'Pay plan created' }).locator('.row-link').click();
    const rows = page.locator('dialog tbody tr');
    await rows.filter({ hasText: 'Number of instalments' }).waitFor();
    for (const row of await rows.all())
      expect(await row.locator('td, th').first().textContent()).toMatch(/^[A-Z][a-z ]+$/);
    const key = await console.call('POST', '/api-keys', { name: 'Audited key', role: 'viewer' });
    await console.call('POST', `/api-keys/${key.id}/revoke`, {});
    await page.goto(`${console.origin}/audit?resource=api_key&resourceId=${key.id}`);
    await page.locator('tbody tr', { hasText: 'API key revoked' }).locator('.row-link').click();
    await page.locator('dialog tbody').getByText('Revoked').waitFor();
  });

  it('invites a person, who opens the latest link and chooses a password', async () => {
    const page = await console.open('/invitations', { viewport: PHONE });
    const email = 'invited@example.com';
    await page.getByRole('button', { name: 'Invite somebody' }).click();
    await page.locator('dialog [name=email]:focus').fill(email);
    await field(page, 'role').selectOption('viewer');
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Create invitation' }).click();
    const first = await takeSecret(page);
    await page.locator('tbody tr', { hasText: email }).getByRole('link').click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Invite again' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Create invitation' }).click();
    const second = await takeSecret(page);
    await page.context().close();

    for (const [link, isValid] of [
      [first, false],
      [second, true],
    ] as const) {
      const invited = await console.open(link.replace(console.origin, ''), { viewport: PHONE, email: '' });
      await invited.getByRole('heading', { name: 'Accept your invitation' }).waitFor();
      expect(invited.url()).toBe(`${console.origin}/`);
      if (isValid) await expectAccessible(invited);
      await invited.locator('[name=firstName]').fill('Neema');
      await invited.locator('[name=lastName]').fill('Mushi');
      await invited.locator('[name=email]').fill(email);
      await invited.locator('[name=password]').fill('several words that nobody guesses');
      await invited.keyboard.press('Enter');
      await invited.locator(isValid ? '.avatar' : '[role=alert]').waitFor();
      await invited.context().close();
    }
    const [user] = await console.call('GET', `/users?filter[email]=${email}`);
    expect(user).toMatchObject({ email, role: 'viewer', active: true });
    console.complaints.splice(0); // The browser reports the refusal of the first link.
  });

  it('is hidden from a manager', async () => {
    const page = await console.open('/users', { email: await console.createUser('manager') });
    await page.getByText('Your role may not open this page').waitFor();
    expect(await page.getByText('Administration').count()).toBe(0);
  });
});
