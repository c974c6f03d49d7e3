// Icons of 20 × 20 units. The style sheet draws their lines in the colour of the text.
const PATHS = {
  search: 'M9 3.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11ZM13.2 13.2L17 17',
  home: 'M3.5 9L10 3.5L16.5 9V16a.8.8 0 0 1-.8.8H12.5V12H7.5V16.8H4.3A.8.8 0 0 1 3.5 16Z',
  inbox: 'M3 11.5L5 4.5H15L17 11.5V15.5H3ZM3 11.5H7L8 13.5H12L13 11.5H17',
  chart: 'M3.5 16.5H16.5M6 13.5V9.5M10 13.5V4.5M14 13.5V7.5',
  people:
    'M7.5 9.5a3 3 0 1 0 0-6a3 3 0 0 0 0 6ZM2.5 16.5c0-3 2-5 5-5s5 2 5 5M13 4a2.8 2.8 0 0 1 0 5.2M14.5 11.8c1.9.6 3 2.3 3 4.7',
  file: 'M5 2.5H11.5L15.5 6.5V17.5H5ZM11.5 2.5V6.5H15.5',
  plus: 'M10 4V16M4 10H16',
  menu: 'M3.5 5.5H16.5M3.5 10H16.5M3.5 14.5H16.5',
  close: 'M5 5L15 15M15 5L5 15',
  check: 'M4.5 10.5L8.5 14.5L15.5 6',
  chevron: 'M6 8L10 12L14 8',
  left: 'M12 5L7 10L12 15',
  right: 'M8 5L13 10L8 15',
  more: 'M4.5 9.5h1v1h-1ZM9.5 9.5h1v1h-1ZM14.5 9.5h1v1h-1Z',
  copy: 'M7 7H16.5V16.5H7ZM13 7V3.5H3.5V13H7',
  warning: 'M10 3L17.5 16.5H2.5ZM10 8V12M10 14.2v.1',
  info: 'M10 2.8a7.2 7.2 0 1 1 0 14.4a7.2 7.2 0 0 1 0-14.4ZM10 9V13.5M10 6.3v.1',
  filter: 'M3 5H17M5.5 10H14.5M8 15H12',
  download: 'M10 3.5V12.5M6 9L10 13L14 9M4 16.5H16',
  upload: 'M10 13V3.8M6 7.5L10 3.5L14 7.5M4 16.5H16',
  bank: 'M2.8 8L10 3.5L17.2 8ZM5 8V14M8.4 8V14M11.6 8V14M15 8V14M3 16.8H17',
  user: 'M10 10a3.3 3.3 0 1 0 0-6.6a3.3 3.3 0 0 0 0 6.6ZM3.8 17c0-3.3 2.6-5.3 6.2-5.3s6.2 2 6.2 5.3',
  money: 'M2.5 5.5H17.5V14.5H2.5ZM10 7.7a2.3 2.3 0 1 1 0 4.6a2.3 2.3 0 0 1 0-4.6ZM5 10h.01M15 10h.01',
  sun: 'M10 6.5a3.5 3.5 0 1 1 0 7a3.5 3.5 0 0 1 0-7ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1',
  box: 'M10 2.8L16.8 6.3V13.7L10 17.2L3.2 13.7V6.3ZM3.2 6.3L10 9.8L16.8 6.3M10 9.8V17.2',
  calendar: 'M3.5 5H16.5V16.5H3.5ZM3.5 8.5H16.5M7 3V6M13 3V6',
  card: 'M2.5 5H17.5V15.5H2.5ZM2.5 8.5H17.5M5.5 12.5H8.5',
  wallet: 'M3 5.5H15V8M3 5.5V15.5H17V8H3M13.5 11.8h.01',
  phone: 'M6 3L8.6 6.6L7.2 8.7C8 10.8 9.2 12 11.3 12.8L13.4 11.4L17 14V16.2C10.2 17.6 2.4 9.8 3.8 3Z',
  percent:
    'M5 15L15 5M6.2 8a1.8 1.8 0 1 0 0-3.6a1.8 1.8 0 0 0 0 3.6ZM13.8 15.6a1.8 1.8 0 1 0 0-3.6a1.8 1.8 0 0 0 0 3.6Z',
  badge: 'M4 3.5H16V16.5H4ZM10 10a2 2 0 1 0 0-4a2 2 0 0 0 0 4ZM7 14c.3-1.6 1.4-2.4 3-2.4s2.7.8 3 2.4',
  key: 'M6.3 6.6a3.4 3.4 0 1 1 0 6.8a3.4 3.4 0 0 1 0-6.8ZM9.7 10H17.5V13M14 10V12.5',
  link: 'M8.5 11.5L11.5 8.5M9.5 6L11.5 4A3.2 3.2 0 0 1 16 8.5L14 10.5M10.5 14L8.5 16A3.2 3.2 0 0 1 4 11.5L6 9.5',
  change: 'M3.5 7.5H16L12.8 4.3M16.5 12.5H4L7.2 15.7',
  clock: 'M10 2.8a7.2 7.2 0 1 1 0 14.4a7.2 7.2 0 0 1 0-14.4ZM10 6V10L13 12',
} as const;

export type IconName = keyof typeof PATHS;

/** Screen readers ignore the icon, because its control has a name. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
