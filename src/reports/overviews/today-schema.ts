import { Type } from 'typebox';
import { Account } from '../../accounts/schema.ts';
import { ACCOUNT_STATUSES } from '../../accounts/status/rules.ts';
import { CommissionSummary } from '../../commissions/schema.ts';
import { examplesOf } from '../../core/http/envelope.ts';
import { Choice, DateText, Id, Money, Nullable, Timestamp } from '../../core/http/fields.ts';
import { LastProof } from '../proof/schema.ts';
import { AccountSummary } from '../summary-schema.ts';
import {
  BROKEN_DAYS,
  COMMISSION_MONTHS,
  DAYS_SHOWN,
  DECIDED_DAYS,
  LATE_STATUSES,
  MOST_LATE_ACCOUNTS,
  REJECTED_DAYS,
} from './today-rules.ts';

const UNREADABLE = 'Null if the caller may not read it.';
const Count = Nullable(Type.Integer({ description: UNREADABLE }));

function LateAccounts(description: string) {
  return Type.Object(
    {
      statuses: Type.Array(Choice('AccountStatus', ACCOUNT_STATUSES)),
      total: Type.Integer({ description: 'All late accounts with these statuses.' }),
      accounts: Type.Array(Account),
    },
    { description },
  );
}

export const TodayWork = Type.Object(
  {
    date: DateText,
    unmatchedPayments: Count,
    conflicts: Nullable(
      Type.Integer({ description: `Notifications that contradict a manual payment. ${UNREADABLE}` }),
    ),
    rejectedNotifications: Nullable(
      Type.Object(
        { from: DateText, count: Type.Integer() },
        { description: `Those of the last ${REJECTED_DAYS} days, which begin on \`from\`. ${UNREADABLE}` },
      ),
    ),
    pendingApprovals: Nullable(
      Type.Integer({
        description:
          'Requests for approval on which the caller may decide, so without the caller’s own ones. Null if the caller may decide on none.',
      }),
    ),
    ownDecisions: Nullable(
      Type.Object(
        { from: DateText, count: Type.Integer() },
        {
          description: `Requests of the caller that were approved or rejected, or became obsolete, in the last ${DECIDED_DAYS} days, which begin on \`from\`. ${UNREADABLE}`,
        },
      ),
    ),
    cash: Nullable(
      Type.Object(
        {
          own: Type.Object({
            openCounts: Type.Integer({ description: 'Open cash-ups of the caller.' }),
            toReceive: Type.Integer({ description: 'Hand-overs that wait for the count of the caller.' }),
          }),
          toConfirm: Nullable(
            Type.Integer({
              description: `Opening counts, deposits and settlements that the caller may confirm, so without the caller’s own cash and requests. ${UNREADABLE}`,
            }),
          ),
          all: Nullable(
            Type.Object(
              {
                openCounts: Type.Integer(),
                deposits: Type.Integer({
                  description: 'Deposits at the bank that finance has not confirmed.',
                }),
                settlements: Type.Integer({ description: 'Settlements that wait for a second person.' }),
              },
              { description: UNREADABLE },
            ),
          ),
        },
        { description: 'Null if cash counts are off, or if the caller may not count cash.' },
      ),
    ),
    callsDue: Nullable(
      Type.Integer({
        description: `Late accounts whose next call, or the day after whose promise, has come. ${UNREADABLE}`,
      }),
    ),
    ownCallsDue: Nullable(
      Type.Integer({
        description: `Those of callsDue that are assigned to the caller. ${UNREADABLE}`,
      }),
    ),
    brokenPromises: Nullable(
      Type.Object(
        { from: DateText, count: Type.Integer() },
        {
          description: `Promises judged as broken, with dates in the last ${BROKEN_DAYS} days, which begin on \`from\`. ${UNREADABLE}`,
        },
      ),
    ),
    failingWebhookEndpoints: Count,
    providers: Nullable(
      Type.Array(
        Type.Object({
          provider: Type.String(),
          lastHeardAt: Timestamp,
          isSilent: Type.Boolean({
            description:
              'Whether the provider may be unable to reach the service: it has sent nothing for 24 hours, or for longer than usual.',
          }),
        }),
        { description: `The providers that have sent a notification. ${UNREADABLE}` },
      ),
    ),
    proof: Nullable(LastProof),
    lateAccounts: LateAccounts(
      `The ${MOST_LATE_ACCOUNTS} accounts that have been late for the longest time, with their customers if the caller may read them.`,
    ),
    own: Nullable(
      Type.Object(
        {
          employeeId: Id,
          lateAccounts: LateAccounts('As `lateAccounts`, but only accounts that the employee sold.'),
          commissions: Type.Array(
            Type.Object(
              {
                period: Type.String({ example: '2026-11' }),
                commission: Nullable(CommissionSummary),
                unclaimed: Type.Object(
                  {
                    count: Type.Integer(),
                    expected: { ...Money, description: 'What these sales would earn by the present rules.' },
                  },
                  { description: 'The sales of the month of which no commission has the whole share.' },
                ),
              },
              { title: 'CommissionOfSeller' },
            ),
            {
              description: `The last ${COMMISSION_MONTHS} months, the present one first. A month has no \`commission\` until it is calculated.`,
            },
          ),
        },
        {
          title: 'WorkOfSeller',
          description: 'The work of the caller’s employee. Null if the caller has no `employeeId`.',
        },
      ),
    ),
  },
  {
    title: 'TodayWork',
    examples: [
      {
        date: '2026-11-02',
        unmatchedPayments: 3,
        conflicts: 0,
        rejectedNotifications: { from: '2026-10-27', count: 0 },
        pendingApprovals: 1,
        ownDecisions: { from: '2026-10-27', count: 0 },
        cash: {
          own: { openCounts: 0, toReceive: 0 },
          toConfirm: 1,
          all: { openCounts: 1, deposits: 1, settlements: 0 },
        },
        callsDue: 4,
        ownCallsDue: 1,
        brokenPromises: { from: '2026-10-27', count: 2 },
        failingWebhookEndpoints: 0,
        providers: [{ provider: 'mobilemoney', lastHeardAt: '2026-11-02T08:15:30.000Z', isSilent: false }],
        proof: examplesOf(LastProof)[0],
        lateAccounts: { statuses: LATE_STATUSES, total: 0, accounts: [] },
        own: {
          employeeId: 1,
          lateAccounts: { statuses: LATE_STATUSES, total: 0, accounts: [] },
          commissions: [
            { period: '2026-11', commission: null, unclaimed: { count: 2, expected: 2280 } },
            {
              period: '2026-10',
              commission: examplesOf(CommissionSummary)[0],
              unclaimed: { count: 0, expected: 0 },
            },
          ],
        },
      },
    ],
  },
);

