import { describe, expect, it } from 'vitest';
import { today } from '../../src/core/context.ts';
import { expectBooksToBalance } from '../support/books.ts';
import {
  dataOf,
  newAccount,
  newCustomer,
  notify,
  PASSWORD,
  useService,
  wrongFields,
} from '../support/harness.ts';

const service = useService();

describe('products', () => {
  const product = {
    sku: 'NEW-1',
    name: 'New pump',
    category: 'pump',
    price: 0.5,
    description: 'Line\nbreaks stay',
  };

  it('are added, changed and listed by category and active', async () => {
    const created = await service.call('POST', '/products', product);
    expect(created.status, created.text).toBe(201);
    expect(created.body.data).toMatchObject({ ...product, currency: 'KES', active: true });
    const { id } = created.body.data;
    const changed = await service.call('PUT', `/products/${id}`, { active: false, price: 12.5 });
    expect(changed.body.data).toMatchObject({ ...product, price: 12.5, active: false });
    const listed = await service.call('GET', '/products?category=pump&active=false');
    expect(listed.body.data.map((row: { id: number }) => row.id)).toEqual([id]);
    expect((await service.call('GET', '/products?category=nothing')).body.data).toEqual([]);
    expect((await service.call('GET', '/products?active=yes')).status).toBe(400);
  });

  it('have the currency of the books', async () => {
    const foreign = await service.call('POST', '/products', { ...product, sku: 'NEW-2', currency: 'USD' });
    expect(foreign.body.error.details.fields[0].path).toBe('currency');
  });

  it('have configurations with one default', async () => {
    const own = { sku: 'PUMP-CONFIGURED', name: 'Pump', category: 'pump', price: 98_000 };
    const { id } = (await service.call('POST', '/products', own)).body.data;
    const path = `/products/${id}/configurations`;
    const configuration = {
      name: 'Deep well',
      attributes: { head: 40, cable: true },
      price: 99000,
      isDefault: true,
    };
    const first = await service.call('POST', path, configuration);
    expect(first.status, first.text).toBe(201);
    expect(first.body.data).toMatchObject({ ...configuration, productId: id });
    await service.call('POST', path, { name: 'Shallow well', isDefault: true });
    const list = await service.call('GET', `${path}?sort=id:asc`);
    expect(list.body.data).toMatchObject([
      { name: 'Deep well', isDefault: false },
      { name: 'Shallow well', isDefault: true, price: null },
    ]);
    expect((await service.call('POST', '/products/999/configurations', configuration)).status).toBe(404);
  });
});

