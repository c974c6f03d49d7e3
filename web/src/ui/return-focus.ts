/**
 * Call before a dialog opens.
 *
 * @returns a function that moves the focus back after the dialog was closed: to the element that opened it, or, if the change has
 *   removed this element, to the heading of the closest part of the page that is left.
 */
export function rememberFocus(): () => void {
  const opener = openerOf(document.activeElement);
  const parts: HTMLElement[] = [];
  for (let at = opener?.closest<HTMLElement>(PARTS); at; at = at.parentElement?.closest<HTMLElement>(PARTS))
    parts.push(at);

  function moveFocus() {
    if (opener instanceof HTMLElement && opener !== document.body) opener.focus();
    if (opener !== document.body && document.activeElement === opener) return;
    const part = parts.find((one) => one.checkVisibility()) ?? document.querySelector<HTMLElement>('main');
    const place = part?.querySelector<HTMLElement>('h1, h2') ?? part;
    place?.setAttribute('tabindex', '-1');
    place?.focus({ preventScroll: true });
  }

  return () => {
    moveFocus();
    // The new data of the page can arrive after the dialog was closed, and remove the opener only then.
    const observer = new MutationObserver(() => {
      if (opener?.isConnected) return;
      stop();
      if (document.activeElement === document.body) moveFocus();
    });
    const stop = () => {
      observer.disconnect();
      removeEventListener('pointerdown', stop);
      removeEventListener('keydown', stop);
    };
    observer.observe(document.body, { childList: true, subtree: true });
    addEventListener('pointerdown', stop);
    addEventListener('keydown', stop);
  };
}

/** For an item of a menu, the button of the menu, because the menu is closed afterwards. */
function openerOf(focused: Element | null): Element | null {
  const menu = focused?.closest('[popover]');
  return menu ? document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`) : focused;
}

const PARTS = 'dialog, section, main';
