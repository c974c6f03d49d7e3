interface Bar {
  label: string;
  value: number;
  /** The formatted value. */
  text: string;
}

const HEIGHT = 100;

/** A bar for each value, with its text and label below it. Screen readers read only the texts and labels. */
export function Bars({ bars }: { bars: readonly Bar[] }) {
  const highest = Math.max(...bars.map(({ value }) => value), 1);
  return (
    <ol className="bars">
      {bars.map(({ label, value, text }) => {
        const height = (Math.max(0, value) / highest) * HEIGHT;
        return (
          <li key={label}>
            <svg viewBox={`0 0 10 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
              <rect x="1" width="8" y={HEIGHT - height} height={height} />
            </svg>
            <span className="bar-value">{text}</span>
            <span className="bar-label muted">{label}</span>
          </li>
        );
      })}
    </ol>
  );
}