describe('pay plans', () => {
  const plan = {
    name: 'Own plan',
    productId: 1,
    deposit: 0,
    instalmentAmount: 10.05,
    instalmentCount: 3,
    frequency: 'monthly',
    graceDays: 2,
  };

  it('do not change the terms of open accounts', async () => {
    const created = await service.call('POST', '/payplans', plan);
    expect(created.status, created.text).toBe(201);
    expect(created.body.data).toMatchObject({ ...plan, autoSuspend: false, active: true });
    const { id } = created.body.data;
    const account = await newAccount(service, { payplanId: id });
    expect(account).toMatchObject({ total: 30.15, deposit: 0, instalmentAmount: 10.05, graceDays: 2 });
    const terms = await service.call('PUT', `/payplans/${id}`, { instalmentAmount: 5 });
    expect(terms.status).toBe(400);
    const renamed = await service.call('PUT', `/payplans/${id}`, {
      name: 'Old plan',
      active: false,
      autoSuspend: true,
    });
    expect(renamed.body.data).toMatchObject({ name: 'Old plan', active: false, autoSuspend: true });
    const customer = await newCustomer(service);
    const late = await service.call('POST', '/accounts', {
      customerId: customer.id,
      productId: 1,
      payplanId: id,
    });
    expect(late.body.error.details.fields[0].path).toBe('payplanId');
  });

  it('are refused for a product that they are not for', async () => {
    const { id } = (await service.call('POST', '/payplans', { ...plan, name: 'For product 2', productId: 2 }))
      .body.data;
    const customer = await newCustomer(service);
    const answer = await service.call('POST', '/accounts', {
      customerId: customer.id,
      productId: 1,
      payplanId: id,
    });
    expect(answer.status).toBe(400);
    expect(
      (await service.call('POST', '/payplans', { ...plan, name: 'x', productId: 999 })).body.error.details,
    ).toMatchObject({
      resource: 'product',
      field: 'productId',
    });
  });

  it.each(['daily', 'weekly', 'monthly'])(
    'have the dates of the schedule that a %s account gets',
    async (frequency) => {
      const activationDate = '2027-01-31'; // Months differ in length, so a date of the wrong rule is noticed.
      const body = { ...plan, name: `Dates, ${frequency}`, deposit: 5, frequency };
      const created = (await service.call('POST', '/payplans', body)).body.data;
      expect(created.total).toBe(35.15);
      expect(created.dates.activationDate).toBe(today(service.context));
      const account = await newAccount(service, { payplanId: created.id, activationDate });
      expect(account.total).toBe(created.total);
      const { items } = (await service.call('GET', `/accounts/${account.id}/schedule`)).body.data;
      const dates = {
        activationDate,
        firstInstalment: items[1].dueDate,
        lastInstalment: items.at(-1).dueDate,
      };
      const query = `activationDate=${activationDate}`;
      expect((await service.call('GET', `/payplans/${created.id}?${query}`)).body.data.dates).toEqual(dates);
      const listed = await service.call('GET', `/payplans?filter[id]=${created.id}&${query}`);
      expect(listed.body.data[0].dates).toEqual(dates);
    },
  );

  it('are refused above the largest amount', async () => {
    const huge = { ...plan, name: 'Huge', instalmentAmount: 999_999_999_999.99, instalmentCount: 2 };
    expect((await service.call('POST', '/payplans', huge)).status).toBe(400);
  });
});

