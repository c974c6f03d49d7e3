import { useLayoutEffect, useRef } from 'react';
import { KEYS, type KeyName } from './keys.ts';

/** Whether the key was pressed alone, or with Shift. A letter counts in upper and lower case. */
export function isKey(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  name: KeyName,
): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (name === 'choose') return event.key.length === 1 && KEYS.choose.includes(event.key);
  return (event.key.length === 1 ? event.key.toUpperCase() : event.key) === KEYS[name];
}

/** In these elements, a key is text. */
const OWN_KEYS = 'input:not([type=radio], [type=checkbox]), select, textarea';

/** Calls the function when the user presses the key anywhere on the page. @param name - undefined: no key. */
export function useShortcut(name: KeyName | undefined, onPress: () => void): void {
  const latest = useRef(onPress);
  useLayoutEffect(() => {
    latest.current = onPress;
  });
  useLayoutEffect(() => {
    if (!name) return;
    const listener = (event: KeyboardEvent) => {
      if (!isKey(event, name) || (event.target as Element).matches?.(OWN_KEYS)) return;
      // The focus can be on the page behind an open dialog, such as after a click on its text.
      if (document.querySelector('dialog[open]')) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, [name]);
}
