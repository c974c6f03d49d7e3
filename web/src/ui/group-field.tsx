import type { ReactNode } from 'react';
import { useProblemOf } from './form.tsx';

interface GroupProps {
  label: string;
  /** The name of the list in the request body. */
  name: string;
  className?: string;
  hint?: ReactNode;
  /** What is wrong with the list as a whole, if the form itself has found it. */
  problem?: string | undefined;
  children: ReactNode;
}

/** Controls for a list. Shows the problem of the whole list below them. */
export function GroupField({ label, name, className = 'form-fields', hint, problem, children }: GroupProps) {
  const known = useProblemOf(name);
  const error = problem ?? known;
  return (
    <fieldset className={className} name={name}>
      <legend>{label}</legend>
      {children}
      {hint && <div className="field-hint">{hint}</div>}
      {error && (
        <p className="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