describe('a pay plan with a price', () => {
  const plan = { deposit: 100, price: 1_000, frequency: 'monthly' };
  let number = 0;
  const create = (fields: object) => {
    number += 1;
    return service.call('POST', '/payplans', { ...plan, name: `Price ${number}`, ...fields });
  };
  const scheduleOf = async (payplanId: number, activationDate: string) => {
    const { id, ...account } = await newAccount(service, { payplanId, activationDate });
    const { items } = (await service.call('GET', `/accounts/${id}/schedule`)).body.data;
    const dues = items.map((item: { dueDate: string; amount: number }) => `${item.dueDate} ${item.amount}`);
    return { account, dues };
  };

  it('gives equal instalments rounded up, of which the last takes the rest', async () => {
    const { status, body, text } = await create({ instalmentCount: 4, roundingUnit: 50 });
    expect(status, text).toBe(201);
    expect(body.data).toMatchObject({
      ...{ price: 1_000, total: 1_000, instalmentCount: 4, roundingUnit: 50, dueCount: 4 },
      ...{ instalmentAmount: 250, lastInstalmentAmount: 150, hasEqualInstalments: false },
    });
    const { account, dues } = await scheduleOf(body.data.id, '2026-08-31');
    expect(dues).toEqual([
      '2026-08-31 100',
      '2026-09-30 250',
      '2026-10-31 250',
      '2026-11-30 250',
      '2026-12-31 150',
    ]);
    expect(account).toMatchObject({
      ...{ total: 1_000, instalmentAmount: 250, instalmentCount: 4, hasEqualInstalments: false },
    });
    await expectBooksToBalance(service.context);
  });

  it('has fewer instalments than asked for if rounding makes them larger', async () => {
    const { body } = await create({ instalmentCount: 7, roundingUnit: 300 });
    expect(body.data).toMatchObject({ instalmentCount: 7, dueCount: 3, instalmentAmount: 300 });
    const { account, dues } = await scheduleOf(body.data.id, '2026-01-01');
    expect(dues).toEqual(['2026-01-01 100', '2026-02-01 300', '2026-03-01 300', '2026-04-01 300']);
    // Equal instalments after all, so the account is an ordinary one.
    expect(account).toMatchObject({ instalmentCount: 3, hasEqualInstalments: true });
  });

  it('takes an instalment instead of their number', async () => {
    const { body } = await create({ instalmentAmount: 350 });
    expect(body.data).toMatchObject({
      instalmentAmount: 350,
      instalmentCount: 3,
      dueCount: 3,
      roundingUnit: 1,
    });
    expect((await scheduleOf(body.data.id, '2026-01-31')).dues).toEqual([
      '2026-01-31 100',
      '2026-02-28 350',
      '2026-03-31 350',
      '2026-04-30 200',
    ]);
  });

  it('shows its only instalment, which takes the rest', async () => {
    const { body } = await create({ instalmentCount: 1, roundingUnit: 400 });
    expect(body.data).toMatchObject({
      dueCount: 1,
      instalmentAmount: 900,
      lastInstalmentAmount: 900,
      total: 1_000,
    });
  });

  it('has instalments every few weeks, and none in months without dues', async () => {
    const body = { instalmentCount: 5, frequency: 'weekly', every: 2, monthsWithoutDues: [5, 4] };
    const created = (await create(body)).body.data;
    expect(created).toMatchObject({ every: 2, monthsWithoutDues: [4, 5], hasEqualInstalments: false });
    const { account, dues } = await scheduleOf(created.id, '2026-03-01');
    expect(dues).toEqual([
      '2026-03-01 100',
      '2026-03-15 180',
      '2026-03-29 180',
      '2026-06-07 180',
      '2026-06-21 180',
      '2026-07-05 180',
    ]);
    expect(account.total).toBe(1_000);
    const path = `/payplans/${created.id}?activationDate=2026-03-01`;
    expect((await service.call('GET', path)).body.data.dates).toEqual({
      ...{ activationDate: '2026-03-01', firstInstalment: '2026-03-15', lastInstalment: '2026-07-05' },
    });
    const [listed] = (await service.call('GET', `/payplans?filter[id]=${created.id}`)).body.data;
    expect(listed.monthsWithoutDues).toEqual([4, 5]);
  });

  it.each<[object, string, RegExp]>([
    [{ price: undefined }, 'instalmentAmount', /is required for a plan without a price/],
    [{ instalmentCount: undefined }, 'instalmentCount', /or give instalmentAmount instead/],
    [{ instalmentAmount: 300 }, 'instalmentCount', /must be left out/],
    [{ price: 100 }, 'price', /must be above the deposit \(100.00\)/],
    [
      { instalmentCount: undefined, instalmentAmount: 30, roundingUnit: 20 },
      'instalmentAmount',
      /a multiple of roundingUnit \(20.00\)/,
    ],
    [{ instalmentCount: undefined, instalmentAmount: 1, price: 20_000 }, 'instalmentAmount', /at least 2.00/],
    [
      { price: undefined, instalmentAmount: 9, roundingUnit: 5 },
      'roundingUnit',
      /only for a plan with a price/,
    ],
    [{ every: 12, monthsWithoutDues: [6] }, 'monthsWithoutDues', /must leave a month/],
    [{ every: 6, monthsWithoutDues: [1, 7] }, 'monthsWithoutDues', /must leave a month/],
    [{ every: 365, price: 10_100, instalmentCount: 10_000 }, 'every', /thousands of years/],
    [
      { price: 1_600, instalmentCount: 1_500, monthsWithoutDues: [1, 3, 5, 7, 9, 11] },
      'monthsWithoutDues',
      /interrupts the plan \d+ times; at most 239/,
    ],
    // Accounts that begin in December would have no interruption.
    [
      { every: 2, price: 3_100, instalmentCount: 300, monthsWithoutDues: [1, 3, 5, 7, 9] },
      'monthsWithoutDues',
      /interrupts the plan/,
    ],
    [
      { frequency: 'weekly', every: 52, monthsWithoutDues: [5, 6] },
      'monthsWithoutDues',
      /must leave a month/,
    ],
    [{ monthsWithoutDues: [13] }, 'monthsWithoutDues[0]', /12/],
  ])('refuses %j, and says what is allowed', async (fields, path, message) => {
    const answer = await create({ instalmentCount: 4, ...fields });
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body.error.details.fields).toContainEqual({
      path,
      message: expect.stringMatching(message),
    });
  });
});

