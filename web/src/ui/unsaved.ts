import { t } from '../i18n/index.ts';

/** The dialogs with typed text. */
const unsaved = new Set<symbol>();

interface Entry {
  isGuard?: boolean;
}

/** Whether the current entry of the history is one that `guardHistory` has added. */
let isOnGuard = false;
readEntry(); // The page may have been reloaded on a guard.

addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault();
});
// wouter reports its own changes of the history by these two events.
for (const type of ['pushState', 'replaceState']) addEventListener(type, readEntry);
addEventListener('popstate', () => {
  const leftGuard = isOnGuard;
  readEntry();
  if (!leftGuard || isOnGuard) return;
  if (unsaved.size > 0 && !mayDiscard()) return guardHistory();
  unsaved.clear();
  history.back(); // The entry below the guard is the same page.
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
  if (!isOnGuard)
    History.prototype.pushState.call(history, { isGuard: true } satisfies Entry, '', location.href);
  isOnGuard = true;
}

function readEntry(): void {
  isOnGuard = (history.state as Entry | null)?.isGuard === true;
}
