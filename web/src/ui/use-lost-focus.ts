import { type RefObject, useLayoutEffect, useRef } from 'react';

/**
 * When a button shows new content and disappears, the focus is lost. This hook then moves the focus to the new content.
 *
 * @param isShown - whether the new content is on the page.
 * @param selector - selects the element that gets the focus, inside the element of the returned ref.
 */
export function useLostFocus<Root extends HTMLElement>(
  isShown: boolean,
  selector: string,
): RefObject<Root | null> {
  const root = useRef<Root>(null);
  useLayoutEffect(() => {
    if (isShown && document.activeElement === document.body)
      root.current?.querySelector<HTMLElement>(selector)?.focus();
  }, [isShown, selector]);
  return root;
}