describe('a harvest plan', () => {
  const entries = [
    { month: 9, day: 30, shareBasisPoints: 4_000 },
    { month: 3, day: 15, shareBasisPoints: 6_000 },
  ];
  const plan = { deposit: 100, price: 1_255, roundingUnit: 5, graceDays: 30 };
  const harvest = { entries, cycles: 2, leadDays: 60 };
  let number = 0;
  const create = (fields: object) => {
    number += 1;
    return service.call('POST', '/payplans', { ...plan, harvest, name: `Harvest ${number}`, ...fields });
  };

  it('gives instalments on the days of the harvests, in their shares, and the last takes the rest', async () => {
    const { status, body, text } = await create({});
    expect(status, text).toBe(201);
    expect(body.data).toMatchObject({
      ...plan,
      harvest,
      total: 1_255,
      dueCount: 4,
      hasEqualInstalments: false,
    });
    const { id } = await newAccount(service, { payplanId: body.data.id, activationDate: '2026-01-15' });
    const schedule = (await service.call('GET', `/accounts/${id}/schedule`)).body.data;
    const dues = schedule.items.map((item: { dueDate: string; amount: number }) => [
      item.dueDate,
      item.amount,
    ]);
    // 15 March is 59 days after the activation, so the first instalment is the one after it.
    expect(dues).toEqual([
      ['2026-01-15', 100],
      ['2026-09-30', 230],
      ['2027-03-15', 345],
      ['2027-09-30', 230],
      ['2028-03-15', 350],
    ]);
    const path = `/payplans/${body.data.id}?activationDate=2026-01-14`;
    expect((await service.call('GET', path)).body.data).toMatchObject({
      ...{ instalmentAmount: 345, lastInstalmentAmount: 235 },
      dates: { firstInstalment: '2026-03-15', lastInstalment: '2027-09-30' },
    });
    await expectBooksToBalance(service.context);
  });

  it.each<[object, string, RegExp]>([
    [{ price: undefined }, 'price', /is required for a plan with harvest/],
    [{ price: 100 }, 'price', /above the deposit/],
    [{ frequency: 'monthly' }, 'frequency', /must be left out/],
    [{ instalmentCount: 4 }, 'instalmentCount', /must be left out/],
    [{ harvest: { ...harvest, entries: entries.slice(1) } }, 'harvest.entries', /their sum is 6000/],
    [
      { harvest: { ...harvest, entries: [{ month: 2, day: 30, shareBasisPoints: 10_000 }] } },
      'harvest.entries[0].day',
      /must be a day of month 2/,
    ],
    [{ roundingUnit: 300 }, 'harvest.entries[0].shareBasisPoints', /below roundingUnit \(300.00\)/],
    [{ harvest: undefined, instalmentCount: 4 }, 'frequency', /required for a plan without harvest/],
  ])('refuses %j, and says what is allowed', async (fields, path, message) => {
    const answer = await create(fields);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body.error.details.fields).toContainEqual({
      path,
      message: expect.stringMatching(message),
    });
  });
});

