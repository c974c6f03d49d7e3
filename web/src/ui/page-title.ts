import { useLayoutEffect } from 'react';
import { settings } from '../api/settings.ts';

/**
 * Sets the title of the browser tab. Browsers keep titles in their history, so a title must not contain the name of a person.
 * Undefined leaves the title as it is.
 */
export function usePageTitle(name: string | undefined): void {
  useLayoutEffect(() => {
    if (name !== undefined) document.title = `${name} – ${settings().companyName}`;
  }, [name]);
}
