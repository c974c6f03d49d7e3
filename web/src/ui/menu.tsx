import { type ReactNode, useId, useRef } from 'react';
import { Icon } from './icons.tsx';

interface MenuProps {
  /** The name of the button for screen readers, and its tooltip. */
  label: string;
  button: ReactNode;
  buttonClass?: string;
  children: ReactNode;
}

/** A button with a popover of links and buttons. The popover closes when one of them is used. */
export function Menu({ label, button, buttonClass = 'icon-button', children }: MenuProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  return (
    <>
      <button
        ref={opener}
        type="button"
        className={buttonClass}
        aria-label={label}
        title={label}
        popoverTarget={id}
      >
        {button}
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: The items are the controls. */}
      <div
        ref={box}
        id={id}
        popover="auto"
        className="menu"
        onBeforeToggle={() => place(box.current, opener.current)}
        onClick={(event) => {
          if ((event.target as Element).closest('a, button')) box.current?.hidePopover();
        }}
      >
        {children}
      </div>
    </>
  );
}

interface MoreActionsProps {
  label: string;
  actions: readonly { label: string; onChoose(): void }[];
}

/** A menu with further actions, beside the main actions of a page. */
export function MoreActions({ label, actions }: MoreActionsProps) {
  return (
    <Menu label={label} button={<Icon name="more" />} buttonClass="button secondary square">
      {actions.map((action) => (
        <button key={action.label} type="button" className="menu-item" onClick={action.onChoose}>
          {action.label}
        </button>
      ))}
    </Menu>
  );
}

/** Places the box below the button. Their right edges are aligned if the button is in the right half of the page. */
function place(box: HTMLElement | null, opener: HTMLElement | null): void {
  if (!box || !opener) return;
  const { bottom, left, right } = opener.getBoundingClientRect();
  const isOnRight = (left + right) / 2 > innerWidth / 2;
  box.style.top = `${bottom + 6}px`;
  box.style.left = isOnRight ? 'auto' : `${left}px`;
  box.style.right = isOnRight ? `${document.documentElement.clientWidth - right}px` : 'auto';
}
