import { useEffect, useId, useRef, useState } from 'react';
import { format, t } from '../../i18n/index.ts';
import { type Column, Table } from '../../ui/table.tsx';
import type { MonthRates } from './summary.ts';

const SERIES = ['collectionRate', 'repaymentRate', 'par30'] as const;
type Series = (typeof SERIES)[number];

const HEIGHT = 220;
const MARGIN = { top: 10, bottom: 26, start: 44, end: 14 };
const STEPS = 4;
const NARROW = 560;

/**
 * A line for each rate. The slider below the chart chooses the month whose rates the legend shows. The table shows the rates of all
 * months.
 */
export function TrendChart({ months }: { months: readonly MonthRates[] }) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [chosen, setChosen] = useState<number>();
  const last = months.length - 1;
  const at = Math.min(chosen ?? last, last);
  const month = months[at];
  const top = topOf(months);
  const x = (index: number) =>
    MARGIN.start + (last === 0 ? 0.5 : index / last) * (width - MARGIN.start - MARGIN.end);
  const y = (rate: number) => HEIGHT - MARGIN.bottom - (rate / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const isLabelled = (index: number) => width >= NARROW || (last - index) % 3 === 0;
  if (!month) return null;
  return (
    <figure className="trend">
      <ul className="legend">
        {SERIES.map((series) => (
          <li key={series}>
            <svg className={`trend-key ${series}`} aria-hidden="true" viewBox="0 0 24 8">
              <path d="M0 4H24" />
            </svg>
            {`${t(`portfolio.${series}`)}: `}
            <strong>{showRate(month[series])}</strong>
          </li>
        ))}
        <li className="trend-month">{format.month(month.month, 'long')}</li>
      </ul>
      <div ref={box} className="trend-plot">
        <svg
          width={width}
          height={HEIGHT}
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-labelledby={`${id}-title ${id}-text`}
        >
          <title id={`${id}-title`}>{t('portfolio.trend')}</title>
          <desc id={`${id}-text`}>{t('portfolio.trend.describe')}</desc>
          {Array.from({ length: STEPS + 1 }, (_, step) => (top * step) / STEPS).map((rate) => (
            <g key={rate}>
              <line
                className="trend-grid"
                x1={MARGIN.start}
                x2={width - MARGIN.end}
                y1={y(rate)}
                y2={y(rate)}
              />
              <text x={MARGIN.start - 8} y={y(rate) + 4} textAnchor="end">
                {format.percent(rate)}
              </text>
            </g>
          ))}
          {months.map(({ month }, index) =>
            isLabelled(index) ? (
              <text
                key={month}
                x={x(index)}
                y={HEIGHT - 6}
                textAnchor={index === last && last > 0 ? 'end' : 'middle'}
              >
                {format.month(month, 'short')}
              </text>
            ) : null,
          )}
          <line className="trend-cursor" x1={x(at)} x2={x(at)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
          {SERIES.map((series) => (
            <g key={series} className={`trend-line ${series}`}>
              <path d={pathOf(months, series, x, y)} />
              {month[series] !== null && <circle cx={x(at)} cy={y(month[series])} r="4" />}
            </g>
          ))}
          {months.map(({ month }, index) => (
            // Only for the pointer. Keyboard users choose the month with the slider.
            <rect
              key={month}
              className="trend-target"
              x={x(index) - (width / months.length) * 0.5}
              width={width / months.length}
              y="0"
              height={HEIGHT}
              onPointerEnter={() => setChosen(index)}
            />
          ))}
        </svg>
      </div>
      <input
        className="trend-slider"
        type="range"
        min="0"
        max={last}
        value={at}
        aria-label={t('portfolio.trend.month')}
        aria-valuetext={`${format.month(month.month, 'long')}: ${SERIES.map((series) => `${t(`portfolio.${series}`)} ${showRate(month[series])}`).join(', ')}`}
        onChange={(event) => setChosen(Number(event.target.value))}
      />
      <details>
        <summary>{t('portfolio.trend.table')}</summary>
        <Table
          caption={t('portfolio.trend')}
          columns={columns()}
          rows={months.toReversed()}
          keyOf={(row) => row.month}
        />
      </details>
    </figure>
  );
}

const columns = (): Column<MonthRates>[] => [
  { name: 'month', label: t('portfolio.trend.month'), show: (row) => format.month(row.month, 'long') },
  ...SERIES.map((series) => ({
    name: series,
    label: t(`portfolio.${series}`),
    isNumber: true,
    show: (row: MonthRates) => showRate(row[series]),
  })),
];

/**
 * The top of the scale: 100 %, or more in steps of 20 %. A collection rate can be above 100 %, because it includes arrears and
 * prepayments.
 */
function topOf(months: readonly MonthRates[]): number {
  const highest = Math.max(1, ...months.flatMap((month) => SERIES.map((series) => month[series] ?? 0)));
  return Math.ceil(highest * 5) / 5;
}

/** A month without a rate interrupts the line. */
function pathOf(
  months: readonly MonthRates[],
  series: Series,
  x: (index: number) => number,
  y: (rate: number) => number,
): string {
  return months
    .map((month, index) => {
      const rate = month[series];
      if (rate === null) return '';
      const isStart = index === 0 || months[index - 1]?.[series] === null;
      return `${isStart ? 'M' : 'L'}${x(index).toFixed(1)} ${y(rate).toFixed(1)}`;
    })
    .join('');
}

function showRate(rate: number | null): string {
  return rate === null ? t('portfolio.none') : format.percent(rate);
}

function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(NARROW);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
