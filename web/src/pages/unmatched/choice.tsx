import type { ReactNode } from 'react';

interface ChoiceProps {
  name: string;
  value: string | number;
  /** The digit key for this choice. Choices from number 10 on have no key. */
  number: number;
  isDisabled?: boolean;
  onChoose?: () => void;
  children: ReactNode;
}

/** One of the numbered choices for a row of the queue. */
export function Choice({ name, value, number, isDisabled = false, onChoose, children }: ChoiceProps) {
  return (
    <label className="choice-row">
      <input type="radio" name={name} value={value} disabled={isDisabled} onChange={onChoose} />
      <kbd>{number < 10 ? number : ''}</kbd>
      {children}
    </label>
  );
}
