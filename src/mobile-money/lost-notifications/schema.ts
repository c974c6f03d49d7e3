import { Type } from 'typebox';
import type { BalanceGapState } from '../../core/database/tables.ts';
import { Choice, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';

const Pull = Type.Object(
  {
    shortCode: Type.String(),
    completeUntil: Nullable({
      ...Timestamp,
      description:
        'Up to this time, every payment in the provider’s list is recorded. Null before the first pull.',
    }),
    succeededAt: Nullable(Timestamp),
    failure: Nullable(
      Type.String({ description: 'Why the last pull failed. The service tries the pull again.' }),
    ),
    foundCount: Type.Integer({
      description: 'The number of payments that were found only by asking the provider.',
    }),
    lostPeriod: Nullable(
      Type.Object(
        { from: Timestamp, until: Timestamp },
        {
          title: 'LostPeriod',
          description:
            'The latest period that was never pulled, and that the provider no longer lists. Upload the statement of this period.',
        },
      ),
    ),
    incompletePeriods: Type.Array(
      Type.Object(
        { from: Timestamp, until: Timestamp, reason: Type.String() },
        { title: 'IncompletePeriod' },
      ),
      {
        description:
          'The latest periods whose list was still incomplete after 6 hours of repeated pulls, newest first. Upload the statements of these periods.',
      },
    ),
  },
  { title: 'PullState' },
);

const ProviderStatus = Type.Object(
  {
    provider: Type.String(),
    lastHeardAt: Nullable({ ...Timestamp, description: 'When the provider last posted a notification.' }),
    silentSince: Nullable({
      ...Timestamp,
      description:
        'The time of the last notification before a silence that is longer than usual. Null if the provider is not silent.',
    }),
    openBalanceGaps: Type.Integer({
      description: 'The number of gaps in the running balance that nothing explains yet.',
    }),
    pulls: Type.Array(Pull, { description: 'One for each short code whose payments the service asks for.' }),
  },
  {
    title: 'ProviderStatus',
  },
);

export const ProviderStatuses = Type.Array(ProviderStatus, {
  examples: [
    [
      {
        provider: 'mobilemoney',
        lastHeardAt: '2026-11-02T08:15:30.000Z',
        silentSince: null,
        openBalanceGaps: 0,
        pulls: [
          {
            shortCode: '600638',
            completeUntil: '2026-11-02T08:10:00.000Z',
            succeededAt: '2026-11-02T08:10:02.000Z',
            failure: null,
            foundCount: 3,
            lostPeriod: null,
            incompletePeriods: [],
          },
        ],
      },
    ],
  ],
});

const GAP_STATES = ['open', 'payments_found', 'money_left'] as const satisfies BalanceGapState[];

export const BalanceGap = Type.Object(
  {
    id: Id,
    provider: Type.String(),
    shortCode: Type.String(),
    state: Choice('BalanceGapState', GAP_STATES, {
      description:
        'open: not explained. payments_found: payments of the period explain the whole difference. money_left: money left the short code, for example by a withdrawal or a charge.',
    }),
    from: { ...Timestamp, description: 'The time of the last payment before the gap.' },
    until: { ...Timestamp, description: 'The time of the first payment after the gap.' },
    difference: {
      ...Money,
      description:
        'The change of the balance that no notification explains. Negative if the balance fell. In units of the currency.',
    },
    explained: {
      ...Money,
      description:
        'The sum of the payments of the period whose notification was lost or came late. In units of the currency.',
    },
    createdAt: Timestamp,
    explainedAt: Nullable(Timestamp),
  },
  {
    title: 'BalanceGap',
    examples: [
      {
        id: 1,
        provider: 'mobilemoney',
        shortCode: '600638',
        state: 'payments_found',
        from: '2026-11-02T08:15:30.000Z',
        until: '2026-11-02T08:17:02.000Z',
        difference: 800,
        explained: 800,
        createdAt: '2026-11-02T08:28:00.000Z',
        explainedAt: '2026-11-02T08:29:00.000Z',
      },
    ],
  },
);

export const balanceGapList = defineList(
  {
    id: { kind: 'id', column: 'g.id' },
    provider: { kind: 'text', column: 'g.provider' },
    shortCode: { kind: 'text', column: 'g.short_code' },
    state: { kind: 'enum', column: 'g.state', values: GAP_STATES },
    from: { kind: 'timestamp', column: 'g.from_time' },
    until: { kind: 'timestamp', column: 'g.until_time' },
    difference: { kind: 'money', column: 'g.difference_minor' },
    createdAt: { kind: 'timestamp', column: 'g.created_at' },
    explainedAt: { kind: 'timestamp', column: 'g.explained_at', nullable: true },
  },
  {},
);
