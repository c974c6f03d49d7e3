import { t } from '../i18n/index.ts';

/** The dialogs with typed text. */
const unsaved = new Set<symbol>();

/** The state of a guard: an entry of the history that `guardHistory` has added above an entry of the same page. */
interface Guard {
  /** The address of the entry below the guard. */
  below: string;
  /** The address of the guard, which a page can replace, for example when it closes a dialog. */
  address: string;
}

/** The guard that is the current entry of the history. */
let guard: Guard | undefined;
readEntry(); // The page may have been reloaded on a guard.

addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault();
});
// wouter reports its own changes of the history by these two events.
addEventListener('pushState', readEntry);
addEventListener('replaceState', () => {
  // The entry below is still of the same page, so Back must still leave both.
  if (!guard) return;
  guard = { ...guard, address: location.href };
  History.prototype.replaceState.call(history, guard, '', location.href);
});
addEventListener('popstate', () => {
  const left = guard;
  readEntry();
  // Any other move leads to another page, or to another guard.
  if (!left || guard || location.href !== left.below) return;
  if (unsaved.size > 0 && !mayDiscard()) return guardHistory();
  unsaved.clear();
  // The entry below the guard is the same page. Forward leads there, as the page was last.
  History.prototype.replaceState.call(history, null, '', left.address);
  history.back();
});

export function hasUnsaved(): boolean {
  return unsaved.size > 0;
}

/** Makes the browser ask before typed text is lost. @returns a function that ends this. */
export function markUnsaved(): () => void {
  const key = Symbol();
  if (unsaved.size === 0) guardHistory();
  unsaved.add(key);
  return () => unsaved.delete(key);
}

/** Asks whether typed text may be lost. */
export function mayDiscard(): boolean {
  return confirm(t('dialog.discard'));
}

/** Adds an entry for the same page, so that Back leads there first. */
function guardHistory(): void {
  if (guard) return;
  guard = { below: location.href, address: location.href };
  History.prototype.pushState.call(history, guard, '', location.href);
}

function readEntry(): void {
  const state = history.state as Guard | null;
  guard = state && 'below' in state ? state : undefined;
}
