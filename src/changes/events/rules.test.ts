import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from './catalogue-schema.ts';
import {
  advance,
  checkTypeFilters,
  type Horizon,
  NO_HORIZON,
  readTypes,
  type Sample,
  typesOf,
} from './rules.ts';

function horizonAfter(...samples: (Omit<Sample, 'server'> & { server?: string })[]): Horizon {
  return samples.reduce<Horizon>(
    (horizon, sample) => advance(horizon, { server: 'a', ...sample }),
    NO_HORIZON,
  );
}

describe('advance', () => {
  it('moves the horizon to the last id if no transaction writes', () => {
    expect(horizonAfter({ lastId: 7, writers: [] }).id).toBe(7);
  });

  it('keeps the horizon before an id whose transaction still runs', () => {
    expect(horizonAfter({ lastId: 5, writers: [] }, { lastId: 7, writers: ['a'] }).id).toBe(5);
  });

  it('moves the horizon to an id when all transactions of its sample have ended, even if later transactions run', () => {
    const first = { lastId: 7, writers: ['a', 'b'] };
    expect(horizonAfter(first, { lastId: 9, writers: ['b', 'c'] }).id).toBe(0);
    expect(horizonAfter(first, { lastId: 9, writers: ['b', 'c'] }, { lastId: 9, writers: ['c'] }).id).toBe(7);
    expect(horizonAfter(first, { lastId: 9, writers: ['c'] }, { lastId: 12, writers: ['d'] }).id).toBe(9);
  });

  it('drops the marks up to the horizon', () => {
    const { marks } = horizonAfter(
      { lastId: 7, writers: ['a'] },
      { lastId: 8, writers: ['a', 'b'] },
      { lastId: 9, writers: ['b'] },
    );
    expect(marks.map(({ id }) => id)).toEqual([8, 9]);
  });

  it('never moves the horizon back', () => {
    expect(horizonAfter({ lastId: 7, writers: [] }, { lastId: 7, writers: ['a'] }).id).toBe(7);
  });
});

describe('advance after another server has become the primary', () => {
  it('waits for the transaction that took the same id a second time', () => {
    const before = { lastId: 7, writers: ['lost'] };
    const again = { server: 'b', lastId: 7, writers: ['new'] };
    expect(horizonAfter(before, again).id).toBe(0);
    expect(horizonAfter(before, again, { server: 'b', lastId: 7, writers: [] }).id).toBe(7);
  });

  it('moves the horizon back if the new primary has lower ids', () => {
    expect(horizonAfter({ lastId: 9, writers: [] }, { server: 'b', lastId: 7, writers: [] }).id).toBe(7);
  });
});

describe('readTypes', () => {
  it('returns undefined without a filter', () => {
    expect(readTypes(undefined)).toBeUndefined();
  });

  it('returns the types with the name or the prefix, each once', () => {
    const types = readTypes('account.opened, account.*,customer.created');
    expect(types).toContain('account.completed');
    expect(types).toContain('customer.created');
    expect(types?.filter((type) => type === 'account.opened')).toHaveLength(1);
    expect(types).not.toContain('customer.updated');
  });

  it('reads * as all types', () => {
    expect(readTypes('*')).toEqual(EVENT_TYPES);
  });

  it.each(['account', 'account.nothing', 'nothing.*', ''])('refuses %o', (filter) => {
    expect(() => readTypes(filter)).toThrow(`types: "${filter}" is not an event type; allowed: `);
  });

  it('names the types of the subject, or the subjects, in the error', () => {
    expect(() => readTypes('kyc.done')).toThrow('allowed: kyc.submitted, kyc.decided, kyc.*');
    expect(() => readTypes('paymnet.received')).toThrow(/allowed: payment\.\*, /);
  });
});

describe('a filter of types', () => {
  const ofSubject = (subject: string) => EVENT_TYPES.filter((type) => type.startsWith(`${subject}.`));

  it.each([
    [['payment.received'], ['payment.received']],
    [['payment.*'], ofSubject('payment')],
    [
      ['account.opened', 'payment.*', 'payment.reversed'],
      [...ofSubject('payment'), 'account.opened'],
    ],
    [['*'], EVENT_TYPES],
    [['payment.lost'], []],
  ])('matches the types that it names, and all types of a subject that it names: %j', (filters, types) => {
    expect(typesOf(filters)).toEqual(types);
  });

  it.each(['payments.*', 'account.closed'])('is refused if it matches no type: %s', (useless) => {
    expect(() => checkTypeFilters(['payment.*', useless, '*'])).toThrow(`types: "${useless}" is not`);
  });
});
