import { type Static, Type } from 'typebox';
import { ExpandedAccountOrCustomer, expandAccountOrCustomer } from '../../accounts/schema.ts';
import {
  AmountAboveZero,
  Choice,
  DateText,
  EntryDate,
  Id,
  Money,
  Nullable,
  Timestamp,
} from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { JUDGED_STATES, PROMISE_STATES } from './rules.ts';

export const NewPromise = Type.Object({ amount: AmountAboveZero, date: EntryDate }, { title: 'NewPromise' });
export type NewPromise = Static<typeof NewPromise>;

const officerFields = { userId: Id, officer: Type.String({ description: 'The name of the user.' }) };

export const CustomerPromise = Type.Object(
  {
    id: Id,
    callId: Id,
    accountId: Id,
    accountNumber: Type.String(),
    amount: Money,
    madeOn: DateText,
    date: Type.String({
      format: 'calendar-date',
      description: 'The last day on which the customer can keep the promise.',
    }),
    state: Choice('PromiseState', PROMISE_STATES, {
      description:
        'Derived from the money of the account, as known now. `open` until the end of the date. `kept`: the whole amount came, or the account was paid off. `partly_kept`: a part of it came. `void`: the account was cancelled, written off or repossessed by then, or the call was saved by mistake. `replaced`: the customer made another promise in time. A promise that replaced another one, and was replaced, is `broken`. If the whole amount had come before, it is `kept`. An account has at most one open promise.',
    }),
    collected: Type.Number({
      description:
        'The money that counts for the promise: with a value date from the day of the promise to its date, and not recorded before it. In units of the currency.',
    }),
    replacesId: Nullable(Type.Integer({ description: 'The promise that this one replaced.' })),
    ...officerFields,
    createdAt: Timestamp,
    ...ExpandedAccountOrCustomer,
  },
  {
    title: 'CustomerPromise',
    examples: [
      {
        id: 1,
        callId: 1,
        accountId: 1,
        accountNumber: 'ACC10000012',
        amount: 800,
        madeOn: '2026-11-02',
        date: '2026-11-06',
        state: 'open',
        collected: 400,
        replacesId: null,
        userId: 4,
        officer: 'Daudi Mwangi',
        createdAt: '2026-11-02T08:15:30.000Z',
      },
    ],
  },
);

export const promiseList = defineList(
  {
    id: { kind: 'id', column: 'p.id' },
    accountId: { kind: 'id', column: 'p.account_id' },
    userId: { kind: 'id', column: 'p.created_by' },
    amount: { kind: 'money', column: 'p.amount_minor' },
    madeOn: { kind: 'date', column: 'p.made_on' },
    date: { kind: 'date', column: 'p.due_on' },
    state: { kind: 'enum', values: PROMISE_STATES },
    lastJudgement: { kind: 'enum', column: 'p.judged_state', nullable: true, values: JUDGED_STATES },
    createdAt: { kind: 'timestamp', column: 'p.created_at' },
  },
  { expand: expandAccountOrCustomer },
);