describe('POST /payplans/{id}/preview', () => {
  const create = async (fields: object) => {
    const { body, text } = await service.call('POST', '/payplans', { graceDays: 0, ...fields });
    return body.data?.id ?? expect.fail(text);
  };
  const preview = (id: number, body: object) => service.call('POST', `/payplans/${id}/preview`, body);

  it('shows the schedule that an account then gets', async () => {
    const plan = { deposit: 100, price: 1_000, frequency: 'monthly', instalmentCount: 4, roundingUnit: 50 };
    const id = await create({ ...plan, name: 'Previewed', monthsWithoutDues: [5, 6] });
    const sale = { activationDate: '2026-01-31', firstDueDate: '2026-03-15' };
    const { status, body, text } = await preview(id, sale);
    expect(status, text).toBe(200);
    expect(body.data).toEqual({
      ...{ payplanId: id, currency: 'KES', activationDate: '2026-01-31', total: 1_000, deposit: 100 },
      ...{ dueCount: 4, firstDueDate: '2026-03-15', lastDueDate: '2026-08-15', hasEqualInstalments: false },
      items: [
        { number: 0, dueDate: '2026-01-31', amount: 100 },
        { number: 1, dueDate: '2026-03-15', amount: 250 },
        { number: 2, dueDate: '2026-04-15', amount: 250 },
        { number: 3, dueDate: '2026-07-15', amount: 250 },
        { number: 4, dueDate: '2026-08-15', amount: 150 },
      ],
      runs: [
        {
          ...{ firstItem: 1, lastItem: 2, firstDueDate: '2026-03-15', lastDueDate: '2026-04-15' },
          ...{ count: 2, instalmentAmount: 250 },
        },
        {
          ...{ firstItem: 3, lastItem: 3, firstDueDate: '2026-07-15', lastDueDate: '2026-07-15' },
          ...{ count: 1, instalmentAmount: 250 },
        },
        {
          ...{ firstItem: 4, lastItem: 4, firstDueDate: '2026-08-15', lastDueDate: '2026-08-15' },
          ...{ count: 1, instalmentAmount: 150 },
        },
      ],
    });
    const account = await newAccount(service, { payplanId: id, ...sale });
    expect(account).toMatchObject({ total: 1_000, instalmentAmount: 250, hasEqualInstalments: false });
    const { items } = (await service.call('GET', `/accounts/${account.id}/schedule`)).body.data;
    expect(items).toMatchObject(body.data.items);
    await expectBooksToBalance(service.context);
  });

  it('shows a harvest plan, and no deposit of 0', async () => {
    const harvest = { entries: [{ month: 3, day: 15, shareBasisPoints: 10_000 }], cycles: 2, leadDays: 0 };
    const id = await create({ name: 'Previewed harvest', deposit: 0, price: 301, harvest });
    const { body } = await preview(id, { activationDate: '2026-03-16' });
    expect(body.data.items).toEqual([
      { number: 1, dueDate: '2027-03-15', amount: 150 },
      { number: 2, dueDate: '2028-03-15', amount: 151 },
    ]);
    expect(body.data).toMatchObject({ deposit: 0, dueCount: 2, lastDueDate: '2028-03-15' });
    expect(wrongFields(await preview(id, { firstDueDate: '2027-03-15' }))).toEqual(['firstDueDate']);
  });

  it('shows equal instalments from today, one period after the activation', async () => {
    const { body } = await preview(2, {});
    const day = today(service.context);
    expect(body.data).toMatchObject({ activationDate: day, dueCount: 52, hasEqualInstalments: true });
    expect(body.data.runs).toHaveLength(1);
    expect((await preview(999_999, {})).status).toBe(404);
  });
});

describe('a sale with a first due date', () => {
  const sale = async (fields: object) => {
    const { id } = await newCustomer(service);
    return { customerId: id, productId: 1, payplanId: 2, ...fields };
  };

  it.each([
    ['2026-02-02', /must be after the activation date \(2026-02-02\)/],
    ['2026-01-31', /must be after the activation date/],
    ['2027-02-03', /at most 12 months after the activation date, on 2027-02-02 or earlier/],
  ])('on %s is refused, in a preview, alone and among many', async (firstDueDate, message) => {
    const dates = { activationDate: '2026-02-02', firstDueDate };
    const body = await sale(dates);
    const field = { path: 'firstDueDate', message: expect.stringMatching(message) };
    for (const answer of [
      await service.call('POST', '/payplans/2/preview', dates),
      await service.call('POST', '/accounts', body),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.error.details.fields).toEqual([field]);
    }
    const items = [body, await sale({ activationDate: '2026-02-02', firstDueDate: '2026-02-20' })];
    const { data } = (await service.call('POST', '/accounts/bulk', { items })).body;
    expect(data).toMatchObject({ created: 1, failed: 1 });
    expect(data.items[0].error.details.fields).toEqual([field]);
    expect(data.items[1].data).toMatchObject({ nextDueDate: '2026-02-02', hasEqualInstalments: false });
  });

  it('one period after the activation is an ordinary sale', async () => {
    const account = await newAccount(service, {
      ...{ payplanId: 2, activationDate: '2026-02-02', firstDueDate: '2026-02-09' },
    });
    expect(account).toMatchObject({ hasEqualInstalments: true });
  });
});

