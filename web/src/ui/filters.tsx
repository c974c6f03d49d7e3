import { type ReactNode, useEffect, useId, useRef } from 'react';
import { type Days, daysOf, PERIODS, type Period, periodOf } from '../i18n/days.ts';
import { t } from '../i18n/index.ts';

interface FilterProps {
  label: string;
  /** Empty while the filter is not set. */
  value: string;
  onChange(value: string): void;
}

interface FilterSelectProps extends FilterProps {
  /** The text of the choice that removes the filter. */
  unset: string;
  choices: readonly (readonly [value: string, text: string])[];
}

export function FilterSelect({ label, value, onChange, unset, choices }: FilterSelectProps) {
  const id = useId();
  return (
    <Field id={id} label={label}>
      <select
        id={id}
        className="input"
        data-set={value !== '' || undefined}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      >
        <option value="">{unset}</option>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface FilterInputProps extends FilterProps {
  type: string;
  maxLength?: number | undefined;
}

/** A value that the user types. It is applied when the user leaves the field or presses Enter. */
export function FilterInput({ label, value, onChange, type, maxLength }: FilterInputProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current) input.current.value = value;
  }, [value]);
  const change = ({ value: typed }: HTMLInputElement) => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  return (
    <Field id={id} label={label}>
      <input
        ref={input}
        id={id}
        className="input"
        data-set={value !== '' || undefined}
        type={type}
        maxLength={maxLength}
        defaultValue={value}
        onBlur={({ currentTarget }) => change(currentTarget)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') change(currentTarget);
        }}
      />
    </Field>
  );
}

interface DateRangeProps {
  value: Days;
  today: string;
  onChange(days: Days): void;
}

const OTHER = 'other';

/** Fields for the first and the last day. A select sets both days to those of a period, such as "This month". */
export function DateRange({ value, today, onChange }: DateRangeProps) {
  const isSet = value.from !== '' || value.until !== '';
  const period = isSet ? (periodOf(value, today) ?? OTHER) : '';
  const periods = period === OTHER ? [...PERIODS, OTHER as typeof OTHER] : PERIODS;
  return (
    <div className="list-filter-range">
      <FilterSelect
        label={t('filter.period')}
        value={period}
        unset={t('filter.period.any')}
        choices={periods.map((name) => [name, t(`filter.period.${name}`)])}
        onChange={(name) => {
          if (name === '') onChange({ from: '', until: '' });
          else if (name !== OTHER) onChange(daysOf(name as Period, today));
        }}
      />
      <FilterInput
        label={t('filter.from')}
        type="date"
        value={value.from}
        onChange={(from) => onChange({ ...value, from })}
      />
      <FilterInput
        label={t('filter.until')}
        type="date"
        value={value.until}
        onChange={(until) => onChange({ ...value, until })}
      />
    </div>
  );
}

function Field({ id, label, children }: { id: string; label: string; children: ReactNode }) {
  return (
    <div className="list-filter">
      <label htmlFor={id}>{label}</label>
      {children}
    </div>
  );
}
