import { beforeAll, describe, expect, it } from 'vitest';
import type { PlainDate } from '../../src/core/values/dates.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  accountNow,
  dataOf,
  newAccount,
  newCustomer,
  pay,
  setToday,
  useService,
} from '../support/harness.ts';
import type { Answer } from '../support/http.ts';
import { useQueuedJobs } from '../support/queued-jobs.ts';

const DAY = '2026-11-02' as PlainDate;
const service = useService();
const runQueue = useQueuedJobs(service);

beforeAll(() => setToday(service, DAY));

type Data = Answer['body'];

const PATH = '/plan-changes/bulk-deferrals';

let regions = 0;

/** Opens accounts of customers in a new region. @returns the filter that selects them, and their ids. */
async function region(count: number, fields: object = {}) {
  regions += 1;
  const metadata = { region: `region ${regions}` };
  const ids: number[] = [];
  for (let i = 0; i < count; i++) {
    const { id: customerId } = await newCustomer(service, { metadata });
    ids.push((await newAccount(service, { customerId, ...fields })).id);
  }
  return { filter: { customerMetadata: metadata }, ids };
}

const DEFERRAL = { from: '2026-11-09', periods: 4, reason: 'The harvest was lost' };

const now = (id: number): Promise<Data> => dataOf(service.call('GET', `${PATH}/${id}`));

/** The preview of a deferral. */
async function preview(filter: object, fields: object = {}): Promise<Data> {
  const { id } = await dataOf(service.call('POST', PATH, { ...DEFERRAL, filter, ...fields }), 201);
  await runQueue();
  return now(id);
}

/** Defers the accounts. */
async function defer(filter: object, fields: object = {}): Promise<Data> {
  const { id } = await preview(filter, fields);
  await dataOf(service.call('POST', `${PATH}/${id}/confirm`));
  await runQueue();
  return now(id);
}

describe('a bulk deferral', () => {
  it('is previewed with its totals, and changes no account before it is confirmed', async () => {
    const { filter, ids } = await region(3);
    const shown = await preview(filter);
    expect(shown).toMatchObject({
      ...{ status: 'draft', allowedMoves: ['running'], filter, ...DEFERRAL, arrears: 'stay', days: null },
      ...{ preparedOn: DAY, selectedCount: 3, deferrableCount: 3, balance: 3 * 22_800, arrearsMoved: 0 },
      counts: { selected: 0, refused: 0, waiting: 3, deferred: 0, skipped: 0 },
      problems: [],
    });
    for (const id of ids) expect(await accountNow(service, id)).toMatchObject({ planVersion: 0 });
  });

  it('defers each of its accounts once', async () => {
    const { filter, ids } = await region(3);
    await pay(service, ids[1] ?? 0, 2_400);
    const done = await defer(filter);
    expect(done).toMatchObject({ status: 'done', counts: { waiting: 0, deferred: 3, skipped: 0 } });
    for (const accountId of ids) {
      expect(await accountNow(service, accountId)).toMatchObject({ planVersion: 1 });
      const [change] = await dataOf(service.call('GET', `/accounts/${accountId}/plan-changes`));
      expect(change).toMatchObject({
        ...{ kind: 'deferral', reason: DEFERRAL.reason, bulkDeferralId: done.id, actor: 'admin@example.com' },
      });
    }
    await expectBooksToBalance(service.context);
  });
});