describe('payment methods and employees', () => {
  it('are added and changed', async () => {
    const method = await service.call('POST', '/payment-methods', { code: 'airtel', name: 'Airtel Money' });
    expect(method.body.data).toMatchObject({ code: 'airtel', active: true });
    expect((await service.call('POST', '/payment-methods', { code: 'No Spaces', name: 'x' })).status).toBe(
      400,
    );
    const employee = await service.call('POST', '/employees', { name: 'Seller', phone: '0712345678' });
    expect(employee.body.data).toMatchObject({ name: 'Seller', phone: '+254712345678', active: true });
    const path = `/employees/${employee.body.data.id}`;
    expect((await service.call('PUT', path, { phone: null })).body.data.phone).toBeNull();
  });
});

describe('a payment method', () => {
  it('is renamed and deactivated, and notifications of the provider still use theirs', async () => {
    const created = await service.call('POST', '/payment-methods', { code: 'cheque', name: 'Cheque' });
    const path = `/payment-methods/${created.body.data.id}`;
    const renamed = await service.call('PUT', path, { name: 'Cheque by post' });
    expect(renamed.status, renamed.text).toBe(200);
    expect(renamed.body.data).toMatchObject({ code: 'cheque', name: 'Cheque by post', active: true });
    expect((await service.call('PUT', path, { active: false })).body.data).toMatchObject({
      name: 'Cheque by post',
      active: false,
    });
    const { id: accountId } = await newAccount(service);
    const payment = { accountId, amount: 1, paymentMethodId: created.body.data.id };
    expect(wrongFields(await service.call('POST', '/payments', payment))).toEqual(['paymentMethodId']);
    const { body } = await service.call('GET', '/audit?filter[resource]=payment_method&sort=id:desc&limit=2');
    expect(body.data).toMatchObject([
      {
        action: 'payment_method.change',
        before: { active: true },
        after: { active: false },
      },
      { before: { name: 'Cheque' }, after: { name: 'Cheque by post' } },
    ]);

    await service.call('PUT', '/payment-methods/1', { active: false });
    expect((await notify(service)).body.data.outcome).toBe('unmatched');
    await service.call('PUT', '/payment-methods/1', { active: true });
  });

  it('is cash if staff say so, and the method of new databases with the code cash is', async () => {
    const cashCodes = async () => {
      const { body } = await service.call('GET', '/payment-methods?filter[cash]=true&sort=id:asc');
      return body.data.map(({ code }: { code: string }) => code);
    };
    expect(await cashCodes()).toEqual(['cash']);
    const created = await service.call('POST', '/payment-methods', {
      code: 'till',
      name: 'Till',
      cash: true,
    });
    expect(created.body.data).toMatchObject({ code: 'till', cash: true });
    expect(await cashCodes()).toEqual(['cash', 'till']);
    const path = `/payment-methods/${created.body.data.id}`;
    expect((await service.call('PUT', path, { name: 'Tills' })).body.data).toMatchObject({ cash: true });
    expect((await service.call('PUT', path, { cash: false })).body.data).toMatchObject({ cash: false });
    expect(await cashCodes()).toEqual(['cash']);
  });

  it('keeps its code', async () => {
    expect(wrongFields(await service.call('PUT', '/payment-methods/2', { code: 'x' }))).toContain('code');
  });
});

