import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/waiting.ts';
import {
  dayBefore,
  expectAccessible,
  HAS_BROWSER,
  newAccount,
  PHONE,
  statValue,
  useConsole,
} from './console.ts';

describe.skipIf(!HAS_BROWSER)('the deferral of many accounts', () => {
  const console = useConsole({ APPROVAL_LIMIT: '60000', PLAN_CHANGE_REASONS: 'bad_harvest' });

  /** Accounts of the weekly plan, of customers in a region. */
  async function newRegion(region: string, count: number): Promise<number[]> {
    const ids: number[] = [];
    for (let n = 0; n < count; n++) {
      const { id, customerId } = await newAccount(console);
      await console.call('PUT', `/customers/${customerId}`, { metadata: { region } });
      ids.push(id);
    }
    return ids;
  }

  const field = (page: Page, name: string) => page.locator(`dialog [name="${name}"]`);
  const status = (page: Page, name: string) => page.locator('.page-sub .badge', { hasText: name }).waitFor();
  const versions = (ids: number[]) =>
    Promise.all(ids.map(async (id) => (await console.call('GET', `/accounts/${id}`)).planVersion));

  it('is prepared by a filter, confirmed after its totals were shown, and undone', async () => {
    const ids = await newRegion('north', 2);
    const page = await console.open('/plan-changes', { email: await console.createUser('finance') });
    await page.getByRole('link', { name: 'Defer many accounts' }).click();
    await page.getByRole('heading', { name: 'Many accounts deferred' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Defer many accounts' }).click();
    await field(page, 'status').waitFor();
    await expectAccessible(page);
    await field(page, 'value').fill('nowhere');
    await field(page, 'from').fill(dayBefore(-7));
    await field(page, 'periods').fill('4');
    await field(page, 'reasonCode').selectOption({ label: 'Bad harvest' });
    await field(page, 'reason').fill('Hail in the north');
    const show = page.locator('dialog').getByRole('button', { name: 'Show the effect' });
    await show.click();
    const invalid = page.locator('dialog [aria-invalid=true]');
    await invalid.waitFor();
    expect(await invalid.getAttribute('name')).toBe('key');
    await field(page, 'key').fill('region');
    await field(page, 'value').fill('');
    await show.click();
    await page.locator('dialog [name=value][aria-invalid=true]').waitFor();
    await field(page, 'value').fill('nowhere');
    await show.click();
    await page.locator('dialog').getByText('selects no account').waitFor();
    console.complaints.splice(0); // The browser reports the answer 400.
    await field(page, 'value').fill('north');
    await show.click();
    await status(page, 'To be confirmed today');
    const fact = (name: string) => page.locator('.facts > div', { hasText: name }).locator('dd');
    await fact('Selected by').getByText('Status: Active').waitFor();
    await fact('Selected by').getByText('Customer · Region: north').waitFor();
    await fact('Prepared').getByText('@example.com').waitFor();
    await statValue(page, 'Can be deferred').getByText('2').waitFor();
    await statValue(page, 'Balance').getByText('KES 45,600.00').waitFor();
    await expectAccessible(page);
    expect(await versions(ids)).toEqual([0, 0]);
    await page.getByRole('button', { name: 'Defer the accounts' }).click();
    await page.getByText('The instalments of 2 accounts are due later.').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Defer the accounts' }).click();
    await status(page, 'Done');
    await page
      .locator('.stat', { has: page.getByText('Deferred', { exact: true }) })
      .getByText('2')
      .waitFor();
    await fact('Started').getByText('@example.com').waitFor();
    await expectAccessible(page);
    expect(await versions(ids)).toEqual([1, 1]);

    await console.call('POST', `/accounts/${ids[0]}/plan-changes`, {
      ...{ kind: 'discount', amount: 1, reason: 'A test', confirm: { version: 1, paid: 0 } },
    });
    await page.getByRole('button', { name: 'Undo for all accounts' }).click();
    await field(page, 'reason').fill('The wrong region');
    await page.locator('dialog').getByRole('button', { name: 'Undo for all accounts' }).click();
    await status(page, 'Undone');
    await page.getByText('1 × Not undone: the plan was changed later').waitFor();
    await page.getByLabel('Status').selectOption({ label: 'Not undone' });
    await page.locator('tbody').getByText('Not undone: the plan was changed later').waitFor();
    await expectAccessible(page);
    await page.locator('tbody').getByRole('link').click();
    await page.waitForURL(`**/accounts/${ids[0]}`);
    expect(await versions(ids)).toEqual([2, 2]);
  });

  it('counts accounts that the preview refused and those that the job left out on different lines, also in Swahili', async () => {
    const ids = await newRegion('south', 3);
    const cancel = (id?: number) =>
      console.call('PUT', `/accounts/${id}`, { status: 'cancelled', reason: 'A test' });
    await cancel(ids[0]);
    const { id } = await console.call('POST', '/plan-changes/bulk-deferrals', {
      ...{
        filter: { customerMetadata: { region: 'south' } },
        from: dayBefore(-7),
        periods: 4,
        reason: 'Floods',
      },
    });
    const page = await console.open(`/plan-changes/many/${id}`);
    await status(page, 'To be confirmed today');
    await page
      .getByText('1 × Not possible: the status does not allow it: the account is cancelled')
      .waitFor();
    await page.locator('tbody tr', { hasText: 'Not possible' }).getByText('–').waitFor();
    await eventually(() => page.locator('tbody tr', { hasText: 'Waiting' }).count()).toBe(2);
    await cancel(ids[1]);
    await page.getByRole('button', { name: 'Defer the accounts' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Defer the accounts' }).click();
    await status(page, 'Done');
    await page.getByText('1 × Left out: the status does not allow it: the account is cancelled').waitFor();
    await page
      .getByText('1 × Not possible: the status does not allow it: the account is cancelled')
      .waitFor();
    const swahili = await console.open(`/plan-changes/many/${id}`, { locale: 'sw-KE' });
    await swahili.getByText('1 × Haiwezekani: hali ya akaunti hairuhusu', { exact: true }).waitFor();
  });

  it('is sent for approval above the limit, in Swahili on a phone', async () => {
    const ids = await newRegion('east', 3);
    const page = await console.open('/plan-changes/many', { locale: 'sw-KE', viewport: PHONE });
    await page.getByRole('button', { name: 'Ahirisha akaunti nyingi' }).click();
    await field(page, 'key').fill('region');
    await field(page, 'value').fill('east');
    await field(page, 'from').fill(dayBefore(-7));
    await field(page, 'step').selectOption('days');
    await field(page, 'days').fill('30');
    await field(page, 'reason').fill('Mvua ya mawe');
    await page.locator('dialog').getByRole('button', { name: 'Onyesha' }).click();
    await status(page, 'Ithibitishwe leo');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Ahirisha akaunti', exact: true }).click();
    await page.locator('dialog .notice').waitFor();
    await expectAccessible(page);
    await page.locator('dialog').locator('button[type=submit]').click();
    const request = page.locator('.notice').getByRole('link');
    await request.waitFor();
    expect(await versions(ids)).toEqual([0, 0, 0]);
    await request.click();
    await page.locator('dialog').getByText('Ahirisha akaunti nyingi').first().waitFor();
    await expectAccessible(page);
    const accounts = page.locator('dialog .facts').getByRole('link');
    expect(await accounts.textContent()).toBe('3');
    await accounts.click();
    await status(page, 'Ithibitishwe leo');
  });

  it('shows whose arrears move, and by which filter the accounts are selected, and is discarded', async () => {
    const ids = [
      (await newAccount(console, { activationDate: dayBefore(40) })).id,
      (await newAccount(console, { activationDate: dayBefore(40) })).id,
    ];
    const [late = 0, paid = 0] = ids;
    await console.call('POST', '/payments', { accountId: paid, amount: 22_800 - 400, paymentMethodId: 2 });
    for (const id of ids) await console.call('PUT', `/accounts/${id}`, { metadata: { route: 'A1' } });
    const { productId } = await console.call('GET', `/accounts/${late}`);
    const { name } = await console.call('GET', `/products/${productId}`);
    const { id } = await console.call('POST', '/plan-changes/bulk-deferrals', {
      ...{ filter: { metadata: { route: 'A1' }, productId: { in: [productId] }, total: { gte: 100 } } },
      ...{ from: dayBefore(-30), periods: 4, arrears: 'behind', reason: 'The road is closed' },
    });
    const page = await console.open(`/plan-changes/many/${id}`, { locale: 'sw-KE', viewport: PHONE });
    await status(page, 'Ithibitishwe leo');
    for (const text of [`Bidhaa: ${name}`, 'Jumla: ≥ 100', 'Route: A1'])
      await page.locator('.facts').getByText(text, { exact: true }).waitFor();
    const moved = (accountId: number) =>
      page
        .locator('tbody tr', { has: page.locator(`a[href="/accounts/${accountId}"]`) })
        .locator('[data-label="Malimbikizo yanayosogezwa"]');
    await moved(late).getByText(/[1-9]/).waitFor();
    await moved(paid).getByText('KES 0.00').waitFor();
    await page.getByRole('button', { name: 'Tupa' }).click();
    await page.locator('dialog').getByText('Hakuna akaunti iliyobadilishwa.').waitFor();
    await expectAccessible(page);
    await page.locator('dialog').getByRole('button', { name: 'Tupa' }).click();
    await status(page, 'Haikuthibitishwa');
    await page
      .locator('.facts > div', { hasText: 'Haikuthibitishwa' })
      .getByText('amina@example.com')
      .waitFor();
    expect(await page.locator('tbody').count()).toBe(0);
    expect(await page.locator('.page-head .button').count()).toBe(0);
    expect((await console.call('GET', `/plan-changes/bulk-deferrals/${id}`)).status).toBe('expired');
  });

  it('that is running is stopped', async () => {
    await newRegion('coast', 2);
    const { id } = await console.call('POST', '/plan-changes/bulk-deferrals', {
      ...{
        filter: { customerMetadata: { region: 'coast' } },
        from: dayBefore(-7),
        periods: 1,
        reason: 'Hail',
      },
    });
    const page = await console.open(`/plan-changes/many/${id}`);
    await status(page, 'To be confirmed today');
    // The job of two accounts is too fast to be seen, so the page gets an answer of a job that is at work.
    const path = `**/api/plan-changes/bulk-deferrals/${id}`;
    await page.route(path, async (route) => {
      const answer = await route.fetch();
      const { data, ...envelope } = await answer.json();
      const running = { status: 'running', allowedMoves: ['done'], startedAt: data.createdAt };
      await route.fulfill({ response: answer, json: { ...envelope, data: { ...data, ...running } } });
    });
    await page.reload();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('dialog').getByText('Deferred accounts remain deferred, and can be undone.').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Stop' }).click();
    // It is in fact a draft, which the dialog does not discard.
    await page.locator('dialog').getByText('The bulk deferral cannot be stopped: it is draft.').waitFor();
    console.complaints.splice(0); // The browser reports the answer 409.
    await console.call('POST', `/plan-changes/bulk-deferrals/${id}/confirm`);
    await page.locator('dialog').getByRole('button', { name: 'Stop' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.unroute(path);
    await status(page, 'Done');
  });

  it('whose preview was confirmed meanwhile is not discarded, and not stopped', async () => {
    const ids = await newRegion('lake', 2);
    for (const id of ids) await console.call('PUT', `/accounts/${id}`, { metadata: { region: 'shore' } });
    await console.call('POST', `/accounts/${ids[0]}/plan-changes`, {
      ...{
        kind: 'deferral',
        from: dayBefore(-7),
        periods: 1,
        reason: 'Ill',
        confirm: { version: 0, paid: 0 },
      },
    });
    const { id } = await console.call('POST', '/plan-changes/bulk-deferrals', {
      filter: { customerMetadata: { region: 'lake' }, metadata: { region: 'shore' } },
      ...{ from: dayBefore(-14), periods: 1, reason: 'Hail' },
    });
    const page = await console.open(`/plan-changes/many/${id}`);
    await status(page, 'To be confirmed today');
    const facts = page.locator('.facts');
    await facts.getByText('Region: shore', { exact: true }).waitFor();
    await facts.getByText('Customer · Region: lake', { exact: true }).waitFor();
    await facts.locator('div', { hasText: 'Already deferred' }).locator('dd', { hasText: '1' }).waitFor();
    await page.getByRole('button', { name: 'Defer the accounts' }).click();
    const dialog = page.locator('dialog');
    await dialog.getByText('Already deferred or revised in the last 30 days: 1').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Discard' }).click();
    await console.call('POST', `/plan-changes/bulk-deferrals/${id}/confirm`);
    await status(page, 'Done');
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.getByText('The preview cannot be discarded any more: the bulk deferral is done.').waitFor();
    console.complaints.splice(0); // The browser reports the answer 409.
    expect(await versions(ids)).toEqual([2, 1]);
  });

  it('can be seen, but not prepared, by users who may not change plans', async () => {
    await newRegion('west', 1);
    await console.call('POST', '/plan-changes/bulk-deferrals', {
      ...{
        filter: { customerMetadata: { region: 'west' } },
        from: dayBefore(-7),
        periods: 1,
        reason: 'Hail',
      },
    });
    const page = await console.open('/plan-changes/many', { email: await console.createUser('viewer') });
    await page.getByRole('heading', { name: 'Many accounts deferred' }).waitFor();
    await page.locator('tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Defer many accounts' }).waitFor({ state: 'detached' });
    await page.locator('tbody').getByRole('link').first().click();
    await page.locator('.page-sub .badge').waitFor();
    expect(await page.getByRole('button', { name: /Defer the accounts|Undo for all|Discard/ }).count()).toBe(
      0,
    );
  });
});
