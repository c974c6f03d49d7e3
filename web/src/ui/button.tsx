import type { ComponentProps, ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface ButtonProps extends Omit<ComponentProps<'button'>, 'className'> {
  /** A page or a dialog has at most one primary button. */
  kind?: 'primary' | 'secondary' | 'danger' | 'quiet';
  icon?: IconName;
  /** True while the action of the button runs. The button then ignores clicks. */
  isBusy?: boolean;
}

export function Button({
  kind = 'secondary',
  icon,
  isBusy = false,
  type = 'button',
  onClick,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className={`button ${kind}`}
      aria-disabled={isBusy || undefined}
      data-busy={isBusy || undefined}
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'className' | 'children'> {
  icon: IconName;
  label: string;
}

export function IconButton({ icon, label, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} className="icon-button" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

/** Buttons in a row, on several lines if the page is narrow. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className="actions">{children}</div>;
}