const Days = { startDate: DateText, endDate: DateText };
const Received = Type.Number({
  description:
    'Payments dated on these days, without those reversed later, before refunds. In units of the currency.',
});
const { collectionRate, par30 } = AccountSummary.properties;

const MoneyOfDays = Type.Object(
  {
    ...Days,
    received: Received,
    refunded: Money,
    collectionRate,
    before: Type.Object(
      { ...Days, received: Received },
      { description: 'The same days of the week before.' },
    ),
  },
  { title: 'MoneyOfDays', description: 'The money of today, or of the week from Monday to today.' },
);

export const TodayMoney = Type.Object(
  {
    currency: Type.String(),
    day: MoneyOfDays,
    week: MoneyOfDays,
    days: Type.Array(Type.Object({ date: DateText, received: Received }), {
      description: `The last ${DAYS_SHOWN} days, of which today is the last.`,
    }),
    outstanding: AccountSummary.properties.outstanding,
    arrears: AccountSummary.properties.arrears,
    par30,
  },
  {
    title: 'TodayMoney',
    examples: [
      {
        currency: 'KES',
        day: exampleOf('2026-11-02', '2026-10-26', 2400),
        week: exampleOf('2026-11-02', '2026-10-26', 2400),
        days: [
          { date: '2026-10-27', received: 0 },
          { date: '2026-10-28', received: 400 },
          { date: '2026-10-29', received: 0 },
          { date: '2026-10-30', received: 800 },
          { date: '2026-10-31', received: 0 },
          { date: '2026-11-01', received: 0 },
          { date: '2026-11-02', received: 2400 },
        ],
        outstanding: 19200,
        arrears: 0,
        par30: exampleRatio(0, 19200, 0),
      },
    ],
  },
);

function exampleOf(day: string, before: string, received: number) {
  return {
    startDate: day,
    endDate: day,
    received,
    refunded: 0,
    collectionRate: exampleRatio(400, 400, 1),
    before: { startDate: before, endDate: before, received: 1200 },
  };
}

function exampleRatio(numerator: number, denominator: number, ratio: number) {
  return { numerator, denominator, ratio, asOf: '2026-11-02', count: 1, accountsUrl: null };
}
