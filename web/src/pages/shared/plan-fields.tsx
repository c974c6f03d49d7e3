import '../../ui/plans.css';
import { useLayoutEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/paths.ts';
import { format, t, tValue } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField, type FormValues, SelectField, TextField, useForgetProblems } from '../../ui/form.tsx';
import { GroupField } from '../../ui/group-field.tsx';

export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;
type Frequency = (typeof FREQUENCIES)[number];

const MONTHS = Array.from({ length: 12 }, (_, at) => at + 1);
const MOST_HARVEST_DAYS = 12;
/** 100 % in basis points. */
const WHOLE = 10_000;

/** The time between instalments. Most plans need only the frequency. */
export function RhythmFields({ initial = '' }: { initial?: Frequency | '' }) {
  const [frequency, setFrequency] = useState<string>(initial);
  const [isOwn, setIsOwn] = useState(false);
  const known = FREQUENCIES.find((one) => one === frequency);
  return (
    <>
      <SelectField
        label={t('field.frequency')}
        name="frequency"
        value={frequency}
        onChange={({ target }) => setFrequency(target.value)}
        required
      >
        <option value="" disabled hidden />
        {FREQUENCIES.map((one) => (
          <option key={one} value={one}>
            {tValue('frequency', one)}
          </option>
        ))}
      </SelectField>
      {known && (
        <CheckField
          label={t('planField.rhythm')}
          name="hasOwnRhythm"
          checked={isOwn}
          onChange={({ target }) => setIsOwn(target.checked)}
        />
      )}
      {known && isOwn && (
        <>
          <TextField
            label={t(`planField.every.${known}`)}
            name="every"
            type="number"
            min={1}
            max={365}
            defaultValue={1}
            required
          />
          <GroupField label={t('field.monthsWithoutDues')} name="monthsWithoutDues" className="checks months">
            {MONTHS.map((month) => (
              <CheckField
                key={month}
                label={format.monthName(month)}
                name="monthsWithoutDues"
                value={month}
              />
            ))}
          </GroupField>
        </>
      )}
    </>
  );
}

/** The values of `RhythmFields`. */
export function readRhythm(values: FormValues) {
  return {
    frequency: values.text('frequency') as Frequency,
    ...(values.isChecked('hasOwnRhythm') && {
      every: values.number('every'),
      monthsWithoutDues: values.all('monthsWithoutDues').map(Number),
    }),
  };
}

/** A harvest day of the form. Its key is never used again, so its fields keep their values when another day is removed. */
interface HarvestDay {
  key: number;
  /** In per cent, as it was typed. */
  share: string;
}

/** The fields of a harvest plan. `read` returns undefined if the shares are not 100 % together, and `fields` then say so. */
export function useHarvest() {
  const [days, setDays] = useState<HarvestDay[]>([{ key: 0, share: '' }]);
  const [wrongSum, setWrongSum] = useState<number>();
  const change = (next: HarvestDay[]) => {
    setWrongSum(undefined);
    setDays(next);
  };
  return {
    fields: <HarvestFields days={days} onChange={change} wrongSum={wrongSum} />,
    read(values: FormValues): Schemas['NewHarvest'] | undefined {
      const sum = sumOf(days);
      setWrongSum(sum === WHOLE ? undefined : sum);
      return sum === WHOLE ? readHarvest(values, days.length) : undefined;
    },
  };
}

interface HarvestFieldsProps {
  days: HarvestDay[];
  onChange(days: HarvestDay[]): void;
  /** The sum of the shares when the form was sent, if it was not 100 %. */
  wrongSum: number | undefined;
}

