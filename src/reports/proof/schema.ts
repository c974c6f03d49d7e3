import { type Static, Type } from 'typebox';
import { CalendarDate, DateText, Id, Nullable, Timestamp } from '../../core/http/fields.ts';

/** The maximum number of violations that are listed for a check. All violations are counted. */
export const MAX_VIOLATIONS = 100;

export const ProofQuery = Type.Object({
  date: Type.Optional(
    CalendarDate({
      format: 'calendar-date',
      description: 'The business day whose payments are shown. Default: today.',
      examples: ['2026-11-02'],
    }),
  ),
});

const Amount = Nullable(
  Type.Number({
    description:
      'In units of the currency. Null for a damaged amount that is too large for an exact JSON number.',
  }),
);

const Part = Type.Object({ count: Type.Integer(), amount: Amount });

const dayFigures = {
  received: Part,
  matched: Part,
  unmatched: Part,
  reversed: Part,
  refunded: { ...Part, description: 'Credit refunded to customers on this day.' },
  ledger: Type.Object(
    { received: Amount, reversed: Amount, refunded: Amount, net: Amount },
    {
      description: 'The clearing entries with this value date. net = received − reversed − refunded.',
    },
  ),
  holds: Type.Boolean({
    description:
      'Whether received = matched + unmatched + reversed, and the ledger has the same received, reversed and refunded sums.',
  }),
};

const exampleFigures = {
  received: { count: 3, amount: 3600 },
  matched: { count: 3, amount: 3600 },
  unmatched: { count: 0, amount: 0 },
  reversed: { count: 0, amount: 0 },
  refunded: { count: 1, amount: 200 },
  ledger: { received: 3600, reversed: 0, refunded: 200, net: 3400 },
  holds: true,
};

const violationFields = {
  table: Type.String(),
  id: Nullable(
    Type.Integer({ description: 'The id of the row. Null if the violation belongs to a day, not to a row.' }),
  ),
  what: Type.String({ description: 'The name of the wrong value, such as `paid_minor`.' }),
  expected: Type.String({ description: 'Amounts are in minor units.' }),
  found: Type.String(),
  date: Nullable(DateText),
};

export const Proof = Type.Object(
  {
    date: DateText,
    readAt: { ...Timestamp, description: 'The time of the snapshot that all figures come from.' },
    currency: Type.String(),
    holds: Type.Boolean({ description: 'Whether every check passes.' }),
    day: Type.Object({
      ...dayFigures,
      byMethod: Type.Array(Type.Object({ paymentMethodId: Id, paymentMethod: Type.String(), ...dayFigures })),
      violations: Type.Array(Type.Object({ check: Type.String(), ...violationFields }), {
        description: 'The violations of this day.',
      }),
    }),
    checks: Type.Array(
      Type.Object({
        check: Type.String(),
        rule: Type.String(),
        holds: Type.Boolean({ description: 'Whether there is no violation.' }),
        checkedRowCount: Type.Integer({
          description: 'The number of checked rows, such as accounts or payments.',
        }),
        sums: Type.Array(Type.Object({ name: Type.String(), amount: Amount })),
        violationCount: Type.Integer(),
        violations: Type.Array(Type.Object(violationFields), {
          description: `The first ${MAX_VIOLATIONS} violations. Violations with the date of the proof come first.`,
        }),
      }),
    ),
  },
  {
    title: 'Proof',
    examples: [
      {
        date: '2026-11-02',
        readAt: '2026-11-02T09:00:00.000Z',
        currency: 'KES',
        holds: true,
        day: {
          ...exampleFigures,
          byMethod: [{ paymentMethodId: 1, paymentMethod: 'Mobile money', ...exampleFigures }],
          violations: [],
        },
        checks: [
          {
            check: 'transactions_once',
            rule: 'Every provider transaction is posted only once. Its payment names a known provider, and has the transaction id as its reference.',
            holds: true,
            checkedRowCount: 2,
            sums: [{ name: 'received', amount: 3200 }],
            violationCount: 0,
            violations: [],
          },
        ],
      },
    ],
  },
);

export const LastProof = Type.Object(
  {
    last: Nullable(
      Type.Object({
        readAt: { ...Timestamp, description: 'The time of the snapshot that was checked.' },
        checkCount: Type.Integer(),
        violationCount: Type.Integer({ description: 'The number of violations of all checks together.' }),
        failedChecks: Type.Array(Type.String(), { description: 'The names of the checks with violations.' }),
      }),
    ),
    current: Type.Boolean({
      description:
        'Whether `last` is at most 26 hours old. If false, there is no result, the daily check failed, or the service was off.',
    }),
  },
  {
    title: 'LastProof',
    examples: [
      {
        last: { readAt: '2026-11-02T23:00:04.120Z', checkCount: 21, violationCount: 0, failedChecks: [] },
        current: true,
      },
    ],
  },
);
export type LastProof = Static<typeof LastProof>;
