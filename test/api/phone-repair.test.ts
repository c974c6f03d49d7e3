import { sql } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { today } from '../../src/core/context.ts';
import { addDays } from '../../src/core/values/dates.ts';
import { phoneSha256 } from '../../src/core/values/phone.ts';
import { searchText } from '../../src/customers/search-text-rules.ts';
import { repairPhones } from '../../src/payments/phone-repair/repair-phones.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  dataOf,
  newAccount,
  newCustomer,
  notify,
  setToday,
  useService,
  whileHolding,
} from '../support/harness.ts';

// Phones that earlier versions stored with the 0 of the national number after the country code.

const service = useService();
beforeAll(() => setToday(service, '2026-11-30'));

let numbers = 0;
/** The nine digits of a new mobile number. */
function newNumber(): string {
  numbers += 1;
  return `722${String(numbers).padStart(6, '0')}`;
}

/** Stores a phone as an earlier version did. */
async function store(id: number, phone: string) {
  const customer = await dataOf(service.call('GET', `/customers/${id}`));
  await sql`
    update customers set phone = ${phone}, phone_sha256 = ${phoneSha256(phone)},
      search_text = ${searchText({ ...customer, phone })} where id = ${id}`.execute(service.context.db);
}

/** A customer with the stored phone, and an account. */
async function holderOf(phone: string, fields: Record<string, unknown> = {}) {
  const customer = await newCustomer(service, fields);
  const account = await newAccount(service, { customerId: customer.id });
  await store(customer.id, phone);
  return { customer, account };
}

const newDay = () => setToday(service, addDays(today(service.context), 1));

/** Runs the job as on a later day. */
function repair(): Promise<number> {
  newDay();
  return repairNow();
}

function repairNow(signal = new AbortController().signal): Promise<number> {
  return repairPhones(service.context, signal, service.parts.log);
}

const customerNow = (id: number) => dataOf(service.call('GET', `/customers/${id}`));
const auditOf = (resource: string, id: number) =>
  dataOf(
    service.call(
      'GET',
      `/audit?filter[resource]=${resource}&filter[resourceId]=${id}&filter[action][ne]=${resource}.create`,
    ),
  );
const idsWith = async (problem: string): Promise<number[]> => {
  const found = await dataOf(service.call('GET', `/customers?filter[phoneProblem]=${problem}&limit=100`));
  return found.map(({ id }: { id: number }) => id);
};

/** Expects that the job has left the customer as it was, and lists it with the reason. */
async function expectListed(customer: { id: number }, phone: string, problem: string) {
  const before = await customerNow(customer.id);
  await repair();
  await repair();
  expect(await customerNow(customer.id)).toEqual({ ...before, phone, phoneProblem: problem });
  expect(await auditOf('customer', customer.id)).toEqual([]);
  expect(await idsWith(problem)).toContain(customer.id);
}

describe('a stored phone with a 0 after the country code', () => {
  it('is repaired with its audit entry, event, hash and search text, so that its payments match', async () => {
    const number = newNumber();
    const { customer, account } = await holderOf(`+2540${number}`, {
      externalId: 'CRM-77',
      metadata: { a: 'b' },
    });
    expect((await notify(service, { BillRefNumber: '', MSISDN: `254${number}` })).body.data.outcome).toBe(
      'unmatched',
    );
    const before = await customerNow(customer.id);
    await repair();
    expect(await customerNow(customer.id)).toEqual({
      ...before,
      phone: `+254${number}`,
      updatedAt: expect.any(String),
    });
    expect(await auditOf('customer', customer.id)).toMatchObject([
      {
        action: 'customer.change',
        actor: 'system',
        before: { phone: `+2540${number}` },
        after: { phone: `+254${number}` },
      },
    ]);
    const { rows: published } = await sql`
      select data from events where type = 'customer.updated' and resource_id = ${customer.id}`.execute(
      service.context.db,
    );
    expect(published).toEqual([{ data: { changedFields: ['phone'] } }]);
    for (const search of [`0${number}`, `254${number}`, number])
      expect(await dataOf(service.call('GET', `/customers?search=${search}`)), search).toMatchObject([
        { id: customer.id },
      ]);
    const { outcome, paymentId } = (await notify(service, { BillRefNumber: '', MSISDN: `254${number}` })).body
      .data;
    expect(outcome).toBe('matched');
    expect(await dataOf(service.call('GET', `/payments/${paymentId}`))).toMatchObject({
      accountId: account.id,
    });
    await expectBooksToBalance(service.context);
  });

  it('of a customer with two accounts is repaired, and a payment without a reference still waits for staff', async () => {
    const number = newNumber();
    const { customer } = await holderOf(`+2540${number}`);
    const second = await newAccount(service, { customerId: customer.id });
    await repair();
    expect(await customerNow(customer.id)).toMatchObject({ phone: `+254${number}`, phoneProblem: null });
    const sent = { MSISDN: `254${number}` };
    expect((await notify(service, { ...sent, BillRefNumber: '' })).body.data.outcome).toBe('unmatched');
    const { paymentId } = (await notify(service, { ...sent, BillRefNumber: String(second.id) })).body.data;
    expect((await dataOf(service.call('GET', `/payments/${paymentId}`))).accountId).toBe(second.id);
  });

  it('of an employee is repaired with its audit entry', async () => {
    const employee = await dataOf(
      service.call('POST', '/employees', { name: 'E', phone: '0733000001' }),
      201,
    );
    await sql`update employees set phone = '+2540733000001' where id = ${employee.id}`.execute(
      service.context.db,
    );
    await repair();
    expect(await dataOf(service.call('GET', `/employees/${employee.id}`))).toMatchObject({
      phone: '+254733000001',
    });
    expect(await auditOf('employee', employee.id)).toMatchObject([
      { actor: 'system', before: { phone: '+2540733000001' }, after: { phone: '+254733000001' } },
    ]);
  });

  it('is repaired once: a second run changes nothing', async () => {
    const { customer } = await holderOf(`+2540${newNumber()}`);
    await repair();
    const [repaired, audit] = [await customerNow(customer.id), await auditOf('customer', customer.id)];
    await repair();
    expect([await customerNow(customer.id), await auditOf('customer', customer.id)]).toEqual([
      repaired,
      audit,
    ]);
  });

  it('of a customer with an external id that an earlier version stored twice is repaired', async () => {
    const externalId = `TWICE-${newNumber()}`;
    const number = newNumber();
    const { customer } = await holderOf(`+2540${number}`, { externalId });
    const twin = await newCustomer(service);
    await service.context.db.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`update customers set external_id = ${`'${externalId}`} where id = ${twin.id}`.execute(tx);
    });
    await repair();
    expect(await customerNow(customer.id)).toMatchObject({ phone: `+254${number}`, phoneProblem: null });
  });
});

