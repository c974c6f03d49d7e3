import { useEffect, useRef, useState } from 'react';
import { t } from '../i18n/index.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icons.tsx';

interface Toast {
  text: string;
  tone?: 'good' | 'bad';
  /** An action, such as undo. Set `seconds` to the time for which the action is possible. */
  action?: { label: string; run(): void };
  /** Default: 5. */
  seconds?: number;
}

let show: ((toast: Toast) => void) | undefined;

/** Shows a message for some seconds, in place of the previous message. */
export function toast(message: Toast): void {
  show?.(message);
}

/** Shows the messages in a popover, so that they lie on top of an open dialog. */
export function Toasts() {
  const box = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<Toast>();
  useEffect(() => {
    show = (next) => setCurrent({ ...next });
    return () => {
      show = undefined;
    };
  }, []);
  useEffect(() => {
    const popover = box.current;
    if (!current || !popover) return;
    popover.hidePopover(); // Showing the popover again puts it on top of a dialog that was opened later.
    popover.showPopover();
    const timer = setTimeout(() => setCurrent(undefined), 1000 * (current.seconds ?? 5));
    return () => {
      clearTimeout(timer);
      popover.hidePopover();
    };
  }, [current]);
  return (
    <div ref={box} popover="manual" className={`toast ${current?.tone ?? 'good'}`} role="status">
      {current && (
        <>
          <Icon name={current.tone === 'bad' ? 'warning' : 'check'} />
          <span>{current.text}</span>
          {current.action && (
            <button
              type="button"
              className="link"
              onClick={() => {
                current.action?.run();
                setCurrent(undefined);
              }}
            >
              {current.action.label}
            </button>
          )}
          <IconButton icon="close" label={t('action.close')} onClick={() => setCurrent(undefined)} />
        </>
      )}
    </div>
  );
}
