import { useCallback, useSyncExternalStore } from 'react';

/** Whether a media query matches. To hide content, use CSS. Use this hook for content that must not be rendered at all. */
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