describe('a phone stays as it is, and is listed', () => {
  it.each(['+25471234567', '+2547123456789', '+254071234567', '+25407123456789', '+25400712345678'])(
    'as invalid if a digit is too many or missing: %s',
    async (phone) => {
      const { customer } = await holderOf(phone);
      await expectListed(customer, phone, 'invalid');
    },
  );

  it('if the corrected phone is that of another customer, until that customer has another phone', async () => {
    const number = newNumber();
    const { customer, account } = await holderOf(`+2540${number}`);
    const owner = await newCustomer(service, { phone: `+254${number}` });
    const ownAccount = await newAccount(service, { customerId: owner.id });
    await expectListed(customer, `+2540${number}`, 'other_customer');
    const { paymentId } = (await notify(service, { BillRefNumber: '', MSISDN: `254${number}` })).body.data;
    expect((await dataOf(service.call('GET', `/payments/${paymentId}`))).accountId).toBe(ownAccount.id);
    await dataOf(service.call('PUT', `/customers/${owner.id}`, { phone: `0${newNumber()}` }));
    await repair();
    expect(await customerNow(customer.id)).toMatchObject({ phone: `+254${number}`, phoneProblem: null });
    const next = (await notify(service, { BillRefNumber: '', MSISDN: `254${number}` })).body.data;
    expect((await dataOf(service.call('GET', `/payments/${next.paymentId}`))).accountId).toBe(account.id);
  });

  it('if two customers would get the same phone', async () => {
    const number = newNumber();
    const { customer: one } = await holderOf(`+2540${number}`);
    const { customer: two } = await holderOf(`+2540${number}`);
    await expectListed(one, `+2540${number}`, 'other_customer');
    await expectListed(two, `+2540${number}`, 'other_customer');
  });

  it('if staff have assigned payments of the corrected phone to another customer', async () => {
    const number = newNumber();
    const { customer } = await holderOf(`+2540${number}`);
    const { id: accountId } = await newAccount(service);
    const { paymentId } = (await notify(service, { BillRefNumber: 'for my aunt', MSISDN: `254${number}` }))
      .body.data;
    await dataOf(service.call('POST', `/payments/${paymentId}/assign`, { accountId }));
    await expectListed(customer, `+2540${number}`, 'other_account');
  });

  it('if a reference that is now the national id of another customer would have two meanings', async () => {
    const number = newNumber();
    const { customer } = await holderOf(`+2540${number}`);
    const named = await newCustomer(service, { nationalId: `0${number}` });
    const account = await newAccount(service, { customerId: named.id });
    await expectListed(customer, `+2540${number}`, 'other_account');
    const { paymentId } = (await notify(service, { BillRefNumber: `0${number}`, MSISDN: `254${number}` }))
      .body.data;
    expect((await dataOf(service.call('GET', `/payments/${paymentId}`))).accountId).toBe(account.id);
  });

  it('until staff correct it, in this version or an earlier one', async () => {
    const { customer: byThis } = await holderOf('+25471234561');
    const { customer: byEarlier } = await holderOf('+25471234562');
    await repair();
    await dataOf(
      service.call('PUT', `/customers/${byThis.id}`, { phone: '+25471234561', firstName: 'Other' }),
    );
    expect((await customerNow(byThis.id)).phoneProblem).toBe('invalid');
    await dataOf(service.call('PUT', `/customers/${byThis.id}`, { phone: `0${newNumber()}` }));
    expect((await customerNow(byThis.id)).phoneProblem).toBeNull();
    await store(byEarlier.id, `+254${newNumber()}`);
    await repair();
    expect((await customerNow(byEarlier.id)).phoneProblem).toBeNull();
  });
});