describe('an employee who is not active', () => {
  it('cannot sell an account, whether named or as the user’s own employee', async () => {
    const employee = (await service.call('POST', '/employees', { name: 'Gone' })).body.data;
    const token = await service.signInAs('agent');
    const me = (await service.call('GET', '/auth/me', undefined, { token })).body.data;
    await service.call('PUT', `/users/${me.id}`, { employeeId: employee.id });
    await service.call('PUT', `/employees/${employee.id}`, { active: false });
    const { id: customerId } = await newCustomer(service);
    const sale = { customerId, productId: 1, payplanId: 2 };
    // Cached sessions are read again after seconds; a new one has the employee immediately.
    const { body } = await service.call('POST', '/auth/login', { email: me.email, password: PASSWORD });
    const seller = { token: body.data.accessToken };
    for (const options of [{}, seller]) {
      const named = await service.call('POST', '/accounts', { ...sale, employeeId: employee.id }, options);
      expect(wrongFields(named)).toEqual(['employeeId']);
      expect(named.body.error.message).toContain('active');
    }
    // Not refused, because the employee was not named.
    const own = await dataOf(service.call('POST', '/accounts', sale, seller), 201);
    expect(own.employeeId).toBeNull();
    expect((await service.call('GET', `/accounts?customerId=${customerId}`)).body.pagination.total).toBe(1);
  });
});

describe('GET /audit', () => {
  it('shows admins who changed what, in which request', async () => {
    const { id } = await newCustomer(service);
    const headers = { 'x-request-id': 'the-request' };
    await service.call('PUT', `/customers/${id}`, { lastName: 'Changed' }, { headers });
    const { body } = await service.call('GET', `/audit?filter[resource]=customer&filter[resourceId]=${id}`);
    expect(body.data).toMatchObject([
      {
        actor: 'admin@example.com',
        action: 'customer.change',
        requestId: 'the-request',
      },
      { action: 'customer.create', before: null },
    ]);
    // Exactly the field sent, on both sides.
    expect(body.data[0]).toMatchObject({ before: { lastName: 'Customer' }, after: { lastName: 'Changed' } });
    expect(Object.keys(body.data[0].before)).toEqual(['lastName']);
    const token = await service.signInAs('manager');
    expect((await service.call('GET', '/audit', undefined, { token })).status).toBe(403);
  });

  it('shows which configuration stopped being the default', async () => {
    const product = { sku: 'AUDITED', name: 'Audited', category: 'lamp', price: 100 };
    const { id } = (await service.call('POST', '/products', product)).body.data;
    const path = `/products/${id}/configurations`;
    const first = (await service.call('POST', path, { name: 'First', isDefault: true })).body.data;
    const second = (await service.call('POST', path, { name: 'Second', isDefault: true })).body.data;
    await service.call('POST', path, { name: 'Third' });
    const { body } = await service.call(
      'GET',
      `/audit?filter[action]=product.configuration&filter[resourceId]=${id}&sort=id:asc`,
    );
    expect(body.data.slice(1, 3)).toMatchObject([
      {
        before: { configurationId: first.id, isDefault: true },
        after: { configurationId: first.id, isDefault: false },
      },
      { before: null, after: { configurationId: second.id, isDefault: true } },
    ]);
    expect(body.data).toHaveLength(4);
  });
});

it('an entry is refused with a date before 2000', async () => {
  const account = await newAccount(service);
  const dates: [string, object][] = [
    [
      '/accounts',
      { customerId: account.customerId, productId: 1, payplanId: 2, activationDate: '1926-11-02' },
    ],
    ['/payments', { accountId: account.id, amount: 1, paymentMethodId: 1, paymentDate: '1999-12-31' }],
    ['/payments/reconcile', { paymentIds: [1], reconciliationDate: '0202-11-02' }],
    ['/commissions/calculate', { employeeId: 1, period: '1926-11' }],
  ];
  for (const [path, body] of dates) {
    const answer = await service.call('POST', path, body);
    expect(answer.status, path).toBe(400);
    expect(answer.body.error.details.fields, path).toHaveLength(1);
  }
});