function HarvestFields({ days, onChange, wrongSum }: HarvestFieldsProps) {
  const forget = useForgetProblems();
  const list = useRef<HTMLDivElement>(null);
  const shownCount = useRef(days.length);
  // A new day gets the focus. The button that removes a day disappears with the day, so the last one gets it.
  useLayoutEffect(() => {
    if (shownCount.current === days.length) return;
    shownCount.current = days.length;
    list.current?.querySelector<HTMLElement>(':scope > :last-child select')?.focus();
  }, [days.length]);
  return (
    <>
      <GroupField
        label={t('field.harvest.entries')}
        name="harvest.entries"
        hint={<span role="status">{t('planField.harvest.sum', { sum: format.rate(sumOf(days)) })}</span>}
        problem={
          wrongSum === undefined
            ? undefined
            : t('planField.harvest.wrongSum', { whole: format.rate(WHOLE), sum: format.rate(wrongSum) })
        }
      >
        <div ref={list} className="form-fields">
          {days.map(({ key, share }, at) => (
            <HarvestDayFields
              key={key}
              at={at}
              share={share}
              onShare={(typed) =>
                onChange(days.map((day) => (day.key === key ? { key, share: typed } : day)))
              }
              onRemove={
                days.length > 1
                  ? () => {
                      forget('harvest.entries'); // The later days move to the places of others.
                      onChange(days.filter((day) => day.key !== key));
                    }
                  : undefined
              }
            />
          ))}
        </div>
        {days.length < MOST_HARVEST_DAYS && (
          <Button
            icon="plus"
            onClick={() =>
              onChange([...days, { key: Math.max(...days.map(({ key }) => key)) + 1, share: '' }])
            }
          >
            {t('planField.harvest.add')}
          </Button>
        )}
      </GroupField>
      <TextField
        label={t('planField.harvest.cycles')}
        name="harvest.cycles"
        type="number"
        min={1}
        max={20}
        required
      />
      <TextField
        label={t('planField.harvest.lead')}
        name="harvest.leadDays"
        type="number"
        min={0}
        max={365}
        defaultValue={0}
        hint={t('planField.harvest.lead.hint')}
        required
      />
    </>
  );
}

interface HarvestDayProps {
  /** The place in the list of days. */
  at: number;
  share: string;
  onShare(typed: string): void;
  /** Undefined for the only day. */
  onRemove: (() => void) | undefined;
}

function HarvestDayFields({ at, share, onShare, onRemove }: HarvestDayProps) {
  const number = at + 1;
  const path = `harvest.entries[${at}]`;
  return (
    <fieldset className="harvest-day">
      <legend className="muted">{t('planField.harvest.item', { number })}</legend>
      <SelectField label={t('planField.harvest.month')} name={`${path}.month`} defaultValue="" required>
        <option value="" disabled hidden />
        {MONTHS.map((month) => (
          <option key={month} value={month}>
            {format.monthName(month)}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t('planField.harvest.day')}
        name={`${path}.day`}
        type="number"
        min={1}
        max={31}
        required
      />
      <TextField
        label={t('planField.harvest.share')}
        name={`${path}.shareBasisPoints`}
        type="number"
        inputMode="decimal"
        min="0.01"
        max="100"
        step="0.01"
        value={share}
        onChange={({ target }) => onShare(target.value)}
        required
      />
      {onRemove && (
        <Button kind="quiet" onClick={onRemove}>
          {t('planField.harvest.remove', { number })}
        </Button>
      )}
    </fieldset>
  );
}

function basisPoints(percent: string): number {
  return Math.round(Number(percent) * 100);
}

function sumOf(days: readonly HarvestDay[]): number {
  return days.reduce((sum, { share }) => sum + basisPoints(share), 0);
}

function readHarvest(values: FormValues, days: number): Schemas['NewHarvest'] {
  return {
    entries: Array.from({ length: days }, (_, at) => {
      const path = `harvest.entries[${at}]`;
      return {
        month: values.number(`${path}.month`),
        day: values.number(`${path}.day`),
        shareBasisPoints: basisPoints(values.text(`${path}.shareBasisPoints`)),
      };
    }),
    cycles: values.number('harvest.cycles'),
    leadDays: values.number('harvest.leadDays'),
  };
}