describe('the repair of many phones', () => {
  /** More than one batch repairs. */
  const MANY = 120;

  async function storeMany() {
    const rows = Array.from({ length: MANY }, () => `+2540${newNumber()}`);
    const { rows: inserted } = await sql<{ id: number }>`
      insert into customers (first_name, last_name, phone, phone_sha256, search_text)
      select 'Old', 'Row', phone, sha256(convert_to(replace(phone, '+', ''), 'UTF8')), phone
      from unnest(${rows}::text[]) as r (phone) returning id`.execute(service.context.db);
    return inserted.map(({ id }) => id);
  }

  const countWrong = async (ids: number[]) => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from customers
      where id = any(${ids}::bigint[]) and phone like '+2540%'`.execute(service.context.db);
    return rows[0]?.count;
  };
  const countAudits = async (ids: number[]) => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from audit_entries
      where resource = 'customer' and resource_id = any(${ids}::bigint[])`.execute(service.context.db);
    return rows[0]?.count;
  };

  it('continues after an interruption, and repairs each phone once', async () => {
    await repair();
    const ids = await storeMany();
    newDay();
    const controller = new AbortController();
    const first = repairNow(controller.signal);
    controller.abort(); // after the first batch
    const done = await first;
    expect(done).toBeGreaterThan(0);
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([MANY - done, done]);
    newDay(); // The next day continues the same pass.
    await repairNow();
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([0, MANY]);
  });

  /** Runs the work while a trigger refuses each update that meets the condition. */
  async function whileRefusing(table: string, condition: string, work: () => Promise<void>) {
    const { db } = service.context;
    await sql
      .raw(`
      create function fail_for_a_test() returns trigger language plpgsql as $$ begin raise exception 'broken for a test'; end $$;
      create trigger fail_for_a_test before update on ${table} for each row when (${condition})
        execute function fail_for_a_test()`)
      .execute(db);
    try {
      await work();
    } finally {
      await sql.raw('drop function fail_for_a_test cascade').execute(db);
    }
  }

  it('undoes a batch that fails, and repairs it in the next run', async () => {
    await repair();
    const ids = await storeMany();
    newDay();
    await whileRefusing('phone_repair', `new.last_customer_id >= ${ids[MANY - 5]}`, async () => {
      await expect(repairNow()).rejects.toThrow('broken for a test');
      const left = (await countWrong(ids)) ?? 0;
      expect([left > 0, left < MANY, await countAudits(ids)]).toEqual([true, true, MANY - left]);
    });
    await repairNow();
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([0, MANY]);
  });

  it('logs and leaves a phone whose repair fails, repairs the others, and tries it again on the next day', async () => {
    await repair();
    const ids = await storeMany();
    const broken = ids[MANY - 5] ?? 0;
    const employee = await dataOf(
      service.call('POST', '/employees', { name: 'E', phone: '0733000002' }),
      201,
    );
    const phoneOf = async (path: string) => (await dataOf(service.call('GET', path))).phone;
    await sql`update employees set phone = '+2540733000002' where id = ${employee.id}`.execute(
      service.context.db,
    );
    const logged = vi.spyOn(service.parts.log, 'error');
    onTestFinished(() => logged.mockRestore());
    newDay();
    await whileRefusing('customers', `old.id = ${broken}`, async () => {
      await repairNow();
      await repairNow(); // Nothing is left to do on this day.
    });
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([1, MANY - 1]);
    expect(await phoneOf(`/customers/${broken}`)).toMatch(/^\+2540/);
    expect(await phoneOf(`/employees/${employee.id}`)).toBe('+254733000002');
    expect(logged.mock.calls).toEqual([
      [
        { err: expect.objectContaining({ message: 'broken for a test' }), resource: 'customer', id: broken },
        'A stored phone could not be repaired.',
      ],
    ]);
    await repair();
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([0, MANY]);
  });

  it('is done once by two instances, and one does not wait for the other', async () => {
    await repair();
    const ids = await storeMany();
    newDay();
    await whileHolding(service, 'select from phone_repair for update', async () =>
      expect(await repairNow()).toBe(0),
    );
    const done = await Promise.all([repairNow(), repairNow(), repairNow()]);
    expect(done.reduce((sum, count) => sum + count, 0)).toBe(MANY);
    expect([await countWrong(ids), await countAudits(ids)]).toEqual([0, MANY]);
  });

  it('waits for no customer that a request has locked', async () => {
    await repair();
    const ids = await storeMany();
    newDay();
    const lock = `select from customers where id = ${ids[3]} for update`;
    await whileHolding(service, lock, async () => {
      await repairNow();
      expect([await countWrong(ids), await countWrong([ids[3] ?? 0])]).toEqual([1, 1]);
    });
    await repair();
    expect(await countWrong(ids)).toBe(0);
  });
});
