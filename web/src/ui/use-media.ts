import { useCallback, useSyncExternalStore } from 'react';

/** Whether a media query matches. Use it only if CSS cannot decide, such as for content that a phone must not have at all. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const list = matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}
