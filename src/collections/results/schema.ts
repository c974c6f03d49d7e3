import { Type } from 'typebox';
import { DateText, EntryDate, Id, Money } from '../../core/http/fields.ts';
import { COLLECTED_DAYS, MAX_WEEKS } from './rules.ts';

export const ResultsQuery = Type.Object({
  from: Type.Optional({
    ...EntryDate,
    description: 'A day of the first week. Default: three weeks before the last.',
    examples: ['2026-11-02'],
  }),
  to: Type.Optional({
    ...EntryDate,
    description: `A day of the last week. Default: today. At most ${MAX_WEEKS} weeks.`,
    examples: ['2026-11-02'],
  }),
});

const Share = (description: string) =>
  Type.Object(
    {
      numerator: Type.Number(),
      denominator: Type.Number(),
      ratio: Type.Union([Type.Number(), Type.Null()]),
    },
    { description },
  );

const OfficerWeek = Type.Object(
  {
    userId: Id,
    officer: Type.String(),
    week: Type.String({ description: 'The ISO week, such as 2026-W45.' }),
    monday: DateText,
    calls: Type.Integer({ description: 'Calls and visits of the week, without those saved by mistake.' }),
    contacts: Type.Integer(),
    promises: Type.Integer({
      description: 'Promises whose date is in the week. Void promises are not counted.',
    }),
    kept: Type.Integer(),
    partlyKept: Type.Integer(),
    broken: Type.Integer(),
    keptShare: Share(
      'The kept ones of the kept, partly kept and broken promises, without payments that the officer recorded, assigned or corrected.',
    ),
    keptValueShare: Share(
      'The promised money that came, of the money of the kept, partly kept and broken promises, without payments that the officer recorded, assigned or corrected. In units of the currency.',
    ),
    collected: {
      ...Money,
      description: `The payments dated in the week, for accounts of which the officer had the latest contact, at most ${COLLECTED_DAYS} days before. Each payment counts once. In units of the currency.`,
    },
  },
  { title: 'OfficerWeek' },
);

export const OfficerResults = Type.Object(
  {
    from: DateText,
    until: DateText,
    currency: Type.String(),
    rows: Type.Array(OfficerWeek),
  },
  {
    title: 'OfficerResults',
    examples: [
      {
        from: '2026-11-02',
        until: '2026-11-08',
        currency: 'KES',
        rows: [
          {
            userId: 4,
            officer: 'Daudi Mwangi',
            week: '2026-W45',
            monday: '2026-11-02',
            calls: 120,
            contacts: 64,
            promises: 30,
            kept: 18,
            partlyKept: 4,
            broken: 8,
            keptShare: { numerator: 18, denominator: 30, ratio: 0.6 },
            keptValueShare: { numerator: 15200, denominator: 24000, ratio: 0.6333 },
            collected: 17600,
          },
        ],
      },
    ],
  },
);
