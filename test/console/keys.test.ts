import { describe, expect, it } from 'vitest';
import { KEYS } from '../../web/src/ui/keys.ts';
import { eventually } from '../support/waiting.ts';
import { expectAccessible, HAS_BROWSER, PHONE, useConsole } from './console.ts';

describe.skipIf(!HAS_BROWSER)('the key ?', () => {
  const console = useConsole();

  it('shows all keys on the page of unmatched payments, and only those of the console on other pages', async () => {
    const page = await console.open('/unmatched');
    await page.getByRole('heading', { level: 1, name: 'Unmatched' }).waitFor();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keys' });
    await dialog.getByText('Undo the last assignment').waitFor();
    expect(await dialog.locator('dt').count()).toBe(Object.keys(KEYS).length);
    expect(await dialog.locator('dd').allTextContents()).toEqual([
      'Find',
      'Show these keys',
      'Choose the account with this number',
      'Assign the payment to the chosen account',
      'Next payment',
      'Previous payment',
      'Search for an account',
      'Undo the last assignment',
      'Next result',
      'Previous result',
      'Open the result',
      'Clear the text of the search',
    ]);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goto(`${console.origin}/customers`);
    await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor();
    await page.keyboard.press('?');
    const keys = () => dialog.locator('dt').allTextContents();
    await eventually(keys).toEqual(['/', '?', '↓', '↑', 'Enter', 'Esc']);
  });

  it('opens no second dialog over an open one', async () => {
    const page = await console.open('/customers');
    await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Next result').waitFor();
    await dialog.getByRole('heading', { name: 'Keys' }).click(); // The focus is now on the body.
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('?');
    await page.keyboard.press('/');
    expect(await page.locator('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  it('is text in a field', async () => {
    const page = await console.open('/find');
    await page.locator('#page-find:focus').waitFor();
    await page.keyboard.type('who?');
    await page.waitForURL('**/find?q=who%3F');
    expect(await page.locator('#page-find').inputValue()).toBe('who?');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('works in Swahili on a narrow screen', async () => {
    const page = await console.open('/customers', { viewport: PHONE, locale: 'sw-KE' });
    await page.getByRole('heading', { level: 1, name: 'Wateja' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Vitufe' }).getByText('Fungua tokeo').waitFor();
    await expectAccessible(page);
  });
});
